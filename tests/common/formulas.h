/* formulas.h - what one rank's schedule costs, by the definition of its
 * algorithm. Stated here once, for all tests that compare schedules, or what
 * is sent by plans, with it.
 */
#ifndef ROTA_TEST_FORMULAS_H
#define ROTA_TEST_FORMULAS_H

#include "algos/algo.h"

#include <stdint.h>

#define FORMULA_OPEN SIZE_MAX /* the definition does not say */

typedef struct formula_cost {
    size_t messages; /* sent, and handed over where that can be */
    size_t handed;   /* of them */
    size_t rounds;   /* phases that wait for a message */
    size_t blocks;   /* in the messages sent, but for those handed over: a block
                        counts once a hop */
    size_t slots;    /* that the builder numbers */
    size_t scratch;  /* blocks in the scratch of a plan that packs, where all
                        blocks have one size */
} formula_cost;

/* Is there a row for the algorithm? The others may be asked only then. */
bool formula_is_stated(const rota_algo *algo);

/* What rank me does where ranks are spread over nodes as t says. */
formula_cost formula_of(const rota_algo *algo, const rota_topo *t,
                        const rota_params *params, int me);

/* Messages that rank me sends to the ranks of a node. */
size_t formula_to_node(const rota_algo *algo, const rota_topo *t,
                       const rota_params *params, int me, int node);

/* Of the logarithmic exchange among P ranks: blocks that a rank sends, counted
 * once a hop; digits of the largest index. */
size_t formula_hops(int P, int radix);
size_t formula_digits(int P, int radix);

#endif /* ROTA_TEST_FORMULAS_H */
