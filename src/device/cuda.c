/* cuda.c - CUDA as a rota_device.
 *
 * The driver's library is not linked (driver.h), whichever runtime the process
 * uses, and however it links that. The types and versioned names of its
 * functions are those of the headers that this file is compiled with.
 *
 * Pointers belong to contexts. Each call here makes its queue's context
 * current, and then restores the thread's, which therefore does not matter.
 */
#include "device/device.h"
#include "device/driver.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* F(function, version of its type) */
#define FUNCTIONS(F)                                                           \
    F(cuCtxGetCurrent, 4000)                                                   \
    F(cuCtxPopCurrent, 4000)                                                   \
    F(cuCtxPushCurrent, 4000)                                                  \
    F(cuEventCreate, 2000)                                                     \
    F(cuEventDestroy, 4000)                                                    \
    F(cuEventQuery, 2000)                                                      \
    F(cuEventRecord, 2000)                                                     \
    F(cuGetErrorName, 6000)                                                    \
    F(cuIpcCloseMemHandle, 4010)                                               \
    F(cuIpcGetEventHandle, 4010)                                               \
    F(cuIpcGetMemHandle, 4010)                                                 \
    F(cuIpcOpenEventHandle, 4010)                                              \
    F(cuIpcOpenMemHandle, 11000)                                               \
    F(cuMemHostRegister, 6050)                                                 \
    F(cuMemHostUnregister, 4000)                                               \
    F(cuMemcpy2DAsync, 3020)                                                   \
    F(cuMemcpyAsync, 4000)                                                     \
    F(cuPointerGetAttributes, 7000)                                            \
    F(cuStreamCreate, 2000)                                                    \
    F(cuStreamDestroy, 4000)                                                   \
    F(cuStreamSynchronize, 2000)                                               \
    F(cuStreamWaitEvent, 3020)

#define MEMBER(function, version) PFN_##function##_v##version function;

/* The headers rename functions to their newest versions, and so these
 * members. */
static struct {
    FUNCTIONS(MEMBER)
} cu;

struct rota_queue {
    CUcontext context;
    CUstream stream;
    CUevent order; /* for queue_follow and queue_lead */
};

/* ---- loading ------------------------------------------------------------- */

#define TEXT(token) #token
#define NAME(function) TEXT(function)
#define ENTRY(function, version) {NAME(function), &cu.function},

static const rota_driver_entry entries[] = {FUNCTIONS(ENTRY)};

/* Turn a failed result into an error. what: the action, such as "a copy". */
static int check(CUresult result, const char *what)
{
    const char *name = "an unknown error";

    if (result == CUDA_SUCCESS)
        return MPI_SUCCESS;
    cu.cuGetErrorName(result, &name);
    return rota_fail(MPI_ERR_OTHER, "CUDA: %s: %s", what, name);
}

/* ---- memory -------------------------------------------------------------- */

typedef struct place {
    CUcontext context;
    unsigned type; /* a CUmemorytype; 0: not CUDA's memory */
    unsigned managed;
} place;

static place place_of(const void *p)
{
    place at = {0};
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_CONTEXT,
                                    CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void *found[] = {&at.context, &at.type, &at.managed};

    if (cu.cuPointerGetAttributes(3, wanted, found,
                                  (CUdeviceptr)(uintptr_t)p) != CUDA_SUCCESS)
        at = (place){0};
    return at;
}

/* The host could read managed memory, but not while it migrates. Whether MPI,
 * and the kernel's copies between processes, may read it is not documented. */
static bool holds(const void *p)
{
    const place at = p ? place_of(p) : (place){0};

    return at.type == CU_MEMORYTYPE_DEVICE || at.managed;
}

/* ---- queues -------------------------------------------------------------- */

static int enter(const rota_queue *q)
{
    return check(cu.cuCtxPushCurrent(q->context), "making a context current");
}

/* result: the status of the calls since enter. */
static int leave(int result)
{
    CUcontext context;

    cu.cuCtxPopCurrent(&context);
    return result;
}

static int make_stream(rota_queue *q)
{
    ROTA_TRY(check(cu.cuStreamCreate(&q->stream, CU_STREAM_NON_BLOCKING),
                   "making a stream"));
    return check(cu.cuEventCreate(&q->order, CU_EVENT_DISABLE_TIMING),
                 "making an event");
}

static void queue_free(rota_queue *q)
{
    if (!q)
        return;
    if (enter(q) == MPI_SUCCESS) {
        if (q->order)
            cu.cuEventDestroy(q->order);
        if (q->stream)
            cu.cuStreamDestroy(q->stream);
        leave(MPI_SUCCESS);
    }
    free(q);
}

