/* machine.h - a machine on which schedules are simulated: what messages and
 * copies take, and what they wait for.
 *
 * A message takes the latency of its path and the longest it waits, its own time
 * included, at one of the queues that it passes: the port of a node each way, the
 * links between, or the memory of the node. A queue serves at its rate and
 * remembers until when it is busy. All that is copied from rank to rank within a
 * node takes the memory of the node, whoever copies it: messages by MPI and through
 * shared memory, and what leaders gather and scatter. What a rank copies within its
 * own memory takes only its own time. Prices are those of a tuning file:
 *
 *     net_per_phase      latency between nodes
 *     net_per_message    gap of a port for each message, and per_byte
 *     p2p_per_phase      latency of a message by MPI within the node
 *     p2p_per_message    gap of the node's memory for each message of any kind but
 *                        flags, and per_byte for each byte copied
 *     domain_per_...     messages through shared memory: latency, and time of
 *                        the sender and of the receiver
 *     posted             a message posted, of its rank's time
 *     copied_block, copied_byte
 *
 * A member "network" of "machine" says what is between the ports:
 *
 *     "shape"   "flat": nothing; "dragonfly": groups of "group" nodes, joined
 *               all to all; "fattree": leaves of "group" nodes; "torus": links
 *               to both neighbours in each of "dims" (3) dimensions
 *     "far"     nanoseconds more beyond the group or leaf
 *     "taper"   (0.5) of the rates of its ports a group or leaf has to others
 *     "hop"     nanoseconds of each link of a torus
 *     "link_byte"        of them for each byte
 *     "posted_receive"   for a receive in the place of posted
 *     "short"   bytes that a message between nodes may have, and
 *     "past_short"       nanoseconds that posting a longer one takes besides,
 *     "past_short_gap"   and those that it keeps a port busy besides
 *     "ports"   (1) of a node, each with a queue: its ranks are spread over
 *               them in order
 *     "domains" (1) of a node, each with memory of its own: its ranks are spread
 *               over them in order, and what leaders copy takes that of theirs
 */
#ifndef BENCH_SIM_MACHINE_H
#define BENCH_SIM_MACHINE_H

#include "common/inside.h"

#include <stdbool.h>

typedef struct sim_machine {
    rota_machine prices; /* nanoseconds */
    rota_network net;    /* of them; posted_receive is never below 0 */
    int cores;     /* that the ranks of all nodes share; 0: each has its own */
    double late;   /* ranks begin up to so many nanoseconds late */
    double asking; /* between nodes longer messages ask first; 0: none does */
    double eager;  /* a message by MPI of at most so many bytes does not wait
                     for its receiver, who copies it if it was there first */
    double match; /* nanoseconds in which MPI compares a message with another */
    double noise; /* posting a message by MPI takes so many longer on average,
                     drawn for each from the seed of the sizes */
} sim_machine;

/* From a tuning file, or "usual" for the prices that a plan has without one.
 * Dies if that cannot be had. */
sim_machine sim_machine_read(const char *path);

/* Other prices: "NAME=NS,...", names as in the file. Dies if there is no such. */
void sim_machine_change(sim_machine *m, const char *changes);

/* When a memory, or the cores that all ranks share, are busy: in stretches in order;
 * before them all the time. */
typedef struct sim_stretch {
    double from, until;
} sim_stretch;

typedef struct sim_memory {
    sim_stretch *busy; /* [room], of which first to end - 1 are in use */
    size_t first, end, room;
    double closed; /* no stretch begins before */
} sim_memory;

/* Its queues, for n_nodes nodes. */
typedef struct sim_wires {
    const sim_machine *m;
    int n_nodes, n_groups;
    rota_torus torus;
    double *out, *in;   /* [n_nodes * ports] until when each is busy */
    double *link;       /* between groups, of leaves or of the torus */
    sim_memory *memory; /* [n_memories], n_nodes * domains; last: cores */
    size_t n_memories;
    double clock; /* nothing is asked for before; the simulation moves it on */
} sim_wires;

void sim_wires_init(sim_wires *w, const sim_machine *m, int n_nodes);
void sim_wires_free(sim_wires *w);

/* Where a rank is. */
typedef struct sim_place {
    int node, port, domain;
} sim_place;

/* Leaders that are spread over a node have ports of their own. */
sim_place sim_place_of(const sim_machine *m, const rota_topo *t, int r);

/* When a message by MPI has arrived that leaves now. */
double sim_wires_send(sim_wires *w, sim_place from, sim_place to, double now,
                      double bytes);

/* What one rank does: its own time in nanoseconds, and what it takes of the memory
 * of its node. */
typedef struct sim_work {
    double ns;
    double bytes; /* copied from or to other ranks of the node */
    bool message; /* to one of them */
} sim_work;

/* When it is done that begins now. Calls need not be in order of time. */
double sim_wires_work(sim_wires *w, sim_place at, double now, sim_work work);

#endif
