/* device_cuda.c - CUDA as a device, with transforms by cuFFT.
 *
 * The driver and cuFFT are loaded when they are asked for, so that one build runs
 * on machines with them and without. Streams and memory are those of the device's
 * primary context, which cuFFT uses. */
#include "device.h"

#include "must.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cufft.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* F(function, version of its type) */
#define DRIVER(F)                                                              \
    F(cuCtxSetCurrent, 4000)                                                   \
    F(cuDeviceGet, 2000)                                                       \
    F(cuDeviceGetCount, 2000)                                                  \
    F(cuDevicePrimaryCtxRetain, 7000)                                          \
    F(cuGetErrorName, 6000)                                                    \
    F(cuInit, 2000)                                                            \
    F(cuMemAlloc, 3020)                                                        \
    F(cuMemAllocHost, 3020)                                                    \
    F(cuMemFree, 3020)                                                         \
    F(cuMemFreeHost, 2000)                                                     \
    F(cuMemcpy2DAsync, 3020)                                                   \
    F(cuMemcpyAsync, 4000)                                                     \
    F(cuStreamCreate, 2000)                                                    \
    F(cuStreamDestroy, 4000)                                                   \
    F(cuStreamSynchronize, 2000)

#define MEMBER(function, version) PFN_##function##_v##version function;
#define TEXT(token) #token
#define NAME(token) TEXT(token)
#define ENTRY(function, version) {NAME(function), &cu.function},

/* The headers rename functions to their newest version: so are the members. */
static struct {
    DRIVER(MEMBER)
} cu;

static struct {
    cufftResult (*plan)(cufftHandle *, int, int *, int *, int, int, int *, int,
                        int, cufftType, int);
    cufftResult (*set_stream)(cufftHandle, cudaStream_t);
    cufftResult (*run)(cufftHandle, cufftDoubleComplex *, cufftDoubleComplex *,
                       int);
    cufftResult (*destroy)(cufftHandle);
} fft;

typedef struct {
    const char *name;
    void *to; /* a pointer to a function of some type */
} entry;

struct device_transform {
    cufftHandle plan;
};

/* ---- Loading ------------------------------------------------------------- */

static int load(const char *name, const entry entries[], size_t n)
{
    void *const library = dlopen(name, RTLD_NOW);

    for (size_t i = 0; library != NULL && i < n; i++) {
        void *const found = dlsym(library, entries[i].name);

        if (found == NULL)
            return 0;
        memcpy(entries[i].to, &found, sizeof found);
    }
    return library != NULL;
}

static int load_driver(void)
{
    const entry entries[] = {DRIVER(ENTRY)};

    return load("libcuda.so.1", entries, sizeof entries / sizeof *entries);
}

/* Of the version whose header this file is compiled with. */
#define CUFFT_LIBRARY "libcufft.so." NAME(CUFFT_VER_MAJOR)

static int load_cufft(void)
{
    const entry entries[] = {{"cufftPlanMany", &fft.plan},
                             {"cufftSetStream", &fft.set_stream},
                             {"cufftExecZ2Z", &fft.run},
                             {"cufftDestroy", &fft.destroy}};

    return load(CUFFT_LIBRARY, entries, sizeof entries / sizeof *entries);
}

/* ---- What fails ---------------------------------------------------------- */

static void must_cu(CUresult result, const char *what)
{
    const char *name = "an unknown error";

    if (result == CUDA_SUCCESS)
        return;
    cu.cuGetErrorName(result, &name);
    die("CUDA: %s: %s", what, name);
}

static void must_fft(cufftResult result, const char *what)
{
    if (result != CUFFT_SUCCESS)
        die("cuFFT: %s: error %d", what, (int)result);
}

/* ---- Memory and streams -------------------------------------------------- */

static void *alloc(size_t bytes)
{
    CUdeviceptr p;

    /* 0 bytes are an error */
    must_cu(cu.cuMemAlloc(&p, bytes + 1), "memory");
    return (void *)(uintptr_t)p;
}

static void release(void *memory)
{
    must_cu(cu.cuMemFree((CUdeviceptr)(uintptr_t)memory), "freeing memory");
}

