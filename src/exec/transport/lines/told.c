/* told.c - see told.h. */
#include "exec/transport/lines/told.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NESTS = 64 };

typedef struct told {
    uint64_t size, n;
    int64_t extent, lb, ub;
    rota_nest nest[]; /* [n] */
} told;

/* The type made from a told layout. */
typedef struct copy {
    rota_type type; /* first, so that free of the type frees all */
    rota_layout layout;
    rota_nest nest[];
} copy;

rota_extents rota_extents_of(const rota_type *type, size_t bytes)
{
    const ptrdiff_t last = (ptrdiff_t)(bytes / type->size - 1) * type->extent;
    const ptrdiff_t begin = type->lb + (last < 0 ? last : 0);
    const ptrdiff_t end = type->ub + (last < 0 ? 0 : last);

    return (rota_extents){begin, (size_t)(end - begin)};
}

size_t rota_told_bytes(const rota_type *type)
{
    const rota_layout *const l = type->layout;

    return l && l->n <= MOST_NESTS ? sizeof(told) + l->n * sizeof *l->nest : 0;
}

void rota_told_write(const rota_type *type, void *memory)
{
    const rota_layout *const l = type->layout;
    told *const t = memory;

    *t = (told){.size = type->size,
                .n = l->n,
                .extent = type->extent,
                .lb = type->lb,
                .ub = type->ub};
    memcpy(t->nest, l->nest, l->n * sizeof *l->nest);
}

rota_type *rota_told_read(const void *memory)
{
    const told *const t = memory;
    copy *const c = malloc(sizeof *c + t->n * sizeof *c->nest);

    if (!c)
        return NULL;
    memcpy(c->nest, t->nest, t->n * sizeof *c->nest);
    c->layout = (rota_layout){.nest = c->nest, .n = t->n};
    c->type = (rota_type){.mpi = MPI_DATATYPE_NULL,
                          .size = t->size,
                          .extent = (ptrdiff_t)t->extent,
                          .lb = (ptrdiff_t)t->lb,
                          .ub = (ptrdiff_t)t->ub,
                          .layout = &c->layout};
    return &c->type;
}
