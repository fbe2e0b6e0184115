/* cost.h - how long a run of a schedule is expected to take.
 *
 * A schedule is counted phase by phase, in terms: messages and bytes by the
 * link that they use, blocks and bytes that are copied. A machine has a price
 * for each term. A phase takes its latency plus the time of its busiest part,
 * since processors, memory, ports and paths between nodes work at the same
 * time. This is LogGP, with gaps of what ranks share.
 */
#ifndef ROTA_COST_H
#define ROTA_COST_H

#include "base/topo.h"
#include "choose/shape.h"
#include "schedule/schedule.h"

/* How a message travels. */
typedef enum rota_link {
    ROTA_LINK_DOMAIN,      /* shared memory, same NUMA domain */
    ROTA_LINK_NODE,        /* shared memory, another domain of the node */
    ROTA_LINK_P2P,         /* by MPI, within the node */
    ROTA_LINK_NET,         /* by MPI, between nodes */
    ROTA_LINK_NATIVE_NODE, /* in MPI's own all-to-all, within the node */
    ROTA_LINK_NATIVE_NET,  /* in MPI's own all-to-all, between nodes */
    ROTA_N_LINKS
} rota_link;

/* What is counted for a link. */
typedef enum rota_per_link {
    ROTA_PER_PHASE, /* latency: phases, or batches of a window, in which it is
                       the slowest link */
    ROTA_PER_MESSAGE,
    ROTA_PER_BYTE,
    ROTA_PER_LONG_MESSAGE, /* messages of more than ROTA_LONG bytes, */
    ROTA_PER_LONG_BYTE,    /* which the two before leave out */
    ROTA_N_PER_LINK
} rota_per_link;

enum { ROTA_LONG = 16384 };

/* The terms of links, rota_term(link, what), come first; then these. */
enum {
    ROTA_TERM_START = ROTA_N_LINKS * ROTA_N_PER_LINK, /* a run */
    ROTA_TERM_POSTED,        /* a message by MPI, sent or received */
    ROTA_TERM_COPIED_BLOCK,  /* a block packed, unpacked or copied here */
    ROTA_TERM_COPIED_BYTE,   /* a byte of these */
    ROTA_TERM_PATH_BYTE,     /* a byte on the busiest path between nodes */
    ROTA_TERM_SWITCH,        /* a phase, for each rank beyond one per core */
    ROTA_TERM_SWITCH_MPI,    /* the same, if MPI carries messages */
    ROTA_TERM_SWITCH_NATIVE, /* the same, if it is MPI's all-to-all */
    ROTA_TERM_DEVICE_COPY,   /* a copy from device to device, by the receiver */
    ROTA_TERM_DEVICE_BYTE,   /* a byte of these */
    ROTA_TERM_STAGED_SIDE,   /* a side's blocks down to the host, or up */
    ROTA_TERM_STAGED_BYTE,   /* a byte of these */
    ROTA_N_PRICES,
    /* Nanoseconds that a network's description says, whose price is 1: */
    ROTA_TERM_NETWORK_WAIT = ROTA_N_PRICES, /* latency */
    ROTA_TERM_NETWORK_BUSY,                 /* of the processor */
    ROTA_TERM_NETWORK_PORT,                 /* of the node's port */
    ROTA_TERM_NETWORK_FIRST, /* of the processor, before it sends anything */
    /* Those of ROTA_LINK_DOMAIN and ROTA_LINK_NODE again, with the same prices:
       of messages that are sent after those to other nodes, or that only say
       that blocks lie ready, and of all latencies. */
    ROTA_TERM_MEANWHILE,
    ROTA_N_TERMS = ROTA_TERM_MEANWHILE + 2 * ROTA_N_PER_LINK
};

static inline int rota_term(rota_link link, rota_per_link what)
{
    return (int)link * ROTA_N_PER_LINK + (int)what;
}

/* The term whose price a term has: mostly itself. */
static inline int rota_term_priced_as(int term)
{
    return term >= ROTA_TERM_MEANWHILE ? term - ROTA_TERM_MEANWHILE : term;
}

/* The name of a term that has a price of its own: "net_per_byte", "copied_byte",
 * ... */
const char *rota_term_name(int term);

typedef struct rota_machine {
    double ns[ROTA_N_TERMS]; /* nanoseconds of a term that has a price */
    bool native;             /* are there prices of MPI's own all-to-all? */
    rota_network network;
} rota_machine;

