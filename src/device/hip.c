/* hip.c - AMD's HIP as a rota_device.
 *
 * The runtime's library is not linked (driver.h). It must have the major
 * version that this file is compiled with, because structs differ between
 * versions.
 *
 * Streams and events belong to the device that was the thread's when they were
 * made. Each call here makes its queue's device the thread's, and then restores
 * the previous one.
 */
#include "device/device.h"
#include "device/driver.h"

#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(F)                                                           \
    F(hipEventCreateWithFlags)                                                 \
    F(hipEventDestroy)                                                         \
    F(hipEventQuery)                                                           \
    F(hipEventRecord)                                                          \
    F(hipGetDevice)                                                            \
    F(hipGetErrorName)                                                         \
    F(hipHostRegister)                                                         \
    F(hipHostUnregister)                                                       \
    F(hipIpcCloseMemHandle)                                                    \
    F(hipIpcGetEventHandle)                                                    \
    F(hipIpcGetMemHandle)                                                      \
    F(hipIpcOpenEventHandle)                                                   \
    F(hipIpcOpenMemHandle)                                                     \
    F(hipMemGetAddressRange)                                                   \
    F(hipMemcpy2DAsync)                                                        \
    F(hipMemcpyAsync)                                                          \
    F(hipPointerGetAttributes)                                                 \
    F(hipSetDevice)                                                            \
    F(hipStreamCreateWithFlags)                                                \
    F(hipStreamDestroy)                                                        \
    F(hipStreamSynchronize)                                                    \
    F(hipStreamWaitEvent)

#define MEMBER(function) __typeof__(function) *function;

static struct {
    FUNCTIONS(MEMBER)
} hip;

#define ENTRY(function) {#function, &hip.function},

static const rota_driver_entry entries[] = {FUNCTIONS(ENTRY)};

struct rota_queue {
    int device;
    hipStream_t stream;
    hipEvent_t order; /* for queue_follow and queue_lead */
};

/* Turn a failed result into an error. what: the action, such as "a copy". */
static int check(hipError_t result, const char *what)
{
    return result == hipSuccess ? MPI_SUCCESS
                                : rota_fail(MPI_ERR_OTHER, "HIP: %s: %s", what,
                                            hip.hipGetErrorName(result));
}

/* ---- memory -------------------------------------------------------------- */

typedef struct place {
    bool on_device, managed;
    int device;
} place;

static place place_of(const void *p)
{
    hipPointerAttribute_t at;

    if (hip.hipPointerGetAttributes(&at, p) != hipSuccess)
        return (place){0};
#if HIP_VERSION_MAJOR >= 6
    const enum hipMemoryType type = at.type;
#else
    const enum hipMemoryType type = at.memoryType;
#endif
    return (place){.on_device = type == hipMemoryTypeDevice,
                   .managed = at.isManaged != 0,
                   .device = at.device};
}

static bool holds(const void *p)
{
    const place at = p ? place_of(p) : (place){0};

    return at.on_device || at.managed;
}

/* ---- queues -------------------------------------------------------------- */

/* *before receives the thread's device, for leave. */
static int enter(const rota_queue *q, int *before)
{
    ROTA_TRY(check(hip.hipGetDevice(before), "asking for the device"));
    return check(hip.hipSetDevice(q->device), "making a device current");
}

/* result: the status of the calls since enter. */
static int leave(int before, int result)
{
    (void)hip.hipSetDevice(before);
    return result;
}

static int make_stream(rota_queue *q)
{
    ROTA_TRY(
        check(hip.hipStreamCreateWithFlags(&q->stream, hipStreamNonBlocking),
              "making a stream"));
    return check(hip.hipEventCreateWithFlags(&q->order, hipEventDisableTiming),
                 "making an event");
}

static void queue_free(rota_queue *q)
{
    int before;

    if (!q)
        return;
    if (enter(q, &before) == MPI_SUCCESS) {
        if (q->order)
            (void)hip.hipEventDestroy(q->order);
        if (q->stream)
            (void)hip.hipStreamDestroy(q->stream);
        leave(before, MPI_SUCCESS);
    }
    free(q);
}