/* Find the context of memory. Memory allocated without one has none: then use
 * the thread's. */
static int find_context(const void *near, CUcontext *context)
{
    *context = place_of(near).context;
    if (!*context)
        ROTA_TRY(check(cu.cuCtxGetCurrent(context), "looking for a context"));
    return *context ? MPI_SUCCESS
                    : rota_fail(MPI_ERR_OTHER, "CUDA: no context is current");
}

static int queue_make(const void *near, rota_queue **result)
{
    rota_queue *const q = calloc(1, sizeof *q);

    if (!q)
        return rota_fail_mem("copies to and from a device");
    int err = find_context(near, &q->context);
    if (err == MPI_SUCCESS)
        err = enter(q);
    if (err == MPI_SUCCESS)
        err = leave(make_stream(q));
    if (err == MPI_SUCCESS)
        *result = q;
    else
        queue_free(q);
    return err;
}

static int queue_drain(rota_queue *q)
{
    ROTA_TRY(enter(q));
    return leave(
        check(cu.cuStreamSynchronize(q->stream), "waiting for copies"));
}

static int put_rows(const rota_queue *q, const rota_rows *r)
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

    return check(cu.cuMemcpy2DAsync(&rows, q->stream), "a copy of rows");
}

static int put_bytes(const rota_queue *q, const rota_rows *r)
{
    return check(cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)r->to,
                                  (CUdeviceptr)(uintptr_t)r->from,
                                  r->n * r->width, q->stream),
                 "a copy");
}

static int copy(rota_queue *q, const rota_rows *r)
{
    const bool end_to_end =
        r->n == 1 || (r->to_pitch == r->width && r->from_pitch == r->width);

    ROTA_TRY(enter(q));
    return leave(end_to_end ? put_bytes(q, r) : put_rows(q, r));
}

static bool pin(rota_queue *q, void *memory, size_t bytes)
{
    if (enter(q) != MPI_SUCCESS)
        return false;
    const CUresult result =
        cu.cuMemHostRegister(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE);
    leave(MPI_SUCCESS);
    return result == CUDA_SUCCESS;
}

static void unpin(rota_queue *q, void *memory)
{
    if (enter(q) != MPI_SUCCESS)
        return;
    cu.cuMemHostUnregister(memory);
    leave(MPI_SUCCESS);
}

/* ---- order --------------------------------------------------------------- */

/* Order what is put in `after` from now on behind what is in `before` now. */
static int put_in_order(const rota_queue *q, CUstream before, CUstream after)
{
    ROTA_TRY(check(cu.cuEventRecord(q->order, before), "marking a stream"));
    return check(cu.cuStreamWaitEvent(after, q->order, 0),
                 "putting a stream behind another");
}

static int queue_follow(rota_queue *q, void *stream)
{
    ROTA_TRY(enter(q));
    return leave(put_in_order(q, stream, q->stream));
}

static int queue_lead(rota_queue *q, void *stream)
{
    ROTA_TRY(enter(q));
    return leave(put_in_order(q, q->stream, stream));
}

static int mark_make(rota_queue *q, rota_mark **mark)
{
    CUevent event = NULL;

    ROTA_TRY(enter(q));
    ROTA_TRY(leave(check(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING),
                         "making an event")));
    *mark = (rota_mark *)event;
    return MPI_SUCCESS;
}

static void mark_free(rota_queue *q, rota_mark *mark)
{
    if (!mark || enter(q) != MPI_SUCCESS)
        return;
    cu.cuEventDestroy((CUevent)mark);
    leave(MPI_SUCCESS);
}

static int mark_put(rota_queue *q, rota_mark *mark)
{
    ROTA_TRY(enter(q));
    return leave(check(cu.cuEventRecord((CUevent)mark, q->stream), "a mark"));
}

static int mark_passed(rota_queue *q, rota_mark *mark, bool *passed)
{
    ROTA_TRY(enter(q));
    const CUresult result = cu.cuEventQuery((CUevent)mark);
    *passed = result == CUDA_SUCCESS;
    return leave(result == CUDA_ERROR_NOT_READY
                     ? MPI_SUCCESS
                     : check(result, "asking for copies"));
}

/* ---- between processes --------------------------------------------------- */

_Static_assert(sizeof(CUipcMemHandle) == sizeof(rota_handle) &&
                   sizeof(CUipcEventHandle) == sizeof(rota_handle),
               "handles of CUDA fit");

