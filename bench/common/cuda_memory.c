/* cuda_memory.c - buffers on a CUDA device (--mem cuda). The driver is loaded when
 * it is asked for, so that one build runs where there is none.
 */
#include "common/memory.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#define FUNCTIONS(F)                                                           \
    F(cuCtxSetCurrent, 4000)                                                   \
    F(cuDeviceGet, 2000)                                                       \
    F(cuDeviceGetCount, 2000)                                                  \
    F(cuDevicePrimaryCtxRetain, 7000)                                          \
    F(cuInit, 2000)                                                            \
    F(cuMemAlloc, 3020)                                                        \
    F(cuMemAllocHost, 3020)                                                    \
    F(cuMemFree, 3020)                                                         \
    F(cuMemFreeHost, 2000)                                                     \
    F(cuMemcpyAsync, 4000)                                                     \
    F(cuStreamCreate, 2000)                                                    \
    F(cuStreamSynchronize, 2000)

#define MEMBER(function, version) PFN_##function##_v##version function;
#define TEXT(token) #token
#define NAME(function) TEXT(function)
#define ENTRY(function, version) {NAME(function), &cu.function},

static struct {
    FUNCTIONS(MEMBER)
} cu;

/* Copies from device to device return before they are made: those of a stream
 * can be waited for. */
static CUstream stream;

static int status_of(CUresult result)
{
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        return MPI_ERR_NO_MEM;
    return result == CUDA_SUCCESS ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static int load(void)
{
    const struct {
        const char *name;
        void *to;
    } entry[] = {FUNCTIONS(ENTRY)};
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);

    for (size_t i = 0; library && i < sizeof entry / sizeof entry[0]; i++) {
        void *const found = dlsym(library, entry[i].name);
        if (!found)
            return 0;
        memcpy(entry[i].to, &found, sizeof found);
    }
    return library != NULL;
}

const char *cuda_unavailable(void)
{
    int n = 0;

    if (!load())
        return "there is no driver of CUDA";
    if (cu.cuInit(0) != CUDA_SUCCESS ||
        cu.cuDeviceGetCount(&n) != CUDA_SUCCESS || n == 0)
        return "CUDA finds no device";
    return NULL;
}

/* Ranks take the devices in turn. */
int cuda_alloc(size_t bytes, MPI_Comm comm, void **memory)
{
    int rank, n;
    CUdevice device;
    CUcontext context;
    CUdeviceptr p;
    CUresult result = CUDA_SUCCESS;

    if (MPI_Comm_rank(comm, &rank) != MPI_SUCCESS ||
        cu.cuDeviceGetCount(&n) != CUDA_SUCCESS)
        return MPI_ERR_OTHER;
    if ((result = cu.cuDeviceGet(&device, rank % n)) == CUDA_SUCCESS)
        result = cu.cuDevicePrimaryCtxRetain(&context, device);
    if (result == CUDA_SUCCESS)
        result = cu.cuCtxSetCurrent(context);
    if (result == CUDA_SUCCESS && stream == NULL)
        result = cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (result == CUDA_SUCCESS)
        result = cu.cuMemAlloc(&p, bytes + 1);
    if (result == CUDA_SUCCESS)
        *memory = (void *)(uintptr_t)p;
    return status_of(result);
}

int cuda_free(void **memory)
{
    const CUresult result = cu.cuMemFree((CUdeviceptr)(uintptr_t)*memory);

    *memory = NULL;
    return status_of(result);
}

int cuda_copy(void *to, const void *from, size_t bytes)
{
    CUresult result = CUDA_SUCCESS;

    if (bytes > 0)
        result = cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)to,
                                  (CUdeviceptr)(uintptr_t)from, bytes, stream);
    if (result == CUDA_SUCCESS)
        result = cu.cuStreamSynchronize(stream);
    return status_of(result);
}

int cuda_alloc_host(size_t bytes, void **memory)
{
    return status_of(cu.cuMemAllocHost(memory, bytes + 1));
}

int cuda_free_host(void **memory)
{
    const CUresult result = cu.cuMemFreeHost(*memory);

    *memory = NULL;
    return status_of(result);
}
