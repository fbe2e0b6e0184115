/* cudadev.c - memory of a CUDA device, for tests. The driver is loaded here, as a
 * program that uses CUDA has it.
 */
#include "testdev.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(F)                                                           \
    F(cuCtxSetCurrent, 4000)                                                   \
    F(cuDeviceGet, 2000)                                                       \
    F(cuDeviceGetCount, 2000)                                                  \
    F(cuDevicePrimaryCtxRetain, 7000)                                          \
    F(cuGetErrorName, 6000)                                                    \
    F(cuInit, 2000)                                                            \
    F(cuMemAlloc, 3020)                                                        \
    F(cuMemAllocManaged, 6000)                                                 \
    F(cuMemFree, 3020)                                                         \
    F(cuMemcpyAsync, 4000)                                                     \
    F(cuStreamCreate, 2000)                                                    \
    F(cuStreamDestroy, 4000)                                                   \
    F(cuStreamSynchronize, 2000)

#define MEMBER(function, version) PFN_##function##_v##version function;
#define TEXT(token) #token
#define NAME(function) TEXT(function)
#define ENTRY(function, version) {NAME(function), &cu.function},

static struct {
    FUNCTIONS(MEMBER)
} cu;

static CUstream own; /* for put and get */

static void must(CUresult result, const char *what)
{
    const char *name = "an unknown error";

    if (result == CUDA_SUCCESS)
        return;
    cu.cuGetErrorName(result, &name);
    fprintf(stderr, "CUDA: %s: %s\n", what, name);
    abort();
}

static bool load(void)
{
    const struct {
        const char *name;
        void *to;
    } entry[] = {FUNCTIONS(ENTRY)};
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);

    for (size_t i = 0; library && i < sizeof entry / sizeof entry[0]; i++) {
        void *const found = dlsym(library, entry[i].name);
        if (!found)
            return false;
        memcpy(entry[i].to, &found, sizeof found);
    }
    return library != NULL;
}

/* Ranks take the devices in turn. */
bool testdev_open(const char **why)
{
    const char *const rank = getenv("PMI_RANK");
    int n = 0;
    CUdevice device;
    CUcontext context;

    *why = "there is no libcuda.so.1";
    if (!load())
        return false;
    *why = "CUDA finds no device";
    if (cu.cuInit(0) != CUDA_SUCCESS ||
        cu.cuDeviceGetCount(&n) != CUDA_SUCCESS || n == 0)
        return false;
    must(cu.cuDeviceGet(&device, (rank ? atoi(rank) : 0) % n), "a device");
    must(cu.cuDevicePrimaryCtxRetain(&context, device), "a context");
    must(cu.cuCtxSetCurrent(context), "a context");
    must(cu.cuStreamCreate(&own, CU_STREAM_NON_BLOCKING), "a stream");
    return true;
}

/* Our own driver does as its environment says. */
bool testdev_pretend(int device, bool by_time)
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);

    if (!dlsym(library, "fakecuda_place"))
        return false;
    testdev_tell_standin(device, by_time);
    return true;
}

/* 0 bytes are an error. */
void *testdev_alloc_shared(size_t bytes)
{
    CUdeviceptr p;

    must(cu.cuMemAlloc(&p, bytes + 1), "memory");
    return (void *)(uintptr_t)p;
}

void *testdev_alloc_private(size_t bytes)
{
    CUdeviceptr p;

    must(cu.cuMemAllocManaged(&p, bytes + 1, CU_MEM_ATTACH_GLOBAL),
         "managed memory");
    return (void *)(uintptr_t)p;
}

/* Every third piece is managed memory. */
void *testdev_alloc(size_t bytes)
{
    static unsigned calls;

    return calls++ % 3 == 2 ? testdev_alloc_private(bytes)
                            : testdev_alloc_shared(bytes);
}

void testdev_free(void *memory)
{
    must(cu.cuMemFree((CUdeviceptr)(uintptr_t)memory), "freeing memory");
}

void testdev_put_later(void *to, const void *from, size_t bytes, void *stream)
{
    if (bytes > 0)
        must(cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)to,
                              (CUdeviceptr)(uintptr_t)from, bytes, stream),
             "a copy");
}

void testdev_put(void *to, const void *from, size_t bytes)
{
    testdev_put_later(to, from, bytes, own);
    testdev_stream_wait(own);
}

void testdev_get(void *to, const void *from, size_t bytes)
{
    testdev_put(to, from, bytes);
}

void *testdev_stream_make(void)
{
    CUstream stream;

    must(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "a stream");
    return stream;
}

void testdev_stream_free(void *stream)
{
    testdev_stream_wait(stream);
    must(cu.cuStreamDestroy(stream), "a stream");
}

void testdev_stream_wait(void *stream)
{
    must(cu.cuStreamSynchronize(stream), "a stream");
}

size_t testdev_left(void)
{
    return 0;
}
