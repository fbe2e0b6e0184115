/* attack.h - what attack.c, attack_more.c and attack_arrays.c share: arguments that
 * are good, and calls that spoil one of them.
 */
#ifndef ROTA_TEST_ATTACK_H
#define ROTA_TEST_ATTACK_H

#include "harness.h"

#include <stdbool.h>

enum {
    MOST_RANKS = 16,
    N = 5 /* ints of a block */,
    RING = 2 /* neighbours */
};

/* What a call is made with, on all ranks or on a ring: block 0 goes to the next
 * rank and comes from the one before, block 1 the other way round. A call may
 * spoil everything above the plans; it is good again before the next one. */
typedef struct fixture {
    MPI_Comm comm, ring;
    MPI_Info info;
    int count[MOST_RANKS], displ[MOST_RANKS];
    int rcount[MOST_RANKS], rdispl[MOST_RANKS];
    int at[MOST_RANKS], rat[MOST_RANKS]; /* in bytes */
    MPI_Count count_c[MOST_RANKS], rcount_c[MOST_RANKS];
    MPI_Aint displ_c[MOST_RANKS], at_c[MOST_RANKS], rat_c[MOST_RANKS];
    MPI_Datatype type[MOST_RANKS], rtype[MOST_RANKS];
    int send[MOST_RANKS * N], recv[MOST_RANKS * N];
    int to; /* of the sparse exchange */

    rota_plan *fixed, *varying, *exchange;
    rota_plan *typed, *near, *near_varying, *near_exchange, *sparse;
    int to_fixed[MOST_RANKS * N], to_varying[MOST_RANKS * N];
    int to_typed[MOST_RANKS * N];
    int to_near[RING * N], to_near_varying[RING * N];
    rota_plan *arrays, *back;
    int to_back[MOST_RANKS * N];
    rota_plan *made; /* by the attack */
    MPI_Datatype raw;
    MPI_Comm good_ring;
} fixture;

/* Of an attack. */
enum {
    COLLECTIVE = 1,
    BY_ALL = 2,     /* only: nothing can be agreed on otherwise */
    NOT_BY_ALL = 4, /* then it would be none */
    BY_ROOT = 8,    /* only rank 0's arguments count */
    IF_CHECKED = 16,
    ACTIVE = 32,   /* the plans are */
    TOGETHER = 64, /* not where a rank is alone */
};

typedef struct attack {
    const char *function, *what;
    int errorclass;
    int flags;
    int (*call)(fixture *f, bool wrong);
} attack;

/* The arguments of a function that makes a plan; all are good. */
typedef struct making {
    MPI_Comm comm;
    const void *sendbuf;
    void *recvbuf;
    const int *sendcounts, *recvcounts;
    const int *sdispls, *rdispls;    /* in elements, or in bytes */
    const MPI_Aint *sbytes, *rbytes; /* the same, of neighbours with types */
    MPI_Datatype sendtype, recvtype; /* of all blocks, or of each: */
    const MPI_Datatype *sendtypes, *recvtypes;
    rota_plan **plan;
} making;

static inline making sound(fixture *f)
{
    return (making){.comm = f->ring,
                    .sendbuf = f->send,
                    .recvbuf = f->recv,
                    .sendcounts = f->count,
                    .recvcounts = f->rcount,
                    .sdispls = f->displ,
                    .rdispls = f->rdispl,
                    .sbytes = f->at_c,
                    .rbytes = f->rat_c,
                    .sendtype = MPI_INT,
                    .recvtype = MPI_INT,
                    .sendtypes = f->type,
                    .recvtypes = f->rtype,
                    .plan = &f->made};
}

/* A plan made with arguments of which one is spoilt. */
#define MAKING(name, sound, init, spoil)                                       \
    static int name(fixture *f, bool wrong)                                    \
    {                                                                          \
        making m = sound(f);                                                   \
        if (wrong) {                                                           \
            spoil;                                                             \
        }                                                                      \
        return init(f, &m);                                                    \
    }

/* What must fail, on the ranks that are wrong; the others do nothing. */
#define LOCAL(name, spoilt)                                                    \
    static int name(fixture *f, bool wrong)                                    \
    {                                                                          \
        (void)f;                                                               \
        return wrong ? (spoilt) : MPI_SUCCESS;                                 \
    }

/* attack_more.c: a type a block, neighbours, sparse exchanges. */
extern const attack attacks_on_more[];
extern const int n_attacks_on_more;

/* Plans of these kinds: made, started, completed and looked at, freed. */
void attack_open_more(fixture *f);
void attack_start_more(fixture *f);
void attack_finish_more(fixture *f);
void attack_close_more(fixture *f);

/* attack_arrays.c: exchanges of several arrays, plans that run backwards. */
extern const attack attacks_on_arrays[];
extern const int n_attacks_on_arrays;

/* Plans of these kinds, likewise. */
void attack_open_arrays(fixture *f);
void attack_start_arrays(fixture *f);
void attack_finish_arrays(fixture *f);
void attack_close_arrays(fixture *f);

#endif /* ROTA_TEST_ATTACK_H */
