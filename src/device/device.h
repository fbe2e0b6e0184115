/* device.h - memory of an accelerator, and copies between it and the host.
 *
 * There is one file for each kind of accelerator: cuda.c, hip.c. It fills a
 * rota_device, and nothing else in the library knows which one it is.
 */
#ifndef ROTA_DEVICE_H
#define ROTA_DEVICE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Copies that are made one after the other, without the host (a CUDA stream).
 * Queues are independent of each other. */
typedef struct rota_queue rota_queue;

/* A point in a queue that the host can ask for (a CUDA event). */
typedef struct rota_mark rota_mark;

/* Rows of bytes, as far apart from each other on either side as its pitch says,
 * which is no less than their width. Either side may be memory of the device or
 * of the host. */
typedef struct rota_rows {
    char *to;
    const char *from;
    size_t to_pitch, from_pitch;
    size_t width, n;
} rota_rows;

/* By which another process of the node opens memory or a mark of this one. */
typedef struct rota_handle {
    unsigned char bytes[64];
} rota_handle;

/* Memory as it was allocated, by whomever. */
typedef struct rota_allocation {
    char *base;
    size_t bytes;
    rota_handle handle;
} rota_allocation;

/* Functions that return int fail as err.h says, and are local. Only
 * queue_drain blocks. */
typedef struct rota_device {
    const char *name;

    /* Must the host leave this memory alone, so that only copies reach it? Not
     * so memory of the host, page-locked or not, and what is no memory. */
    bool (*holds)(const void *p);

    /* For copies to and from the device that holds near. */
    int (*queue_make)(const void *near, rota_queue **q);
    void (*queue_free)(rota_queue *q); /* q may be NULL; has been drained */
    int (*queue_drain)(rota_queue *q); /* wait until all copies are made */
    int (*copy)(rota_queue *q, const rota_rows *rows);

    /* Page-lock memory of the host, so that copies run beside the host; where
     * that fails copies still work. */
    bool (*pin)(rota_queue *q, void *memory, size_t bytes);
    void (*unpin)(rota_queue *q, void *memory);

    /* Let what is put in q from now on come after what has been put in a stream
     * of the user's, or the other way round. */
    int (*queue_follow)(rota_queue *q, void *stream);
    int (*queue_lead)(rota_queue *q, void *stream);

    int (*mark_make)(rota_queue *q, rota_mark **mark);
    void (*mark_free)(rota_queue *q, rota_mark *mark); /* mark may be NULL */
    int (*mark_put)(rota_queue *q,
                    rota_mark *mark); /* behind all that is in q */
    int (*mark_passed)(rota_queue *q, rota_mark *mark, bool *passed);

    /* ---- between processes of the node ---- */

    /* The allocation that holds p, for others to open. Returns NULL, or why they
     * cannot. */
    const char *(*memory_share)(const void *p, rota_allocation *allocation);

    /* A process must not open its own memory or marks, nor one of another twice
     * for queues of one home. */
    const void *(*queue_home)(const rota_queue *q);
    int (*memory_open)(rota_queue *q, const rota_handle *handle, char **base);
    void (*memory_close)(rota_queue *q, char *base); /* no copy uses it */

    /* A mark that others may open; it must not be freed before they have freed
     * theirs. */
    int (*mark_share)(rota_queue *q, rota_mark **mark, rota_handle *handle);
    int (*mark_open)(rota_queue *q, const rota_handle *handle,
                     rota_mark **mark);

    /* What is put in q from now on comes behind all that the mark was behind
     * when it was last put, in whichever process, if it ever was. */
    int (*mark_await)(rota_queue *q, rota_mark *mark);
} rota_device;

/* The kind of device that this process uses. NULL if it has not begun to use
 * any: then no pointer is into memory of one, and the answer may be another one
 * later. Costs a look at the libraries that are loaded. */
const rota_device *rota_device_in_use(void);

/* Why rota_device_in_use finds none. */
const char *rota_device_why_none(void);

/* One file each. NULL if the process has not loaded CUDA's driver, or HIP's
 * runtime. */
#ifdef ROTA_HAVE_CUDA
const rota_device *rota_cuda_in_use(void);
#endif
#ifdef ROTA_HAVE_HIP
const rota_device *rota_hip_in_use(void);
#endif

#endif /* ROTA_DEVICE_H */