static int queue_make(const void *near, rota_queue **result)
{
    rota_queue *const q = calloc(1, sizeof *q);
    int before;

    if (!q)
        return rota_fail_mem("copies to and from a device");
    q->device = place_of(near).device;
    int err = enter(q, &before);
    if (err == MPI_SUCCESS)
        err = leave(before, make_stream(q));
    if (err == MPI_SUCCESS)
        *result = q;
    else
        queue_free(q);
    return err;
}

static int queue_drain(rota_queue *q)
{
    int before;

    ROTA_TRY(enter(q, &before));
    return leave(before, check(hip.hipStreamSynchronize(q->stream),
                               "waiting for copies"));
}

static int put(const rota_queue *q, const rota_rows *r)
{
    if (r->n == 1 || (r->to_pitch == r->width && r->from_pitch == r->width))
        return check(hip.hipMemcpyAsync(r->to, r->from, r->n * r->width,
                                        hipMemcpyDefault, q->stream),
                     "a copy");
    return check(hip.hipMemcpy2DAsync(r->to, r->to_pitch, r->from,
                                      r->from_pitch, r->width, r->n,
                                      hipMemcpyDefault, q->stream),
                 "a copy of rows");
}

static int copy(rota_queue *q, const rota_rows *r)
{
    int before;

    ROTA_TRY(enter(q, &before));
    return leave(before, put(q, r));
}

static bool pin(rota_queue *q, void *memory, size_t bytes)
{
    int before;

    if (enter(q, &before) != MPI_SUCCESS)
        return false;
    const hipError_t result =
        hip.hipHostRegister(memory, bytes, hipHostRegisterPortable);
    leave(before, MPI_SUCCESS);
    return result == hipSuccess;
}

static void unpin(rota_queue *q, void *memory)
{
    int before;

    if (enter(q, &before) != MPI_SUCCESS)
        return;
    (void)hip.hipHostUnregister(memory);
    leave(before, MPI_SUCCESS);
}

/* ---- order --------------------------------------------------------------- */

/* Order what is put in `after` from now on behind what is in `before` now. */
static int put_in_order(const rota_queue *q, hipStream_t before,
                        hipStream_t after)
{
    ROTA_TRY(check(hip.hipEventRecord(q->order, before), "marking a stream"));
    return check(hip.hipStreamWaitEvent(after, q->order, 0),
                 "putting a stream behind another");
}

static int queue_follow(rota_queue *q, void *stream)
{
    int before;

    ROTA_TRY(enter(q, &before));
    return leave(before, put_in_order(q, stream, q->stream));
}

static int queue_lead(rota_queue *q, void *stream)
{
    int before;

    ROTA_TRY(enter(q, &before));
    return leave(before, put_in_order(q, q->stream, stream));
}

static int mark_make(rota_queue *q, rota_mark **mark)
{
    hipEvent_t event = NULL;
    int before;

    ROTA_TRY(enter(q, &before));
    ROTA_TRY(leave(before, check(hip.hipEventCreateWithFlags(
                                     &event, hipEventDisableTiming),
                                 "making an event")));
    *mark = (rota_mark *)event;
    return MPI_SUCCESS;
}

static void mark_free(rota_queue *q, rota_mark *mark)
{
    int before;

    if (!mark || enter(q, &before) != MPI_SUCCESS)
        return;
    (void)hip.hipEventDestroy((hipEvent_t)mark);
    leave(before, MPI_SUCCESS);
}

static int mark_put(rota_queue *q, rota_mark *mark)
{
    int before;

    ROTA_TRY(enter(q, &before));
    return leave(before, check(hip.hipEventRecord((hipEvent_t)mark, q->stream),
                               "a mark"));
}

static int mark_passed(rota_queue *q, rota_mark *mark, bool *passed)
{
    int before;

    ROTA_TRY(enter(q, &before));
    const hipError_t result = hip.hipEventQuery((hipEvent_t)mark);
    *passed = result == hipSuccess;
    return leave(before, result == hipErrorNotReady
                             ? MPI_SUCCESS
                             : check(result, "asking for copies"));
}

/* ---- between processes --------------------------------------------------- */

