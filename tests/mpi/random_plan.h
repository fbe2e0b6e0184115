/* random_plan.h - plans of which everything is drawn: kind, counts, datatype,
 * buffers and hints. Drawn from one seed on all ranks, they fit together.
 */
#ifndef ROTA_TEST_RANDOM_PLAN_H
#define ROTA_TEST_RANDOM_PLAN_H

#include "harness.h"
#include "pattern.h"

#include <stdbool.h>

typedef enum random_kind {
    RANDOM_FIXED,
    RANDOM_UNIFORM, /* rota_alltoall_init */
    RANDOM_VARYING,
    RANDOM_EXCHANGE,
    RANDOM_TYPES, /* rota_alltoallw_init */
    RANDOM_SPARSE,
    RANDOM_UNITS,   /* fixed counts, of another unit in each start */
    RANDOM_REVERSE, /* rota_plan_init_reverse: overwrites or combines */
    RANDOM_ARRAYS,  /* rota_exchange_init_arrays */
    RANDOM_KINDS
} random_kind;

extern const char *const random_kind_name[RANDOM_KINDS];

enum { RANDOM_HINTS = 6, RANDOM_RANKS = 64, RANDOM_TYPES_KEPT = 3 };
enum { RANDOM_MOST_ARRAYS = 3 };

/* Ranks that have a block from this one, or for it, in the order of blocks. */
typedef struct random_peers {
    int n, rank[RANDOM_RANKS];
} random_peers;

/* A distributed graph, as MPI's and as Rota's. */
typedef struct random_graph {
    MPI_Comm comm;
    rota_graph *graph;
    random_peers to, from;
} random_graph;

/* Collective; blocks in MPI. The plans of a graph may outlive it. */
void random_graph_make(random_graph *g, uint64_t seed, MPI_Comm comm);

/* pieces x piece_bytes of data, stride apart; the next element extent away */
typedef struct random_layout {
    MPI_Datatype type;
    int pieces, piece_bytes, stride, extent;
} random_layout;

/* How a reverse combines. */
typedef enum random_op {
    RANDOM_OVERWRITES,
    RANDOM_XOR,
    RANDOM_SUM,
    RANDOM_OWN, /* of the program, not commutative */
    RANDOM_OPS
} random_op;

/* What a function that makes or starts a plan is called with. NULL arrays are
 * NULL in all forms of the call. */
typedef struct random_args {
    const void *sendbuf;
    MPI_Count *sendcounts; /* [to.n] */
    MPI_Aint *sdispls;     /* likewise; bytes for RANDOM_TYPES */
    MPI_Datatype sendtype;
    void *recvbuf;
    MPI_Count *recvcounts; /* [from.n] */
    MPI_Aint *rdispls;
    MPI_Datatype recvtype;
    MPI_Datatype *sendtypes, *recvtypes; /* of RANDOM_TYPES */
    size_t max_block;
    MPI_Info info;
    rota_plan **plan;
} random_args;

typedef struct random_memory {
    unsigned char *data, *wanted; /* [size] what is there, what should be */
    size_t size;
    bool mapped; /* data by mmap */
} random_memory;

typedef struct random_plan {
    uint64_t seed;
    random_kind kind;
    MPI_Comm comm;
    bool neighbors;    /* in place of all ranks */
    rota_graph *graph; /* by which they are named, or NULL */
    random_layout layout;
    random_layout kept[RANDOM_TYPES_KEPT]; /* of RANDOM_TYPES: 8 bytes each */
    random_peers to, from;
    pattern pattern;
    size_t largest;        /* elements of a block, but for HUGE_SINGLE */
    size_t max_block;      /* bytes, of varying plans and exchanges */
    bool large;            /* MPI_Count in calls */
    bool in_place, shared; /* buffers of rota_mem_alloc */
    bool renews;           /* others come in their place between starts */
    bool collects;         /* an exchange, to a buffer of its own */
    bool may_refuse; /* hints may be for plans of other kinds, or too few */
    const char *key[RANDOM_HINTS];
    char value[RANDOM_HINTS][40];
    int n_hints;
    random_memory send, recv;
    random_args args;
    rota_plan *plan;
    int run; /* starts so far */
    bool active;
    bool asks;           /* some runs are requests of MPI */
    MPI_Request request; /* of the active run, or null */
    random_op op;        /* of RANDOM_REVERSE */
    rota_plan *forward;  /* of which it is the reverse; NULL: freed before */
    int n_arrays;        /* of RANDOM_ARRAYS; each is drawn as an exchange: */
    struct random_plan *array[RANDOM_MOST_ARRAYS];
} random_plan;

/* The i-th draw of a plan, below bound. */
uint64_t random_plan_choose(const random_plan *r, uint64_t i, uint64_t bound);

/* Elements of the block from src to dst in the next run. */
MPI_Count random_plan_count(const random_plan *r, int src, int dst);

/* Draw all but the plan; args are ready for random_plan_init. Plans are of all
 * kinds or, where graph is NULL, of the first four among all ranks. */
void random_plan_draw(random_plan *r, uint64_t seed, MPI_Comm comm,
                      const random_graph *graph);

/* The function that r->kind asks for, with r->args. */
int random_plan_init(random_plan *r);

/* Start the next run, on fresh data: first r->args are filled, then used.
 * The second may be called again with others. */
void random_plan_fill(random_plan *r);
int random_plan_start(random_plan *r);

/* Of an exchange: what came. */
typedef struct random_found {
    void *data;
    int n, source[RANDOM_RANKS];
    MPI_Count count[RANDOM_RANKS];
    MPI_Aint displ[RANDOM_RANKS];
} random_found;

/* Data that differ from what src has sent to this rank, of n elements at at. */
size_t random_plan_count_bad(const random_plan *r, const unsigned char *at,
                             int src, MPI_Count n);

/* Of RANDOM_ARRAYS (random_arrays.c). */
void random_arrays_draw(random_plan *r);
void random_arrays_fill(random_plan *r);
int random_arrays_init(const random_plan *r);
int random_arrays_start(const random_plan *r);
int random_arrays_wait(const random_plan *r); /* and check all data */
void random_arrays_free(random_plan *r);

/* The bare calls (random_call.c). */
int random_plan_call_start(const random_plan *r);
int random_plan_call_wait(const random_plan *r, random_found *f);

/* Wait, or test and say whether it is complete; then check all data. */
void random_plan_wait(random_plan *r);
bool random_plan_test(random_plan *r);

/* Of an inactive plan. */
void random_plan_free(random_plan *r);

/* What was drawn, on one line. */
void random_plan_print(const random_plan *r, char *text, size_t size);

/* A number that looks random, the same for the same arguments. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
    return test_hash(test_hash(a) + b);
}

#endif /* ROTA_TEST_RANDOM_PLAN_H */
