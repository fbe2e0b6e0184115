/* told.h - tells another process of the node, in memory that both map, where
 * the data of a block lie, so that it can copy the block from there.
 */
#ifndef ROTA_TOLD_H
#define ROTA_TOLD_H

#include "base/problem.h"

/* The bytes that elements of a type cover. */
typedef struct rota_extents {
    ptrdiff_t begin; /* from the first element's origin to the first byte */
    size_t bytes;    /* from the first byte to the end of the last */
} rota_extents;

rota_extents rota_extents_of(const rota_type *type, size_t bytes);

/* Bytes needed to tell the layout of a type. 0: it is not told, because it is
 * plain bytes, unknown, or has too many nests. */
size_t rota_told_bytes(const rota_type *type);
void rota_told_write(const rota_type *type, void *memory);

/* Make the type that was told, with its layout; free it with free. NULL: no
 * memory. */
rota_type *rota_told_read(const void *memory);

#endif /* ROTA_TOLD_H */