_Static_assert(sizeof(hipIpcMemHandle_t) == sizeof(rota_handle) &&
                   sizeof(hipIpcEventHandle_t) == sizeof(rota_handle),
               "handles of HIP fit");

static const char *memory_share(const void *p, rota_allocation *allocation)
{
    static const char cannot[] =
        "the memory is managed, or other processes cannot open it";
    const place at = place_of(p);
    const rota_queue near = {.device = at.device};
    hipIpcMemHandle_t handle;
    void *begin = NULL;
    size_t bytes = 0;
    int before;

    if (!at.on_device || at.managed || enter(&near, &before) != MPI_SUCCESS)
        return cannot;
    hipError_t result = hip.hipMemGetAddressRange(&begin, &bytes, (void *)p);
    if (result == hipSuccess)
        result = hip.hipIpcGetMemHandle(&handle, begin);
    leave(before, MPI_SUCCESS);
    if (result != hipSuccess)
        return cannot;
    *allocation = (rota_allocation){.base = begin, .bytes = bytes};
    memcpy(&allocation->handle, &handle, sizeof handle);
    return NULL;
}

/* One home per device: an address that all its queues share, and no others. */
static const void *queue_home(const rota_queue *q)
{
    return (const void *)((uintptr_t)q->device + 1);
}

static int memory_open(rota_queue *q, const rota_handle *handle, char **base)
{
    hipIpcMemHandle_t theirs;
    void *begin = NULL;
    int before;

    memcpy(&theirs, handle, sizeof theirs);
    ROTA_TRY(enter(q, &before));
    ROTA_TRY(leave(before,
                   check(hip.hipIpcOpenMemHandle(&begin, theirs,
                                                 hipIpcMemLazyEnablePeerAccess),
                         "opening memory of another process")));
    *base = begin;
    return MPI_SUCCESS;
}

static void memory_close(rota_queue *q, char *base)
{
    int before;

    if (enter(q, &before) != MPI_SUCCESS)
        return;
    (void)hip.hipIpcCloseMemHandle(base);
    leave(before, MPI_SUCCESS);
}

static int share_event(hipEvent_t *event, hipIpcEventHandle_t *handle)
{
    ROTA_TRY(check(hip.hipEventCreateWithFlags(event, hipEventDisableTiming |
                                                          hipEventInterprocess),
                   "making an event for other processes"));
    const int err =
        check(hip.hipIpcGetEventHandle(handle, *event), "a handle of an event");
    if (err != MPI_SUCCESS)
        (void)hip.hipEventDestroy(*event);
    return err;
}

static int mark_share(rota_queue *q, rota_mark **mark, rota_handle *handle)
{
    hipEvent_t event = NULL;
    hipIpcEventHandle_t ours;
    int before;

    ROTA_TRY(enter(q, &before));
    ROTA_TRY(leave(before, share_event(&event, &ours)));
    memcpy(handle, &ours, sizeof ours);
    *mark = (rota_mark *)event;
    return MPI_SUCCESS;
}

static int mark_open(rota_queue *q, const rota_handle *handle, rota_mark **mark)
{
    hipIpcEventHandle_t theirs;
    hipEvent_t event = NULL;
    int before;

    memcpy(&theirs, handle, sizeof theirs);
    ROTA_TRY(enter(q, &before));
    ROTA_TRY(leave(before, check(hip.hipIpcOpenEventHandle(&event, theirs),
                                 "opening an event of another process")));
    *mark = (rota_mark *)event;
    return MPI_SUCCESS;
}

static int mark_await(rota_queue *q, rota_mark *mark)
{
    int before;

    ROTA_TRY(enter(q, &before));
    return leave(before,
                 check(hip.hipStreamWaitEvent(q->stream, (hipEvent_t)mark, 0),
                       "putting copies behind those of another process"));
}

static const rota_device device = {
    .name = "hip",
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

#define TEXT(token) #token
#define NAME(token) TEXT(token)

const rota_device *rota_hip_in_use(void)
{
    static rota_driver driver = {.library =
                                     "libamdhip64.so." NAME(HIP_VERSION_MAJOR),
                                 .entry = entries,
                                 .n = sizeof entries / sizeof entries[0]};

    return rota_driver_in_use(&driver) ? &device : NULL;
}
