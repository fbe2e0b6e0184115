/* streams.h - what cuda.c and hip.c have in common: the functions of a
 * rota_device, in terms of streams and events.
 *
 * Only these two include it. The file that does has defined before
 *
 *   gpu            the functions of its library, under the names used here
 *   gpu_result, gpu_stream, gpu_event, gpu_address, gpu_memory_handle,
 *   gpu_event_handle
 *                  the types of its library
 *   gpu_home       what a stream belongs to: a context, or a device
 *   gpu_ok, gpu_not_ready, event_flags and the other constants used here
 *   check, enter, leave, find_home, holds, put_bytes, put_rows,
 *   find_shareable, find_range
 *
 * Each function here makes its queue's home the thread's, and then restores the
 * previous one, which therefore does not matter.
 */
#ifndef ROTA_DEVICE_STREAMS_H
#define ROTA_DEVICE_STREAMS_H

#include "device/device.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(gpu_memory_handle) == sizeof(rota_handle) &&
                   sizeof(gpu_event_handle) == sizeof(rota_handle),
               "handles fit");

struct rota_queue {
    gpu_home home;
    gpu_stream stream;
    gpu_event order; /* for queue_follow and queue_lead */
};

static const void *queue_home(const rota_queue *q); /* the includer's */

/* ---- queues -------------------------------------------------------------- */

static int make_event(gpu_event *event, unsigned flags)
{
    return check(gpu.event_create(event, flags), "making an event");
}

static int make_stream(rota_queue *q)
{
    ROTA_TRY(
        check(gpu.stream_create(&q->stream, stream_flags), "making a stream"));
    return make_event(&q->order, event_flags);
}

static void queue_free(rota_queue *q)
{
    gpu_home before;

    if (!q)
        return;
    if (enter(q->home, &before) == MPI_SUCCESS) {
        if (q->order)
            (void)gpu.event_destroy(q->order);
        if (q->stream)
            (void)gpu.stream_destroy(q->stream);
        leave(before, MPI_SUCCESS);
    }
    free(q);
}

static int queue_make(const void *near, rota_queue **result)
{
    rota_queue *const q = calloc(1, sizeof *q);
    gpu_home before;

    if (!q)
        return rota_fail_mem("copies to and from a device");
    int err = find_home(near, &q->home);
    if (err == MPI_SUCCESS)
        err = enter(q->home, &before);
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
    gpu_home before;

    ROTA_TRY(enter(q->home, &before));
    return leave(
        before, check(gpu.stream_synchronize(q->stream), "waiting for copies"));
}

static int copy(rota_queue *q, const rota_rows *r)
{
    const bool end_to_end =
        r->n == 1 || (r->to_pitch == r->width && r->from_pitch == r->width);
    gpu_home before;

    ROTA_TRY(enter(q->home, &before));
    return leave(before, end_to_end
                             ? check(put_bytes(q->stream, r), "a copy")
                             : check(put_rows(q->stream, r), "a copy of rows"));
}

static bool pin(rota_queue *q, void *memory, size_t bytes)
{
    gpu_home before;

    if (enter(q->home, &before) != MPI_SUCCESS)
        return false;
    const gpu_result result = gpu.host_register(memory, bytes, host_flags);
    leave(before, MPI_SUCCESS);
    return result == gpu_ok;
}

static void unpin(rota_queue *q, void *memory)
{
    gpu_home before;

    if (enter(q->home, &before) != MPI_SUCCESS)
        return;
    (void)gpu.host_unregister(memory);
    leave(before, MPI_SUCCESS);
}

/* ---- order --------------------------------------------------------------- */

/* Order what is put in `after` from now on behind what is in `before` now. */
static int put_in_order(const rota_queue *q, gpu_stream before,
                        gpu_stream after)
{
    gpu_home home;

    ROTA_TRY(enter(q->home, &home));
    int err = check(gpu.event_record(q->order, before), "marking a stream");
    if (err == MPI_SUCCESS)
        err = check(gpu.stream_wait(after, q->order, 0),
                    "putting a stream behind another");
    return leave(home, err);
}

static int queue_follow(rota_queue *q, void *stream)
{
    return put_in_order(q, stream, q->stream);
}

static int queue_lead(rota_queue *q, void *stream)
{
    return put_in_order(q, q->stream, stream);
}

static int mark_make(rota_queue *q, rota_mark **mark)
{
    gpu_event event = NULL;
    gpu_home before;

    ROTA_TRY(enter(q->home, &before));
    ROTA_TRY(leave(before, make_event(&event, event_flags)));
    *mark = (rota_mark *)event;
    return MPI_SUCCESS;
}

