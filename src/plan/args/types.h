/* types.h - the caller's datatypes. */
#ifndef ROTA_TYPES_H
#define ROTA_TYPES_H

#include "base/problem.h"

/* How to turn counts and displacements of a type into bytes. */
typedef struct rota_unit {
    size_t element;    /* bytes of data in an element of the caller's type */
    unsigned shift;    /* element is an odd number << shift; inverse: the odd */
    size_t inverse;    /* number's modulo SIZE_MAX + 1. 0: it has no data */
    ptrdiff_t spacing; /* bytes from one element to the next */
    ptrdiff_t displ;   /* bytes of a displacement of 1 */
    ptrdiff_t true_lb; /* added to every offset; 0 if the layout is known */
    bool null_ok;      /* the type contains addresses */
    bool small;        /* counts and displacements that are ints stay within the
                          address space */
} rota_unit;

/* The elements that have so many bytes of data; there is no rest. */
static inline size_t rota_unit_elements(const rota_unit *u, size_t bytes)
{
    return (bytes >> u->shift) * u->inverse;
}

/* The datatypes of blocks, as the rest of the library sees them and as the
 * caller counts in them. A type whose elements are plain bytes, end to end,
 * becomes MPI_BYTE.
 */
typedef struct rota_type_set {
    rota_type *type;          /* [n_types] */
    rota_unit *unit;          /* [n] */
    uint32_t *place;          /* [n] index in type */
    struct rota_known *known; /* uthash: each type added, once */
    uint32_t n, n_types, room;
} rota_type_set;

/* Add a type unless it is there; *index: its place. name: of the argument, for
 * errors. */
int rota_type_set_add(rota_type_set *set, MPI_Datatype mpi, const char *name,
                      MPI_Comm comm, uint32_t *index);

/* Turn the set into the types of n blocks; of: [n] each block's index in the
 * set. The set gives up its types; its units stay. */
int rota_type_set_give(rota_type_set *set, const uint32_t of[], size_t n,
                       rota_types *types);
void rota_type_set_free(rota_type_set *set);

/* Make the types of blocks that all have one type. */
int rota_types_make(MPI_Datatype mpi, const char *name, MPI_Comm comm,
                    rota_types *types, rota_unit *unit);
void rota_types_free(rota_types *types);

/* Copy the types of n blocks. After a failure call rota_types_free, too. */
int rota_types_copy(const rota_types *types, size_t n, rota_types *copy);

#endif /* ROTA_TYPES_H */
