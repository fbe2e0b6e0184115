#define _POSIX_C_SOURCE 200809L /* sched_yield */

#include "common/read_once.h"

#include "common/util.h"

#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Runs in which others have read all that this rank sends them. A line each, since
 * different ranks write them. */
typedef struct taken {
    _Alignas(64) _Atomic unsigned long runs;
} taken;

struct read_once {
    const bench_mem *mem;
    void *memory;        /* of this rank: taken [P], by reader */
    taken *mine, **read; /* mine; read [P]: where this rank tells each sender */
    int *there; /* [P] bytes: where senders have what is for this rank */
    unsigned long runs;
};

static bool on_one_node(const exchange *x)
{
    MPI_Comm node;
    int n;

    bench_must(MPI_Comm_split_type(x->comm, MPI_COMM_TYPE_SHARED, 0,
                                   MPI_INFO_NULL, &node),
               "MPI_Comm_split_type");
    bench_must(MPI_Comm_size(node, &n), "MPI_Comm_size");
    bench_must(MPI_Comm_free(&node), "MPI_Comm_free");
    return n == x->P;
}

read_once *read_once_create(const exchange *x)
{
    const size_t P = (size_t)x->P;

    if (!on_one_node(x))
        return NULL;
    read_once *const r = bench_calloc(1, sizeof *r);
    r->mem = x->mem;
    r->there = bench_calloc(P, sizeof *r->there);
    r->read = bench_calloc(P, sizeof(taken *));
    bench_must(r->mem->alloc(P * sizeof(taken), x->comm, &r->memory),
               r->mem->name);
    r->mine = r->memory;
    memset(r->memory, 0, P * sizeof(taken));
    for (int i = 0; i < x->P; i++)
        r->read[i] = (taken *)(void *)r->mem->reach(r->memory, i) + x->me;
    bench_must(
        MPI_Alltoall(x->sdispls, 1, MPI_INT, r->there, 1, MPI_INT, x->comm),
        "MPI_Alltoall");
    return r;
}

/* Ranks that share a core need it to read. */
static void await(taken *t, unsigned long runs)
{
    enum { LOOKS = 1000 };

    for (int i = 0; atomic_load_explicit(&t->runs, memory_order_acquire) < runs;
         i++)
        if (i > LOOKS)
            sched_yield();
}

void read_once_run(read_once *r, const exchange *x)
{
    r->runs++;
    for (int k = 0; k < x->P; k++) {
        const int i = (x->me + k) % x->P;
        memcpy(x->recvbuf + x->rdispls[i],
               r->mem->reach(x->sendbuf, i) + r->there[i],
               (size_t)x->recvcounts[i]);
        atomic_store_explicit(&r->read[i]->runs, r->runs, memory_order_release);
    }
    for (int i = 0; i < x->P; i++)
        await(&r->mine[i], r->runs);
}

void read_once_free(read_once *r)
{
    if (!r)
        return;
    bench_must(r->mem->free(&r->memory), r->mem->name);
    free(r->there);
    free((void *)r->read);
    free(r);
}
