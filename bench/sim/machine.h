/* machine.h - a machine on which schedules are simulated: what messages and
 * copies take, and what they wait for.
 *
 * A message takes the latency of its path and the longest it waits, its own time
 * included, at one of the queues that it passes: the port of a node each way, the
 * links between, or the memory of the node. A queue serves at its rate and
 * remembers until when it is busy. Prices are those of a tuning file:
 *
 *     net_per_phase      latency between nodes
 *     net_per_message    gap of a port for each message, and per_byte
 *     p2p_per_phase      latency of a message by MPI within the node
 *     p2p_per_message    gap of the node's memory for each, and per_byte
 *     domain_per_...     messages through shared memory: latency, and time of
 *                        the sender
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
} sim_machine;

/* From a tuning file, or "usual" for the prices that a plan has without one.
 * Dies if that cannot be had. */
sim_machine sim_machine_read(const char *path);

/* Its queues, for n_nodes nodes. */
typedef struct sim_wires {
    const sim_machine *m;
    int n_nodes, n_groups;
    rota_torus torus;
    double *out, *in; /* [n_nodes * ports] until when each is busy */
    double *memory;   /* [n_nodes * domains] likewise */
    double *link;     /* between groups, of leaves or of the torus */
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

/* When so many bytes have been copied by one rank from now on. */
double sim_wires_copy(sim_wires *w, sim_place at, double now, double bytes);

#endif
