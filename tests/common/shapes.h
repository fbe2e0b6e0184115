/* shapes.h - ways in which P ranks can be spread over nodes. */
#ifndef ROTA_TEST_SHAPES_H
#define ROTA_TEST_SHAPES_H

#include "base/topo.h"

typedef enum shape {
    ONE_NODE,
    NODES_OF_ONE,
    EVEN,        /* in order, a divisor of P to a node */
    ODD_END,     /* in order, the last node is smaller */
    UNEVEN,      /* in order, nodes of 1, 2, 3, ... ranks */
    ROUND_ROBIN, /* over about sqrt(P) nodes */
    SCATTERED,   /* no two nodes and no two neighbours alike */
    N_SHAPES
} shape;

extern const char *const shape_name[N_SHAPES];

/* The topology of a shape, with two domains a node; to be freed. Ends the
 * program if there is no memory. */
rota_topo shape_topo(shape s, int P);

#endif /* ROTA_TEST_SHAPES_H */