static void mark_free(rota_queue *q, rota_mark *mark)
{
    gpu_home before;

    if (!mark || enter(q->home, &before) != MPI_SUCCESS)
        return;
    (void)gpu.event_destroy((gpu_event)mark);
    leave(before, MPI_SUCCESS);
}

static int mark_put(rota_queue *q, rota_mark *mark)
{
    gpu_home before;

    ROTA_TRY(enter(q->home, &before));
    return leave(before,
                 check(gpu.event_record((gpu_event)mark, q->stream), "a mark"));
}

static int mark_passed(rota_queue *q, rota_mark *mark, bool *passed)
{
    gpu_home before;

    ROTA_TRY(enter(q->home, &before));
    const gpu_result result = gpu.event_query((gpu_event)mark);
    *passed = result == gpu_ok;
    return leave(before, result == gpu_not_ready
                             ? MPI_SUCCESS
                             : check(result, "asking for copies"));
}

/* ---- between processes --------------------------------------------------- */

static const char *memory_share(const void *p, rota_allocation *allocation)
{
    gpu_memory_handle handle;
    gpu_address begin = 0;
    size_t bytes = 0;
    gpu_home home, before;

    if (!find_shareable(p, &home) || enter(home, &before) != MPI_SUCCESS)
        return cannot_share;
    gpu_result result = find_range(p, &begin, &bytes);
    if (result == gpu_ok)
        result = gpu.ipc_memory_handle(&handle, begin);
    leave(before, MPI_SUCCESS);
    if (result != gpu_ok)
        return cannot_share;
    *allocation =
        (rota_allocation){.base = (char *)(uintptr_t)begin, .bytes = bytes};
    memcpy(&allocation->handle, &handle, sizeof handle);
    return NULL;
}

static int memory_open(rota_queue *q, const rota_handle *handle, char **base)
{
    gpu_memory_handle theirs;
    gpu_address begin = 0;
    gpu_home before;

    memcpy(&theirs, handle, sizeof theirs);
    ROTA_TRY(enter(q->home, &before));
    ROTA_TRY(
        leave(before, check(gpu.ipc_open_memory(&begin, theirs, open_flags),
                            "opening memory of another process")));
    *base = (char *)(uintptr_t)begin;
    return MPI_SUCCESS;
}

static void memory_close(rota_queue *q, char *base)
{
    gpu_home before;

    if (enter(q->home, &before) != MPI_SUCCESS)
        return;
    (void)gpu.ipc_close_memory((gpu_address)(uintptr_t)base);
    leave(before, MPI_SUCCESS);
}

static int share_event(gpu_event *event, gpu_event_handle *handle)
{
    ROTA_TRY(make_event(event, event_flags | shared_flags));
    const int err =
        check(gpu.ipc_event_handle(handle, *event), "a handle of an event");
    if (err != MPI_SUCCESS)
        (void)gpu.event_destroy(*event);
    return err;
}

static int mark_share(rota_queue *q, rota_mark **mark, rota_handle *handle)
{
    gpu_event event = NULL;
    gpu_event_handle ours;
    gpu_home before;

    ROTA_TRY(enter(q->home, &before));
    ROTA_TRY(leave(before, share_event(&event, &ours)));
    memcpy(handle, &ours, sizeof ours);
    *mark = (rota_mark *)event;
    return MPI_SUCCESS;
}

static int mark_open(rota_queue *q, const rota_handle *handle, rota_mark **mark)
{
    gpu_event_handle theirs;
    gpu_event event = NULL;
    gpu_home before;

    memcpy(&theirs, handle, sizeof theirs);
    ROTA_TRY(enter(q->home, &before));
    ROTA_TRY(leave(before, check(gpu.ipc_open_event(&event, theirs),
                                 "opening an event of another process")));
    *mark = (rota_mark *)event;
    return MPI_SUCCESS;
}

static int mark_await(rota_queue *q, rota_mark *mark)
{
    gpu_home before;

    ROTA_TRY(enter(q->home, &before));
    return leave(before, check(gpu.stream_wait(q->stream, (gpu_event)mark, 0),
                               "putting copies behind those of another "
                               "process"));
}

static const rota_device device = {
    .name = device_name,
    .holds = holds,
    .identify = identify,
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

#endif /* ROTA_DEVICE_STREAMS_H */