static void *alloc_host(size_t bytes)
{
    void *memory;

    must_cu(cu.cuMemAllocHost(&memory, bytes + 1), "page-locked memory");
    return memory;
}

static void free_host(void *memory)
{
    must_cu(cu.cuMemFreeHost(memory), "freeing page-locked memory");
}

static void *stream_make(void)
{
    CUstream stream;

    must_cu(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "a stream");
    return stream;
}

static void stream_wait(void *stream)
{
    must_cu(cu.cuStreamSynchronize(stream), "waiting for a stream");
}

static void stream_free(void *stream)
{
    stream_wait(stream);
    must_cu(cu.cuStreamDestroy(stream), "a stream");
}

static void copy(void *stream, const device_rows *r)
{
    const CUDA_MEMCPY2D rows = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = (CUdeviceptr)(uintptr_t)r->from,
        .srcPitch = r->from_pitch,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = (CUdeviceptr)(uintptr_t)r->to,
        .dstPitch = r->to_pitch,
        .WidthInBytes = r->width,
        .Height = r->n,
    };

    if (r->width == 0 || r->n == 0)
        return;
    if (r->n > 1)
        must_cu(cu.cuMemcpy2DAsync(&rows, stream), "a copy of rows");
    else
        must_cu(
            cu.cuMemcpyAsync(rows.dstDevice, rows.srcDevice, r->width, stream),
            "a copy");
}

/* ---- Transforms ---------------------------------------------------------- */

static int to_int(size_t n)
{
    if (n > INT_MAX)
        die("%zu numbers apart are more than cuFFT takes", n);
    return (int)n;
}

static device_transform *transform_make(void *stream, const device_layout *l)
{
    device_transform *t;
    int n[2];

    if (l->n[0] == 0 || l->howmany == 0 || (l->rank == 2 && l->n[1] == 0))
        return NULL;
    for (int i = 0; i < l->rank; i++)
        n[i] = to_int(l->n[i]);
    t = must_realloc(NULL, 1, sizeof *t);
    must_fft(fft.plan(&t->plan, l->rank, n, n, to_int(l->from_stride),
                      to_int(l->from_dist), n, to_int(l->to_stride),
                      to_int(l->to_dist), CUFFT_Z2Z, to_int(l->howmany)),
             "a plan");
    must_fft(fft.set_stream(t->plan, stream), "a stream");
    return t;
}

static void transform_run(const device_transform *t, const void *from, void *to,
                          int backward)
{
    if (t != NULL)
        must_fft(fft.run(t->plan, (cufftDoubleComplex *)(uintptr_t)from, to,
                         backward ? CUFFT_INVERSE : CUFFT_FORWARD),
                 "a transform");
}

static void transform_free(device_transform *t)
{
    if (t != NULL)
        must_fft(fft.destroy(t->plan), "freeing a plan");
    free(t);
}

static const device cuda = {.alloc = alloc,
                            .free = release,
                            .alloc_host = alloc_host,
                            .free_host = free_host,
                            .stream_make = stream_make,
                            .stream_free = stream_free,
                            .stream_wait = stream_wait,
                            .copy = copy,
                            .transform_make = transform_make,
                            .transform_run = transform_run,
                            .transform_free = transform_free};

const device *device_cuda(int rank, const char **why)
{
    int n = 0;
    CUdevice chosen;
    CUcontext context;

    *why = "CUDA's driver, libcuda.so.1, is not there";
    if (!load_driver())
        return NULL;
    *why = "CUDA finds no device";
    if (cu.cuInit(0) != CUDA_SUCCESS ||
        cu.cuDeviceGetCount(&n) != CUDA_SUCCESS || n == 0)
        return NULL;
    *why = "cuFFT, " CUFFT_LIBRARY ", is not where libraries are looked for";
    if (!load_cufft())
        return NULL;
    must_cu(cu.cuDeviceGet(&chosen, rank % n), "a device");
    must_cu(cu.cuDevicePrimaryCtxRetain(&context, chosen), "a context");
    must_cu(cu.cuCtxSetCurrent(context), "a context");
    return &cuda;
}
