/* balance.h - keep the pairs of a closure evenly spread. */
#ifndef BALANCE_H
#define BALANCE_H

#include "exchange.h"
#include "partition.h"

/* If a rank has far more pairs than the mean, split the vertices that make them
 * many, and move their pairs and edges: known and p are changed on all ranks.
 * Call it when x has nothing to send. Collective; one exchange if there is
 * nothing to do. */
void balance(partition *p, pair_set *known, exchange *x);

#endif