/* Only memory from cuMemAlloc has a handle of this kind. */
static const char *memory_share(const void *p, rota_allocation *allocation)
{
    static const char cannot[] =
        "the memory is managed, of a pool or of a range of addresses, which "
        "other processes cannot open";
    unsigned capable = 0;
    size_t bytes = 0;
    CUdeviceptr begin = 0;
    CUipcMemHandle handle = {{0}};
    const rota_queue near = {.context = place_of(p).context};
    CUpointer_attribute wanted[] = {
        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *found[] = {&capable, &begin, &bytes};

    if (cu.cuPointerGetAttributes(3, wanted, found,
                                  (CUdeviceptr)(uintptr_t)p) != CUDA_SUCCESS ||
        !capable || !near.context || enter(&near) != MPI_SUCCESS)
        return cannot;
    const CUresult result = cu.cuIpcGetMemHandle(&handle, begin);
    leave(MPI_SUCCESS);
    if (result != CUDA_SUCCESS)
        return cannot;
    *allocation =
        (rota_allocation){.base = (char *)(uintptr_t)begin, .bytes = bytes};
    memcpy(&allocation->handle, &handle, sizeof handle);
    return NULL;
}

static const void *queue_home(const rota_queue *q)
{
    return q->context;
}

static int memory_open(rota_queue *q, const rota_handle *handle, char **base)
{
    CUipcMemHandle theirs;
    CUdeviceptr begin = 0;

    memcpy(&theirs, handle, sizeof theirs);
    ROTA_TRY(enter(q));
    ROTA_TRY(
        leave(check(cu.cuIpcOpenMemHandle(&begin, theirs,
                                          CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                    "opening memory of another process")));
    *base = (char *)(uintptr_t)begin;
    return MPI_SUCCESS;
}

static void memory_close(rota_queue *q, char *base)
{
    if (enter(q) != MPI_SUCCESS)
        return;
    cu.cuIpcCloseMemHandle((CUdeviceptr)(uintptr_t)base);
    leave(MPI_SUCCESS);
}

static int share_event(CUevent *event, CUipcEventHandle *handle)
{
    ROTA_TRY(check(cu.cuEventCreate(event, CU_EVENT_DISABLE_TIMING |
                                               CU_EVENT_INTERPROCESS),
                   "making an event for other processes"));
    const int err =
        check(cu.cuIpcGetEventHandle(handle, *event), "a handle of an event");
    if (err != MPI_SUCCESS)
        cu.cuEventDestroy(*event);
    return err;
}

static int mark_share(rota_queue *q, rota_mark **mark, rota_handle *handle)
{
    CUevent event = NULL;
    CUipcEventHandle ours = {{0}};

    ROTA_TRY(enter(q));
    ROTA_TRY(leave(share_event(&event, &ours)));
    memcpy(handle, &ours, sizeof ours);
    *mark = (rota_mark *)event;
    return MPI_SUCCESS;
}

static int mark_open(rota_queue *q, const rota_handle *handle, rota_mark **mark)
{
    CUipcEventHandle theirs;
    CUevent event = NULL;

    memcpy(&theirs, handle, sizeof theirs);
    ROTA_TRY(enter(q));
    ROTA_TRY(leave(check(cu.cuIpcOpenEventHandle(&event, theirs),
                         "opening an event of another process")));
    *mark = (rota_mark *)event;
    return MPI_SUCCESS;
}

static int mark_await(rota_queue *q, rota_mark *mark)
{
    ROTA_TRY(enter(q));
    return leave(check(cu.cuStreamWaitEvent(q->stream, (CUevent)mark, 0),
                       "putting copies behind those of another process"));
}

static const rota_device cuda = {
    .name = "cuda",
    .holds = holds,
    .queue_make = queue_make,
    .queue_free = queue_free,
    .queue_drain = queue_drain,
    .copy = copy,
    .pin = pin,
    .unpin = unpin,
    .queue_follow = queue_follow,
    .queue_lead = queue_lead,
    .mark_make = mark_make,
    .mark_free = mark_free,
    .mark_put = mark_put,
    .mark_passed = mark_passed,
    .memory_share = memory_share,
    .queue_home = queue_home,
    .memory_open = memory_open,
    .memory_close = memory_close,
    .mark_share = mark_share,
    .mark_open = mark_open,
    .mark_await = mark_await,
};

const rota_device *rota_cuda_in_use(void)
{
    static rota_driver driver = {.library = "libcuda.so.1",
                                 .entry = entries,
                                 .n = sizeof entries / sizeof entries[0]};

    return rota_driver_in_use(&driver) ? &cuda : NULL;
}
