/* joins.h - what new facts give when they are joined with those of their address
 * (analysis.h). */
#ifndef JOINS_H
#define JOINS_H

#include "facts.h"
#include "program.h"

/* Values of 64 bits in a fact about p. */
size_t analysis_width(const program *p);

/* The fact that lambda l is entered in env [n_env]. */
void state_fact(const program *p, int l, const uint64_t env[], uint64_t *fact);

/* The contours that a lambda written in the body of l captures from env. */
void capture(const program *p, int l, const uint64_t env[], int inner,
             uint64_t *to);

typedef struct {
    const program *p;
    fact_set *facts;
    size_t width;
    uint64_t *fresh; /* [width] the fact being made */
    void (*found)(void *to, const uint64_t *fact); /* adds none to facts */
    void *to;
} joins;

void joins_make(joins *a, const program *p, fact_set *facts,
                void (*found)(void *to, const uint64_t *fact), void *to);
void joins_free(joins *a);

/* Join fact i with those before it, and have each fact that this gives, known or
 * not, found. */
void join_new(joins *a, size_t i);

#endif
