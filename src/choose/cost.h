/* cost.h - what a run of a schedule is expected to take.
 *
 * Phase by phase, a schedule is counted in terms: messages and bytes by the
 * link that they take, blocks and bytes that are copied. A machine has a price
 * for each term. A phase takes its latency and, since processors, memory, ports
 * and paths between nodes work at the same time, as long as the one of them
 * that has most to do: LogGP, with gaps of what ranks share.
 */
#ifndef ROTA_COST_H
#define ROTA_COST_H

#include "base/topo.h"
#include "schedule/schedule.h"

/* How a message travels. */
typedef enum rota_link {
    ROTA_LINK_DOMAIN,      /* shared memory, same NUMA domain */
    ROTA_LINK_NODE,        /* shared memory, another domain of the node */
    ROTA_LINK_P2P,         /* by MPI, in the node */
    ROTA_LINK_NET,         /* by MPI, between nodes */
    ROTA_LINK_NATIVE_NODE, /* in a collective of MPI's, in the node */
    ROTA_LINK_NATIVE_NET,  /* in a collective of MPI's, between nodes */
    ROTA_N_LINKS
} rota_link;

/* What is counted for a link. */
typedef enum rota_per_link {
    ROTA_PER_PHASE, /* a phase, or batch of a window, whose slowest link it is:
                       latency */
    ROTA_PER_MESSAGE,
    ROTA_PER_BYTE,
    ROTA_PER_LONG_MESSAGE, /* those of more than ROTA_LONG bytes, */
    ROTA_PER_LONG_BYTE,    /* which are not in the two before */
    ROTA_N_PER_LINK
} rota_per_link;

enum { ROTA_LONG = 32768 };

/* Terms: those of links, rota_term(link, what), and these. */
enum {
    ROTA_TERM_START = ROTA_N_LINKS * ROTA_N_PER_LINK, /* a run */
    ROTA_TERM_POSTED,        /* a message by MPI, in either direction */
    ROTA_TERM_COPIED_BLOCK,  /* packed, unpacked or copied in the rank */
    ROTA_TERM_COPIED_BYTE,   /* likewise */
    ROTA_TERM_PATH_BYTE,     /* on the paths between nodes that have most */
    ROTA_TERM_SWITCH,        /* a phase, for each rank more than cores */
    ROTA_TERM_SWITCH_MPI,    /* a phase with messages by MPI, likewise */
    ROTA_TERM_SWITCH_NATIVE, /* a phase that is MPI's collective, likewise */
    ROTA_TERM_DEVICE_COPY,   /* from device to device, by the receiver's */
    ROTA_TERM_DEVICE_BYTE,   /* likewise */
    ROTA_TERM_STAGED_SIDE,   /* a side's blocks down to the host, or up */
    ROTA_TERM_STAGED_BYTE,   /* likewise */
    ROTA_N_TERMS
};

static inline int rota_term(rota_link link, rota_per_link what)
{
    return (int)link * ROTA_N_PER_LINK + (int)what;
}

/* "net_per_byte", "copied_byte", ... */
const char *rota_term_name(int term);

typedef struct rota_machine {
    double ns[ROTA_N_TERMS]; /* nanoseconds for one of each term, never < 0 */
} rota_machine;

/* For a machine that nobody has calibrated. */
extern const rota_machine rota_machine_usual;

/* How often each term occurs in a step of one rank's schedule: a phase or,
 * where there are ROTA_STEPS phases or more, several in a row. */
enum { ROTA_STEPS = 8 };
typedef struct rota_terms {
    double n[ROTA_N_TERMS];
} rota_terms;

typedef struct rota_run_kind {
    const rota_topo *topo;
    rota_metadata metadata;
    bool known;  /* metadata is not once: of blocks that a rank keeps, their
                       sum is told only */
    int leaders; /* not 0: so many ranks of a node send to different nodes all
                       that it has for them; else all ranks do alike */
    bool shared; /* shared memory carries messages within nodes */
    double load; /* ranks of a node for each of its cores, at least 1 */
    double density; /* part of the blocks in transit that have any bytes; 1
                       where that is known of each */
} rota_run_kind;

/* bytes: [n_blocks], expected ones where they are not known. Fails for want of
 * memory only. */
int rota_cost_count(const rota_sched *s, const double bytes[],
                    const rota_run_kind *how, rota_terms step[ROTA_STEPS]);

/* What a term takes up: nothing but time, this rank's processor, or what the
 * ranks of a node share. Of that a rank counts as much as all ranks of its node
 * would take that have as much to do. */
typedef enum rota_part {
    ROTA_PART_WAIT,   /* latencies */
    ROTA_PART_BUSY,   /* the processor: copies, messages */
    ROTA_PART_MEMORY, /* through which MPI moves bytes in the node */
    ROTA_PART_PORT,   /* of the node to others */
    ROTA_PART_PATH,   /* from node to node */
    ROTA_N_PARTS
} rota_part;

rota_part rota_part_of(int term);

/* Of several ranks, the largest counts of what each has to itself, the mean of
 * what they share. */
static inline bool rota_part_is_own(rota_part part)
{
    return part <= ROTA_PART_BUSY;
}

/* Nanoseconds. */
typedef struct rota_cost {
    double ns[ROTA_STEPS][ROTA_N_PARTS];
} rota_cost;

/* Of one rank. */
rota_cost rota_cost_of(const rota_machine *machine,
                       const rota_terms step[ROTA_STEPS]);

static inline double rota_larger(double a, double b)
{
    return a > b ? a : b;
}

/* Add a rank to others, none at first. */
void rota_cost_add(rota_cost *all, const rota_cost *rank);

/* What takes longest in a step of n ranks, which were added up, besides
 * waiting. */
rota_part rota_cost_longest(const double ns[ROTA_N_PARTS], int n);

/* Nanoseconds that a run takes of n ranks, which were added up. */
double rota_cost_ns(const rota_cost *all, int n);

#endif /* ROTA_COST_H */
