/* carried.h - a value of each rank that travels with a run's messages to all
 * others, to be combined at the end (reduction.h).
 *
 * Every message brings the values of the ranks whose blocks it has. A block goes
 * from each rank to each other one, empty ones too, so each rank has every value
 * when it has all its blocks, whatever the algorithm. Which values a message brings
 * is found out once: all blocks of a rank in it share one.
 *
 * A rank keeps values in a table with one for each rank, for even and for odd
 * starts. Ranks of a node have their tables in shared memory (slots.c): there a
 * message tells that the values are in its sender's table, and nothing more
 * travels. It is read at the end or, if it goes on to others, when the message has
 * come. In a message of MPI the values stand in front, behind sizes.
 *
 * The table of start n is written again at start n + 2. No rank begins that before
 * it has ended n + 1, for which it needs a value of every rank, and no rank gives
 * that before it has ended n.
 */
#ifndef ROTA_CARRIED_H
#define ROTA_CARRIED_H

#include "exec/exec.h"
#include "exec/move/reduction.h"

typedef struct rota_carried {
    rota_reduction what;
    size_t step;        /* bytes from one value of a table to the next */
    uint64_t starts;    /* number of starts, with this one */
    const void *value;  /* the caller's, read at each start */
    char *mine[2];      /* where it is put */
    char *table[2];     /* [P] this rank's, for even and odd starts */
    const char **at[2]; /* [P] where each value is when a run is over */

    /* The ranks whose values message m brings are rank[first[m]] and so on. */
    uint32_t *first[ROTA_N_DIRS]; /* [n messages+1] */
    int *rank[ROTA_N_DIRS];
    bool *goes_on;     /* [n receives] it brings blocks for others */
    const char **from; /* [n receives] the sender's table for even starts, if
                          values are copied from there when it has come; or
                          NULL */

    bool stocks; /* some message needs memory before a run */
    char *own;   /* memory of tables that are not shared; or NULL */

    /* If tables are in shared memory. */
    char **near; /* [node n] each rank's, for even starts; or NULL */
} rota_carried;

/* Make what a plan of P ranks carries. */
int rota_carried_make(const rota_reduction *what, int P, rota_carried **c);
void rota_carried_free(rota_carried *c);

/* Find out which values messages bring, if they do. label: of each block, source
 * * P + destination (rota_sizes_label); NULL: all messages are direct. */
int rota_carried_list(rota_carried *c, const rota_sched *s,
                      const size_t label[], bool brings);

/* If there is no table in shared memory: make one. Then find where each value is
 * at the end, once messages have their paths. */
int rota_carried_bind(rota_exec *x);

/* Bytes of the values that message m brings. */
static inline size_t rota_carried_bytes(const rota_exec *x, rota_dir dir,
                                        uint32_t m)
{
    const rota_carried *const c = x->carried;

    return c ? (c->first[dir][m + 1] - c->first[dir][m]) * c->step : 0;
}

/* The place of a rank's value in a table. */
static inline size_t rota_carried_place(const rota_carried *c, int rank)
{
    return (size_t)rank * c->step;
}

/* The table of this start, whose place for even starts is known. */
static inline const char *rota_carried_turn(const rota_carried *c, int P,
                                            const char *even)
{
    return even + (c->starts & 1) * (size_t)P * c->step;
}

/* Write the values of send m, which its receiver reads. */
void rota_carried_put(const rota_exec *x, uint32_t m, char *to);
void rota_carried_get(const rota_exec *x, uint32_t m, const char *from);

/* Receive m has come: copy its values from its sender's table, if need be. */
void rota_carried_take(const rota_exec *x, uint32_t m);

/* A run begins, whose sizes are known: read this rank's value. Fails only for want
 * of memory, and then nothing was done. */
int rota_carried_begin(rota_exec *x);

/* A run ends: combine. */
int rota_carried_end(const rota_exec *x);

#endif /* ROTA_CARRIED_H */
