/* choose.h - how an algorithm is used: its parameters, and how sizes travel. */
#ifndef ROTA_CHOOSE_H
#define ROTA_CHOOSE_H

#include "choose/hints.h"

int rota_params_usual_radix(int P); /* about sqrt(P), for two phases */

/* The largest radix that makes a difference: the number of ranks, of members of
 * a node, or of nodes. */
int rota_params_largest_radix(const rota_algo *algo, const rota_topo *topo);

/* What a plan is made for; the same on all ranks. */
typedef struct rota_plan_kind {
    const rota_topo *topo;
    bool neighbors; /* an exchange among neighbours */
    rota_kind kind;
    size_t max_block;
    bool native_free; /* a native communicator is available */
    bool ipc;         /* blocks can go from device to device */
} rota_plan_kind;

/* Write a name such as "multi_pair:batch=32", with the way of blocks on a device if
 * it was decided, cut to size bytes. */
void rota_choice_name(const rota_choice *choice, char *text, size_t size);

/* Complete a choice: what hints say about hints->algo, and defaults for the
 * rest. Fails if the algorithm is not for this kind of plan. */
int rota_choose(const rota_hints *hints, const rota_plan_kind *what,
                rota_choice *choice);

#endif /* ROTA_CHOOSE_H */
