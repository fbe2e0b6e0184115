/* exchange.h - send pairs to the ranks that own them, in one of several ways.
 *
 * To add a way: write its three functions in exchange.c and add a line to
 * exchange_forms. What a form must do is said at struct exchange_form. */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include "pairs.h"

#include <mpi.h>
#include <rota.h>

typedef struct exchange exchange;

typedef struct {
    const char *name;
    void (*open)(exchange *x);
    /* Given send, sent, sent_at and note: set received and note_sum. Where
     * note_sum is 0 nobody has pairs to send, and that step can be left out. */
    void (*run)(exchange *x);
    void (*close)(exchange *x);
} exchange_form;

extern const exchange_form *const exchange_forms[]; /* NULL ends it */

struct exchange {
    const exchange_form *form;
    MPI_Comm comm;
    int P, me;
    /* One exchange. */
    u64_vec send;        /* blocks for the ranks, in their order */
    int *sent, *sent_at; /* [P] pairs in each block; where it begins */
    uint64_t note, note_sum;
    u64_vec received;
    /* For forms that send counts first: [2P] pairs and note for each rank. */
    uint64_t *tell, *told;
    int *got, *got_at; /* [P] as sent, of the received blocks */
    rota_plan *tell_plan, *pairs_plan;
    /* Totals since exchange_open. */
    double seconds; /* in run: packing the blocks is not in it */
    uint64_t bytes; /* sent to other ranks: pairs, counts, notes */
};

/* Collective over comm, which must outlive the exchange. */
void exchange_open(exchange *x, const exchange_form *form, MPI_Comm comm);

/* Send block[d] to rank d. Afterwards received holds what came, until the next
 * call. Returns the sum of note over all ranks; where that is 0 the blocks are
 * expected to be empty everywhere and nothing is received. Collective. */
uint64_t exchange_run(exchange *x, const u64_vec block[], uint64_t note);

void exchange_close(exchange *x);

#endif
