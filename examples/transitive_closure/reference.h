/* reference.h - the transitive closure by other means, to check against. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "graph.h"

/* Number of pairs of the closure, and their pair_set_fingerprint, by a search
 * from every vertex. Local; O(vertices x edges) time. */
void reference_closure(const graph *g, uint64_t *pairs, uint64_t *fingerprint);

#endif
