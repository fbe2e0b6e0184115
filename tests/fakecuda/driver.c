/* driver.c - the functions of CUDA's driver that Rota, its programs and its tests
 * use, on the stand-in for a device (standin.c): a libcuda.so.1 by which they run
 * without a GPU.
 *
 * Memory faults where the host touches it, and what is put in a stream is done
 * late. What programs may not do, or what nobody here needs, ends the program.
 * With FAKECUDA_ALLOWS_OTHERS in the environment there is also what an MPI needs
 * that takes memory of a device: Open MPI 4.1, if it opens none of other processes.
 */
#include "standin.h"
#include "testdev.h"

#pragma GCC visibility push(default)
#include "fakecuda.h"
#pragma GCC visibility pop

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUctx_st {
    int unused;
};

/* A point in a stream: behind what had been put in it. */
struct CUevent_st {
    rota_queue *of; /* NULL: nothing was recorded */
    uint64_t number;
    rota_mark *mark; /* of several processes; NULL: the above */
    rota_handle handle;
};

static struct CUctx_st context;

/* Is the context current, and how often was what was there before pushed? */
static int depth;
static CUcontext stack[16];

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "fake CUDA: %s\n", what);
    abort();
}

static void *pointer(CUdeviceptr p)
{
    return (void *)(uintptr_t)p;
}

static bool allows_others(void)
{
    return getenv("FAKECUDA_ALLOWS_OTHERS") != NULL;
}