/* Estimates for a machine that nobody has calibrated. */
extern const rota_machine rota_machine_usual;

/* How often each term occurs in a step of a rank's schedule. A step is a phase or,
 * beyond ROTA_STEPS - 2 phases, several in a row. More steps are no nearer to what a
 * simulation takes, in which ranks that are early begin the next phase. */
enum { ROTA_STEPS = 8 };
typedef struct rota_terms {
    double n[ROTA_N_TERMS];
} rota_terms;

/* How often anything occurs that has the price of a term. */
static inline double rota_terms_priced(const rota_terms *terms, int term)
{
    const int meanwhile = ROTA_TERM_MEANWHILE + term;

    return terms->n[term] +
           (meanwhile < ROTA_N_TERMS ? terms->n[meanwhile] : 0);
}

typedef struct rota_run_kind {
    const rota_topo *topo;
    const rota_network *network; /* NULL: flat */
    bool
        native; /* MPI's own all-to-all has prices; else it counts as the messages
                    that it sends */
    rota_metadata metadata;
    bool known;  /* metadata is not once: only the sum of the blocks that a rank
                    keeps is told */
    int leaders; /* ranks of a node that send for all others, each to some of
                    the nodes; 0: all ranks send alike */
    bool shared; /* shared memory carries messages within nodes */
    double load; /* ranks per core of a node, at least 1 */
    bool exact;  /* bytes of user blocks are this run's, not expected */
    double density; /* share of the blocks of expected size that have bytes */
} rota_run_kind;

/* Count the terms of a run. bytes: [n_blocks], expected ones if unknown. Fails
 * only for want of memory. */
int rota_cost_count(const rota_sched *s, const double bytes[],
                    const rota_run_kind *how, rota_terms step[ROTA_STEPS]);

/* What a term keeps busy: nothing, this rank's processor, or something that the
 * ranks of a node share. For the last, a rank counts as much time as all ranks
 * of its node would take together if each had as much to do. */
typedef enum rota_part {
    ROTA_PART_WAIT,      /* nothing: latencies */
    ROTA_PART_FAR,       /* nothing: latencies between nodes */
    ROTA_PART_BUSY,      /* the processor: copies and messages */
    ROTA_PART_MEANWHILE, /* the processor, once all for other nodes is sent */
    ROTA_PART_TURNS, /* nothing, until other ranks of the core let this one run */
    ROTA_PART_CORES, /* the node's processors: what BUSY counts, of all ranks */
    ROTA_PART_CORES_MEANWHILE, /* the same of MEANWHILE */
    ROTA_PART_MEMORY, /* memory through which MPI moves bytes within the node */
    ROTA_PART_PORT,   /* the node's port to others */
    ROTA_PART_PATH,   /* the path from node to node */
    ROTA_N_PARTS
} rota_part;

/* The part that a term belongs to. What is BUSY also keeps CORES busy, and what is
 * MEANWHILE keeps CORES_MEANWHILE busy. */
rota_part rota_part_of(int term);

/* Does each rank have one of its own? Then the largest of several ranks' times
 * counts; of what ranks share, the mean. */
static inline bool rota_part_is_own(rota_part part)
{
    return part <= ROTA_PART_MEANWHILE;
}

/* Nanoseconds. */
typedef struct rota_cost {
    double ns[ROTA_STEPS][ROTA_N_PARTS];
} rota_cost;

/* The cost of one rank; load: ranks per core, at least 1. */
rota_cost rota_cost_of(const rota_machine *machine, double load,
                       const rota_terms step[ROTA_STEPS]);

static inline double rota_larger(double a, double b)
{
    return a > b ? a : b;
}

/* Add a rank to the sum of others, which starts as zeros. */
void rota_cost_add(rota_cost *all, const rota_cost *rank);

/* The parts of a step that one after another take longest, apart from waits and
 * turns: bits 1 << part. ns: the sums over n ranks. Latency between nodes comes after
 * what the processor, the port or the path does, but not after what goes on within
 * the node meanwhile. */
unsigned rota_cost_longest(const double ns[ROTA_N_PARTS], int n);

/* Bytes up to which a block had better share a message with many others. It is
 * then copied three times more, but no message is posted, sent between nodes
 * and received for it alone. */
size_t rota_cost_bundle(const rota_machine *machine);

/* Nanoseconds that a run of n ranks takes, whose costs were added up. */
double rota_cost_ns(const rota_cost *all, int n);

#endif /* ROTA_COST_H */
