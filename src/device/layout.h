/* layout.h - where the data of a datatype lie, as rows for copies that the host
 * has no part in.
 */
#ifndef ROTA_LAYOUT_H
#define ROTA_LAYOUT_H

#include "base/problem.h"
#include "device/device.h"

/* Rows of one element, in the order in which MPI packs them. */
typedef struct rota_strip {
    ptrdiff_t at;    /* bytes from the element's origin to the first row */
    ptrdiff_t pitch; /* from one row to the next; 0 if there is one */
    size_t width, n;
} rota_strip;

typedef struct rota_layout {
    size_t size;       /* bytes of data in one element */
    ptrdiff_t extent;  /* from one element to the next */
    rota_strip *strip; /* [n_strips]; none: plain bytes, end to end */
    size_t n_strips;
} rota_layout;

/* Plain bytes cost nothing; another type costs memory for an element's true
 * extent and for a number per byte of its data, given back at the end. Local.
 * comm only tells MPI the representation. */
int rota_layout_make(const rota_type *type, MPI_Comm comm, rota_layout *layout);
void rota_layout_free(rota_layout *layout); /* may be all zero */

/* Put copies between a block of elements and its bytes packed in q. block is
 * the origin of the first element. At most one copy for each strip and either
 * each element or each row of the strip, whichever are fewer. */
int rota_layout_pack(const rota_layout *l, const rota_device *device,
                     rota_queue *q, const char *block, size_t bytes,
                     char *packed);
int rota_layout_unpack(const rota_layout *l, const rota_device *device,
                       rota_queue *q, const char *packed, size_t bytes,
                       char *block);

#endif /* ROTA_LAYOUT_H */
