/* shape.h - what is between the nodes of a machine: which links their messages
 * share. Nodes are taken to be placed in the order of their numbers.
 */
#ifndef ROTA_SHAPE_H
#define ROTA_SHAPE_H

#include <stdbool.h>

typedef enum rota_shape {
    ROTA_SHAPE_FLAT,      /* nothing is known to be shared */
    ROTA_SHAPE_DRAGONFLY, /* groups of nodes, joined all to all */
    ROTA_SHAPE_FATTREE,   /* leaves of nodes below one crossbar */
    ROTA_SHAPE_TORUS,     /* links to both neighbours in each dimension */
    ROTA_N_SHAPES
} rota_shape;

const char *rota_shape_name(rota_shape shape);

enum { ROTA_MOST_DIMS = 6 };

/* Times in nanoseconds. Choosing takes taper and link_byte by path_byte, a price
 * (cost.h). */
typedef struct rota_network {
    bool given; /* is this more than defaults? */
    rota_shape shape;
    int group;        /* nodes of a group or leaf */
    int dims;         /* dimensions of the torus, at most ROTA_MOST_DIMS */
    int ports;        /* of a node, over which its ranks are spread in order */
    int domains;      /* likewise, with memory of their own */
    double far;       /* more latency beyond the group or leaf */
    double taper;     /* the rate from a group or leaf to others, as a part of
                         its ports' */
    double hop;       /* latency of a link of the torus */
    double link_byte; /* its time of a byte */
    double posted_receive; /* to post a receive; below 0: as long as a send */
    double short_bytes;    /* longest message between nodes that is short */
    double past_short;     /* what a longer one takes more to post */
    double past_short_gap; /* how much longer it keeps a port busy */
} rota_network;

/* The group or leaf of a node. */
static inline int rota_network_group(const rota_network *n, int node)
{
    return node / n->group;
}

static inline int rota_network_groups(const rota_network *n, int n_nodes)
{
    return (n_nodes + n->group - 1) / n->group;
}

/* Extents of a torus of n_nodes nodes, as equal as divisors of n_nodes are. */
typedef struct rota_torus {
    int dims;
    int size[ROTA_MOST_DIMS];
} rota_torus;

rota_torus rota_torus_of(const rota_network *n, int n_nodes);

/* Hops of a message, the shorter way round in each dimension. hops:
 * [2 * dims] backwards and forwards in each; both ends are nodes. */
void rota_torus_hops(const rota_torus *t, int from, int to, int hops[]);

#endif /* ROTA_SHAPE_H */
