/* told.h - where the data of a block lie, told to another process of the node in
 * memory that both have, so that it copies the block from there.
 */
#ifndef ROTA_TOLD_H
#define ROTA_TOLD_H

#include "base/problem.h"

/* A block of elements, as addresses of the process that it is of. */
typedef struct rota_extents {
    ptrdiff_t
        begin;    /* from the origin of the first element to the first byte */
    size_t bytes; /* from there to behind the last one */
} rota_extents;

rota_extents rota_extents_of(const rota_type *type, size_t bytes);

/* Bytes that it takes to tell of elements of a type; 0: it is not told, being
 * plain, not known or of more nests than are worth it. */
size_t rota_told_bytes(const rota_type *type);
void rota_told_write(const rota_type *type, void *memory);

/* Make the type that was told, with its layout, to be freed by free. NULL: there
 * is no memory. */
rota_type *rota_told_read(const void *memory);

#endif /* ROTA_TOLD_H */
