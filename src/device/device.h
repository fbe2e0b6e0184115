/* device.h - memory of an accelerator, and copies between it and the host.
 *
 * Each kind of accelerator has one file (cuda.c, hip.c), which fills a
 * rota_device. Nothing else in the library knows which kind it is.
 */
#ifndef ROTA_DEVICE_H
#define ROTA_DEVICE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies that are made in order, without the host (a CUDA stream). Queues are
 * independent of each other. */
typedef struct rota_queue rota_queue;

/* A point in a queue that the host can ask about (a CUDA event). */
typedef struct rota_mark rota_mark;

/* Rows of bytes to copy. On either side, rows are as far apart as its pitch,
 * which is at least their width. Either side may be device or host memory. */
typedef struct rota_rows {
    char *to;
    const char *from;
    size_t to_pitch, from_pitch;
    size_t width, n;
} rota_rows;

/* With this, another process of the node opens memory or a mark of this one. */
typedef struct rota_handle {
    unsigned char bytes[64];
} rota_handle;

/* A whole allocation, by whomever. */
typedef struct rota_allocation {
    char *base;
    size_t bytes;
    rota_handle handle;
} rota_allocation;

/* Which device it is, and how processes share it. */
typedef struct rota_identity {
    uint64_t device; /* the same in all processes of the node; not 0 */
    bool by_time;    /* its processes take turns: a copy on it waits for one */
} rota_identity;

/* Functions that return int fail as err.h says. All are local. Only queue_drain
 * blocks. */
typedef struct rota_device {
    const char *name;

    /* Must the host leave this memory alone, so that only copies reach it?
     * False for host memory, page-locked or not, and for invalid addresses. */
    bool (*holds)(const void *p);

    /* Which device holds p? False: it is not known. */
    bool (*identify)(const void *p, rota_identity *identity);

    /* Make a queue for copies to and from the device that holds near. */
    int (*queue_make)(const void *near, rota_queue **q);
    void (*queue_free)(rota_queue *q); /* q has been drained; may be NULL */
    int (*queue_drain)(rota_queue *q); /* wait until all copies are made */
    int (*copy)(rota_queue *q, const rota_rows *rows);

    /* Page-lock host memory, so that copies run in the background. If that
     * fails, copies still work. */
    bool (*pin)(rota_queue *q, void *memory, size_t bytes);
    void (*unpin)(rota_queue *q, void *memory);

    /* From now on, order what is put in q behind what is in a stream of the
     * user's (follow), or the other way round (lead). */
    int (*queue_follow)(rota_queue *q, void *stream);
    int (*queue_lead)(rota_queue *q, void *stream);

    int (*mark_make)(rota_queue *q, rota_mark **mark);
    void (*mark_free)(rota_queue *q, rota_mark *mark); /* mark may be NULL */
    int (*mark_put)(rota_queue *q,
                    rota_mark *mark); /* put behind all that is in q */
    int (*mark_passed)(rota_queue *q, rota_mark *mark, bool *passed);

    /* ---- between processes of the node ---- */

    /* Share the allocation that holds p. Returns NULL, or the reason why others
     * cannot open it. */
    const char *(*memory_share)(const void *p, rota_allocation *allocation);

    /* An identity of the queue's device. A process must not open its own memory
     * or marks, nor those of another process twice for queues with the same
     * home. */
    const void *(*queue_home)(const rota_queue *q);
    int (*memory_open)(rota_queue *q, const rota_handle *handle, char **base);
    void (*memory_close)(rota_queue *q, char *base); /* no copy uses it */

    /* Make a mark that others can open. Free it only after they have closed
     * it. */
    int (*mark_share)(rota_queue *q, rota_mark **mark, rota_handle *handle);
    int (*mark_open)(rota_queue *q, const rota_handle *handle,
                     rota_mark **mark);

    /* Order what is put in q from now on behind what the mark was last put
     * behind, in whichever process. A mark that was never put orders
     * nothing. */
    int (*mark_await)(rota_queue *q, rota_mark *mark);
} rota_device;

/* The kind of device that this process uses; NULL: none so far. Then no pointer
 * is to device memory, and the answer may change later. Costs a look at the
 * loaded libraries. */
const rota_device *rota_device_in_use(void);

/* Why rota_device_in_use returns NULL. */
const char *rota_device_why_none(void);

/* One per file. NULL if the process has not loaded CUDA's driver, or HIP's
 * runtime. */
#ifdef ROTA_HAVE_CUDA
const rota_device *rota_cuda_in_use(void);
#endif
#ifdef ROTA_HAVE_HIP
const rota_device *rota_hip_in_use(void);
#endif

#endif /* ROTA_DEVICE_H */
