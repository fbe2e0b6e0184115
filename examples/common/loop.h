/* loop.h - fixed-point loops: what they share and what they cost.
 *
 * Every iteration makes facts, sends them to the ranks that own them in one
 * exchange, and drops what is known there. What is new, the delta, goes into
 * the next iteration; the loop ends where it is empty on all ranks. */
#ifndef LOOP_H
#define LOOP_H

#include "exchange.h"

#include <stdio.h>

typedef struct {
    uint64_t delta;   /* facts that this iteration worked on, on all ranks */
    uint64_t bytes;   /* sent to other ranks, on all ranks */
    uint64_t largest; /* block sent to another rank, in bytes, on any rank */
    double total_s, exchange_s; /* each the greatest over the ranks */
} loop_step;

/* The same on all ranks, but for what the steps say of other ranks. */
typedef struct {
    const exchange_form *form;
    uint64_t iterations, facts, bytes;
    uint64_t fingerprint; /* of the facts: the sum of that of the ranks */
    uint64_t fullest;     /* facts of the rank that has most */
    /* Each the greatest over the ranks; total_s has the other two in it.
     * Set-up is what a form does once: make plans. */
    double total_s, setup_s, exchange_s;
    loop_step *steps; /* [iterations] right on rank 0; the caller frees */
} loop_result;

typedef struct {
    exchange x;
    uint64_t facts;  /* on all ranks, up to the current delta */
    loop_step *step; /* [n_steps] with this rank's own figures */
    size_t n_steps, capacity;
    loop_step now; /* the iteration under way */
    double began, step_began, reported;
    int progress;
} loop;

/* Begin, and measure from here. With progress, rank 0 reports on stderr now and
 * then. Collective; blocks. */
void loop_open(loop *l, const exchange_form *form, MPI_Comm comm, int progress);

/* An iteration: call the first before the facts are made, the second to send
 * them, with the number of facts in this rank's delta, and the third when those
 * that came are dealt with. The second returns 0 if the delta was empty on all
 * ranks; then the loop is over. What came is in l->x. */
void loop_step_begin(loop *l);
int loop_exchange(loop *l, const u64_vec block[], uint64_t delta);
void loop_step_end(loop *l);

/* End it: facts and fingerprint are this rank's own. Collective; blocks. */
void loop_close(loop *l, uint64_t facts, uint64_t fingerprint, loop_result *r);

/* ---- Results, on rank 0 ---- */

/* The figures of all results as a table, first what the loops have in common;
 * what is "pairs" or another word for facts. */
void loop_print(int n, const loop_result result[], const char *what);

/* Write and close file, one line an iteration of each result; 0, or EXIT_WRONG
 * after saying why. path is for errors. */
int loop_write_csv(FILE *file, const char *path, int n,
                   const loop_result result[], const char *what);

/* Say that what found other facts than the loop, if it did; returns EXIT_WRONG
 * then, else 0. */
int loop_differs(const loop_result *r, const char *what, uint64_t facts,
                 uint64_t fingerprint);

/* As loop_differs for all results against the first. */
int loop_results_differ(int n, const loop_result result[]);

/* Peak of memory on the ranks, as a line. Collective. */
void loop_print_memory(MPI_Comm comm);

/* 1234567 as "1,234,567"; the text lives until the next call but three. */
const char *grouped(uint64_t n);

#endif
