/* args.h - the arguments of an exchange, of whatever function. */
#ifndef ROTA_MPI_ARGS_H
#define ROTA_MPI_ARGS_H

#include "mpi/calls.h"

#include <stddef.h>

/* ONE: one count and one type for all blocks, which lie end to end. V: a count
 * and a displacement a block. W: a type as well; displacements are in bytes. */
typedef enum rota_mpi_shape {
    ROTA_MPI_ONE,
    ROTA_MPI_V,
    ROTA_MPI_W
} rota_mpi_shape;

/* The blocks that a rank sends, or receives. How many there are and whom they
 * are for is known with the communicator (comm.h); before, n is 0. */
typedef struct rota_mpi_blocks {
    void *buffer;       /* of what MPI takes as const nothing is written */
    const void *counts; /* ONE: of one element */
    const void *displs; /* ONE: NULL */
    MPI_Datatype type;  /* but for W */
    const MPI_Datatype *types; /* of W; else NULL */
    int n;
    const int *peers; /* [n] neighbours, or MPI_PROC_NULL; NULL: all ranks */
    const int *slots; /* [n] numbers that Rota has for them; NULL: the same */
} rota_mpi_blocks;

/* Counts are of int or, if large, of MPI_Count; displacements of int or, if far,
 * of MPI_Aint. */
typedef struct rota_mpi_args {
    rota_mpi_call call;
    rota_mpi_shape shape;
    bool large, far;
    bool neighbors; /* blocks are for those of the process topology */
    rota_mpi_blocks send, recv;
    MPI_Comm comm;
} rota_mpi_args;

/* Are usages told apart by the size of a block? */
static inline bool rota_mpi_has_size(const rota_mpi_args *a)
{
    return a->shape == ROTA_MPI_ONE && !a->neighbors;
}

static inline MPI_Datatype rota_mpi_type_at(const rota_mpi_blocks *b, int i)
{
    return b->types ? b->types[i] : b->type;
}

static inline MPI_Count rota_mpi_count_at(const rota_mpi_args *a,
                                          const rota_mpi_blocks *b, int i)
{
    const int at = a->shape == ROTA_MPI_ONE ? 0 : i;

    return a->large ? ((const MPI_Count *)b->counts)[at]
                    : ((const int *)b->counts)[at];
}

/* Not of ONE. */
static inline MPI_Aint rota_mpi_displ_at(const rota_mpi_args *a,
                                         const rota_mpi_blocks *b, int i)
{
    return a->far ? ((const MPI_Aint *)b->displs)[i]
                  : ((const int *)b->displs)[i];
}

/* Elements that are moved: blocks of MPI_PROC_NULL are not touched. */
static inline MPI_Count rota_mpi_moved_at(const rota_mpi_args *a,
                                          const rota_mpi_blocks *b, int i)
{
    return b->peers && b->peers[i] == MPI_PROC_NULL
               ? 0
               : rota_mpi_count_at(a, b, i);
}

/* Does the receive side say what is sent? */
static inline bool rota_mpi_is_in_place(const rota_mpi_args *a)
{
    return a->send.buffer == MPI_IN_PLACE && !a->neighbors;
}

static inline const rota_mpi_blocks *rota_mpi_sent(const rota_mpi_args *a)
{
    return rota_mpi_is_in_place(a) ? &a->recv : &a->send;
}

/* Allocate cleared memory. The program ends if there is none: a rank that lacked it
 * could not agree with the others any more. */
void *rota_mpi_alloc(size_t n, size_t bytes);

/* The arguments for Rota. MPI_IN_PLACE becomes NULL where MPI lets it pass
 * because nothing is moved: as recvbuf and, among neighbours, as sendbuf. */
rota_mpi_args rota_mpi_for_rota(const rota_mpi_args *args);

/* n * size; if that overflows, a number beyond all memory, which Rota
 * refuses. */
MPI_Count rota_mpi_scaled(MPI_Count n, MPI_Count size);

/* Bytes of a block, and of all that valid arguments send; and of one block where
 * there is one count, whose type is set if it is predefined, else to
 * MPI_DATATYPE_NULL. */
size_t rota_mpi_bytes_at(const rota_mpi_args *a, const rota_mpi_blocks *b,
                         int i);
size_t rota_mpi_args_bytes(const rota_mpi_args *args);
MPI_Count rota_mpi_block_bytes(const rota_mpi_args *args, MPI_Datatype *type);

/* Are the elements of all blocks known to be just bytes, end to end? */
bool rota_mpi_args_plain(const rota_mpi_args *args);

/* Is this type predefined, so that it is never freed nor changed? valid: is it any
 * type? */
bool rota_mpi_is_predefined(MPI_Datatype type, bool *valid);

/* A predefined type, or MPI_DATATYPE_NULL, with what is known of it. */
typedef struct rota_mpi_type {
    MPI_Datatype type;
    MPI_Count size;
    MPI_Aint extent;
    bool plain; /* elements are bytes end to end */
} rota_mpi_type;

/* Fill in *known for this type, unless it is known. */
int rota_mpi_know(rota_mpi_type *known, MPI_Datatype type);

#endif /* ROTA_MPI_ARGS_H */
