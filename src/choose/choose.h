/* choose.h - how an algorithm is used: parameters, and how sizes travel. */
#ifndef ROTA_CHOOSE_H
#define ROTA_CHOOSE_H

#include "choose/hints.h"

int rota_usual_radix(int P); /* about sqrt(P): two phases */

/* The largest radix that makes a difference: how many ranks there are, members
 * of a node, or nodes. */
int rota_largest_radix(const rota_algo *algo, const rota_topo *topo);

/* What a plan is to be made for, the same on all ranks. */
typedef struct rota_plan_kind {
    const rota_topo *topo;
    bool neighbors; /* not an all-to-all */
    rota_kind kind;
    size_t max_block;
    bool native_free; /* a collective of MPI's can be had */
    bool ipc;         /* blocks can go from device to device */
} rota_plan_kind;

/* "multi_pair:batch=32", as far as there is room. */
void rota_choice_name(const rota_choice *choice, char *text, size_t size);

/* All that hints say of an algorithm, hints->algo, and what is usual for the
 * rest. Fails if it is not for this kind of plan. */
int rota_choose(const rota_hints *hints, const rota_plan_kind *what,
                rota_choice *choice);

#endif /* ROTA_CHOOSE_H */
