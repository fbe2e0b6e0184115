/* exchange.h - send facts to the ranks that own them, in one of several ways.
 * A fact is one or several values of 64 bits; here only values are counted. They
 * are written right where they are sent from.
 *
 * To add a way: write its four functions in exchange.c and add a line to
 * forms there. What a form must do is said at struct exchange_form. */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include "pairs.h"

#include <mpi.h>
#include <rota.h>

typedef struct exchange exchange;

typedef struct exchange_form {
    const char *name;
    const char *calls;                   /* what it consists of, for people */
    int by_mpi;                          /* not by Rota */
    const struct exchange_form *instead; /* of which one, if not of MPI's */
    void (*open)(exchange *x);
    /* Memory for so many values to send in the next exchange. What is in that of
     * another call since the last exchange may be lost. */
    uint64_t *(*room)(exchange *x, size_t values);
    /* Given send, sent, sent_at and note: set note_sum, and came and got for the
     * values that came. Where note_sum is 0 nobody has anything to send, and that
     * step can be left out. May set began anew. */
    void (*run)(exchange *x);
    void (*close)(exchange *x);
} exchange_form;

enum { EXCHANGE_FORMS = 6 };

/* The forms that which names, words of EXCHANGE_HELP: how many, and which; 0 if
 * it has others. */
int exchange_choose(const char *which,
                    const exchange_form *form[EXCHANGE_FORMS]);

#define EXCHANGE_HELP                                                          \
    "  --exchange WHICH  how facts travel:\n"                                  \
    "                      mpi       MPI_Alltoall of the counts, "             \
    "MPI_Alltoallv\n"                                                          \
    "                      three     the same, and MPI_Allreduce for the "     \
    "end\n"                                                                    \
    "                      exchange  one Rota exchange, which finds the "      \
    "counts\n"                                                                 \
    "                                and the end of the loop\n"                \
    "                      borrowed  the same, but what came is read where "   \
    "its\n"                                                                    \
    "                                senders on the node have it\n"            \
    "                      rota      two Rota plans in place of MPI's calls\n" \
    "                      copies    as exchange, but only a copy of what "    \
    "came\n"                                                                   \
    "                                is timed: no way can be faster\n"         \
    "                      both      mpi, then exchange\n"                     \
    "                      all       one after the other (default)\n"          \
    "                    or several of these, with commas between them\n"

struct exchange {
    const exchange_form *form;
    MPI_Comm comm;
    int P, me;
    /* One exchange. */
    u64_vec *block;      /* [P] what is to be sent to each rank */
    uint64_t *send;      /* where all blocks lie: the form's memory */
    int *sent, *sent_at; /* [P] values in each block; where it begins in send */
    uint64_t note, note_sum;
    const void **came; /* [P] values of each rank, until the next exchange */
    int *got;          /* [P] how many */
    /* For forms that have memory of their own: that of send and came, and where
     * each block begins there. */
    u64_vec own, received;
    int *got_at; /* [P] */
    /* For forms that send counts first: [2P] values and note for each rank. */
    uint64_t *tell, *told;
    rota_plan *tell_plan, *data_plan;
    double setup_s; /* in open */
    uint64_t bytes; /* sent to other ranks: values, a count and a note each */
    /* Of the last exchange. */
    uint64_t largest; /* bytes of the largest block to another rank, likewise */
    double began, ended; /* by node_clock */
};

/* Collective over comm, which must outlive the exchange. */
void exchange_open(exchange *x, const exchange_form *form, MPI_Comm comm);

/* Make room for n more values in the block for rank d; what is there stays. */
void exchange_grow(exchange *x, int d, size_t n);

/* Where to write n more values for rank d, before the next call of exchange_add
 * or exchange_run. */
static inline uint64_t *exchange_add(exchange *x, int d, size_t n)
{
    u64_vec *block = &x->block[d];

    if (block->capacity - block->n < n)
        exchange_grow(x, d, n);
    block->n += n;
    return block->at + block->n - n;
}

/* Send what was added for each rank. Afterwards came and got tell what came,
 * until the next call, and nothing is added. Returns the sum of note over all
 * ranks; where that is 0 nothing may have been added anywhere, and nothing comes.
 * Collective. */
uint64_t exchange_run(exchange *x, uint64_t note);

void exchange_close(exchange *x);

#endif