static CUresult result_of(int err)
{
    return err == MPI_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

static void need_context(void)
{
    if (stack[depth] != &context)
        die("a call without a current context");
}

rota_queue *fakecuda_queue(CUstream stream)
{
    need_context();
    if (!stream)
        die("the default stream");
    return (rota_queue *)stream;
}

void *fakecuda_place(const void *p, size_t bytes)
{
    return standin_place(p, bytes);
}

void fakecuda_call(CUstream stream, void (*call)(void *), void *state)
{
    standin_call(fakecuda_queue(stream), call, state);
}

/* ---- devices and contexts ------------------------------------------------ */

CUresult cuInit(unsigned flags)
{
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
    (void)error;
    *name = "an error of the fake CUDA";
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *n)
{
    *n = 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int i)
{
    *device = 0;
    return i == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/* What the stand-in says of memory that is there only for this. */
static rota_identity identity_of(void)
{
    rota_identity found = {0};
    void *const memory = testdev_alloc(1);

    standin_device.identify(memory, &found);
    testdev_free(memory);
    return found;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    const rota_identity found = identity_of();

    memset(uuid, 0, sizeof *uuid);
    memcpy(uuid, &found.device, sizeof found.device);
    return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice device)
{
    enum { MPS_ENABLED = 133 };

    if ((int)attribute != MPS_ENABLED)
        die("an unknown attribute of a device");
    *value = !identity_of().by_time;
    return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *result, CUdevice device)
{
    *result = &context;
    return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuCtxSetCurrent(CUcontext wanted)
{
    stack[depth] = wanted;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *current)
{
    *current = stack[depth];
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext wanted)
{
    if (++depth == sizeof stack / sizeof stack[0])
        die("contexts are pushed and not popped");
    stack[depth] = wanted;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *popped)
{
    if (depth == 0)
        die("popping a context that was not pushed");
    *popped = stack[depth--];
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    *device = 0;
    return stack[depth] == &context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b)
{
    *can = a != b;
    return CUDA_SUCCESS;
}

/* ---- memory -------------------------------------------------------------- */

CUresult cuMemAlloc(CUdeviceptr *p, size_t bytes)
{
    need_context();
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    *p = (CUdeviceptr)(uintptr_t)testdev_alloc(bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr *p, size_t bytes, unsigned flags)
{
    need_context();
    if (bytes == 0 || flags != CU_MEM_ATTACH_GLOBAL)
        return CUDA_ERROR_INVALID_VALUE;
    *p = (CUdeviceptr)(uintptr_t)testdev_alloc_private(bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr p)
{
    need_context();
    testdev_free(pointer(p));
    return CUDA_SUCCESS;
}

CUresult cuMemAllocHost(void **p, size_t bytes)
{
    need_context();
    *p = malloc(bytes);
    return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFreeHost(void *p)
{
    need_context();
    free(p);
    return CUDA_SUCCESS;
}

/* What others register is in use already: it is left alone. */
CUresult cuMemHostRegister(void *p, size_t bytes, unsigned flags)
{
    need_context();
    if (allows_others())
        return CUDA_SUCCESS;
    return flags == CU_MEMHOSTREGISTER_PORTABLE &&
                   standin_device.pin(NULL, p, bytes)
               ? CUDA_SUCCESS
               : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemHostUnregister(void *p)
{
    need_context();
    if (!allows_others())
        standin_device.unpin(NULL, p);
    return CUDA_SUCCESS;
}

/* As the driver does, zeros for memory that it does not know. */
static rota_allocation allocation_of(const void *p)
{
    rota_allocation at = {0};

    if (standin_device.holds(p))
        standin_device.memory_share(p, &at);
    return at;
}

CUresult cuPointerGetAttributes(unsigned n, CUpointer_attribute *wanted,
                                void **found, CUdeviceptr p)
{
    const bool held = standin_device.holds(pointer(p));
    rota_allocation at = {0};

    for (unsigned i = 0; i < n; i++)
        if (wanted[i] == CU_POINTER_ATTRIBUTE_CONTEXT)
            *(CUcontext *)found[i] = held ? &context : NULL;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
            *(unsigned *)found[i] = held ? CU_MEMORYTYPE_DEVICE : 0;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)found[i] = held ? 0 : -2;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED)
            *(unsigned *)found[i] = 0;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE)
            *(unsigned *)found[i] =
                held && !standin_device.memory_share(pointer(p), &at);
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
            *(CUdeviceptr *)found[i] =
                (CUdeviceptr)(uintptr_t)allocation_of(pointer(p)).base;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
            *(size_t *)found[i] = allocation_of(pointer(p)).bytes;
        else
            die("an unknown attribute of a pointer");
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *found, CUpointer_attribute wanted,
                               CUdeviceptr p)
{
    if (!standin_device.holds(pointer(p)))
        return CUDA_ERROR_INVALID_VALUE;
    return cuPointerGetAttributes(1, &wanted, &found, p);
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                               CUdeviceptr p)
{
    (void)value;
    (void)attribute;
    return standin_device.holds(pointer(p)) ? CUDA_SUCCESS
                                            : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr p)
{
    const rota_allocation at = allocation_of(pointer(p));

    *base = (CUdeviceptr)(uintptr_t)at.base;
    *bytes = at.bytes;
    return at.base ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- streams ------------------------------------------------------------- */

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    rota_queue *q;

    need_context();
    if (flags != CU_STREAM_NON_BLOCKING && !allows_others())
        die("a stream that others wait for");
    const int err = standin_device.queue_make(NULL, &q);
    *stream = (CUstream)q;
    return result_of(err);
}

CUresult cuStreamDestroy(CUstream stream)
{
    standin_device.queue_free(fakecuda_queue(stream));
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    return result_of(standin_device.queue_drain(fakecuda_queue(stream)));
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                       CUstream stream)
{
    const rota_rows rows = {.to = pointer(to),
                            .from = pointer(from),
                            .to_pitch = bytes,
                            .from_pitch = bytes,
                            .width = bytes,
                            .n = 1};

    return result_of(standin_device.copy(fakecuda_queue(stream), &rows));
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *r, CUstream stream)
{
    const rota_rows rows = {.to = pointer(r->dstDevice),
                            .from = pointer(r->srcDevice),
                            .to_pitch = r->dstPitch,
                            .from_pitch = r->srcPitch,
                            .width = r->WidthInBytes,
                            .n = r->Height};

    if (r->srcMemoryType != CU_MEMORYTYPE_UNIFIED ||
        r->dstMemoryType != CU_MEMORYTYPE_UNIFIED || r->srcXInBytes != 0 ||
        r->srcY != 0 || r->dstXInBytes != 0 || r->dstY != 0)
        die("rows by other than unified addresses");
    return result_of(standin_device.copy(fakecuda_queue(stream), &rows));
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    CUstream stream;

    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cuMemcpyAsync(to, from, bytes, stream);
    cuStreamSynchronize(stream);
    return cuStreamDestroy(stream);
}

/* ---- events -------------------------------------------------------------- */

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    need_context();
    if ((flags | CU_EVENT_INTERPROCESS) !=
        (CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS))
        die("an event that takes the time");
    *event = calloc(1, sizeof **event);
    if (*event && flags & CU_EVENT_INTERPROCESS)
        standin_device.mark_share(NULL, &(*event)->mark, &(*event)->handle);
    return *event ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuEventDestroy(CUevent event)
{
    need_context();
    standin_device.mark_free(NULL, event->mark);
    free(event);
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    if (event->mark)
        return result_of(
            standin_device.mark_put(fakecuda_queue(stream), event->mark));
    event->of = fakecuda_queue(stream);
    event->number = standin_put(event->of);
    return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event)
{
    need_context();
    return !event->of || standin_passed(event->of, event->number)
               ? CUDA_SUCCESS
               : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent event)
{
    while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
        ;
    return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    if (flags != 0)
        die("flags of a wait");
    if (event->mark)
        return result_of(
            standin_device.mark_await(fakecuda_queue(stream), event->mark));
    if (event->of)
        standin_await(fakecuda_queue(stream), event->of, event->number);
    return CUDA_SUCCESS;
}

/* ---- between processes --------------------------------------------------- */

static rota_handle handle_of(const void *cuda)
{
    rota_handle h;

    memcpy(&h, cuda, sizeof h);
    return h;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr p)
{
    rota_allocation at;

    need_context();
    if (standin_device.memory_share(pointer(p), &at))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(handle, &at.handle, sizeof at.handle);
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *p, CUipcMemHandle theirs,
                            unsigned flags)
{
    const rota_handle handle = handle_of(&theirs);
    char *base = NULL;

    need_context();
    if (flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
        return CUDA_ERROR_INVALID_VALUE;
    const int err = standin_device.memory_open(NULL, &handle, &base);
    *p = (CUdeviceptr)(uintptr_t)base;
    return result_of(err);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr p)
{
    need_context();
    standin_device.memory_close(NULL, pointer(p));
    return CUDA_SUCCESS;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
    need_context();
    if (!event->mark)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(handle, &event->handle, sizeof event->handle);
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle theirs)
{
    const rota_handle handle = handle_of(&theirs);

    need_context();
    *event = calloc(1, sizeof **event);
    return *event ? result_of(standin_device.mark_open(NULL, &handle,
                                                       &(*event)->mark))
                  : CUDA_ERROR_OUT_OF_MEMORY;
}
