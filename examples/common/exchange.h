/* exchange.h - send facts to the ranks that own them, in one of several ways.
 * A fact is one or several values of 64 bits; here only values are counted.
 *
 * To add a way: write its three functions in exchange.c and add a line to
 * forms there. What a form must do is said at struct exchange_form. */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include "pairs.h"

#include <mpi.h>
#include <rota.h>

typedef struct exchange exchange;

typedef struct {
    const char *name;
    const char *calls; /* what it consists of, for people */
    int by_mpi;        /* not by Rota */
    void (*open)(exchange *x);
    /* Given send, sent, sent_at and note: set note_sum, and came, got, got_at
     * for the values that came. Where note_sum is 0 nobody has anything to send,
     * and that step can be left out. May set began anew. */
    void (*run)(exchange *x);
    void (*close)(exchange *x);
} exchange_form;

enum { EXCHANGE_FORMS = 5 };

/* The forms that which names, one of those of EXCHANGE_HELP: how many, and
 * which; 0 for any other word. */
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
    "                      rota      two Rota plans in place of MPI's calls\n" \
    "                      copies    as exchange, but only a copy of what "    \
    "came\n"                                                                   \
    "                                is timed: no way can be faster\n"         \
    "                      both      mpi, then exchange\n"                     \
    "                      all       one after the other (default)\n"

struct exchange {
    const exchange_form *form;
    MPI_Comm comm;
    int P, me;
    /* One exchange. */
    u64_vec send;        /* blocks for the ranks, in their order */
    int *sent, *sent_at; /* [P] values in each block; where it begins */
    uint64_t note, note_sum;
    const uint64_t *came; /* valid until the next exchange */
    int *got, *got_at;    /* [P] as sent, of the blocks that came */
    /* For forms that send counts first: [2P] values and note for each rank, and
     * the memory of came. */
    uint64_t *tell, *told;
    u64_vec received;
    rota_plan *tell_plan, *data_plan;
    double setup_s; /* in open */
    uint64_t bytes; /* sent to other ranks: values, a count and a note each */
    /* Of the last exchange. */
    uint64_t largest; /* bytes of the largest block to another rank, likewise */
    double began, ended; /* by node_clock; packing the blocks was before */
};

/* Collective over comm, which must outlive the exchange. */
void exchange_open(exchange *x, const exchange_form *form, MPI_Comm comm);

/* Send block[d] to rank d. Afterwards came, got and got_at tell what came,
 * until the next call. Returns the sum of note over all ranks; where that is 0
 * the blocks are expected to be empty everywhere and nothing comes.
 * Collective. */
uint64_t exchange_run(exchange *x, const u64_vec block[], uint64_t note);

void exchange_close(exchange *x);

#endif
