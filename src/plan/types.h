/* types.h - the caller's datatypes. */
#ifndef ROTA_TYPES_H
#define ROTA_TYPES_H

#include "base/problem.h"

/* How blocks given in elements of a type become bytes. */
typedef struct rota_unit {
    size_t element;    /* bytes of data in one element of the caller's type */
    ptrdiff_t spacing; /* bytes from one element to the next */
    ptrdiff_t displ;   /* bytes of a displacement of 1 */
    ptrdiff_t true_lb; /* added to every offset: 0 unless plain bytes */
    bool null_ok;      /* the type has addresses in it */
} rota_unit;

/* Datatypes of blocks as the rest of the library sees them, and as the caller
 * counts in them. One whose elements are plain bytes end to end becomes MPI_BYTE.
 */
typedef struct rota_type_set {
    rota_type *type;          /* [n] */
    rota_unit *unit;          /* [n] */
    struct rota_known *known; /* those that were added, once each: uthash */
    uint32_t n, room;
} rota_type_set;

/* Add one, unless it is there: *index is its place. name is the argument's, for
 * errors. */
int rota_type_set_add(rota_type_set *set, MPI_Datatype mpi, const char *name,
                      MPI_Comm comm, uint32_t *index);

/* Make them the types of n blocks, of which each has that of its index in the
 * set, which stays as it is but for what it owned. */
int rota_type_set_give(rota_type_set *set, const uint32_t of[], size_t n,
                       rota_types *types);
void rota_type_set_free(rota_type_set *set);

/* One for all blocks. */
int rota_types_make(MPI_Datatype mpi, const char *name, MPI_Comm comm,
                    rota_types *types, rota_unit *unit);
void rota_types_free(rota_types *types);

#endif /* ROTA_TYPES_H */
