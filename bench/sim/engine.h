/* engine.h - what an all-to-all takes on a machine, by simulating the schedules of
 * all ranks message by message: no rank is a process, and no data move.
 *
 * A rank goes through its schedule as the executor does. A message leaves when it
 * is posted on both ends, and its receiver has answered if it asks; its ends find it
 * complete when it has arrived. All ranks begin at the same time, unless some are
 * late, and the slowest one counts. Deterministic.
 */
#ifndef BENCH_SIM_ENGINE_H
#define BENCH_SIM_ENGINE_H

#include "sim/machine.h"
#include "sim/traffic.h"

/* How a form of an algorithm differs from a plan by it. */
typedef struct sim_form {
    const char *name; /* NULL: as the algorithm */
    const rota_algo *algo;
    const char *what;       /* one line */
    rota_metadata metadata; /* unless asked otherwise; once: as plans have it */
    int cell;               /* bytes of a size that is told */
    bool heads_apart; /* sizes of a round are exchanged before its blocks */
    bool all_told;    /* also of blocks that go straight */
    bool within_told; /* between nodes none */
    bool reduced;     /* the largest block by an MPI_Allreduce */
    bool scanned;     /* what has come is copied once more at last */
    bool pulled;      /* leaders read members' memory and write to it */
    bool overlapped;  /* and do so node by node */
    bool by_mpi;      /* messages within nodes, too */
} sim_form;

/* Forms that are not just algorithms, last name NULL. */
extern const sim_form sim_forms[];

/* By name, or that of an algorithm as plans run it; parameters as inside_parse
 * has them. Dies if there is none. text is cut up. */
sim_form sim_form_parse(char *text, rota_hints *hints);

/* Who is told what ranks do, as it happens. */
typedef struct sim_watch {
    void *of;
    /* A rank posts its next message to or from peer. */
    void (*posted)(void *of, int rank, rota_dir dir, int peer, double at);
    /* A message that both ends have posted is complete at that time. */
    void (*passed)(void *of, int from, int to, double at);
} sim_watch;

typedef struct sim_case {
    sim_form form;
    rota_hints hints;
    rota_kind kind;
    int P, node; /* node: ranks of one; 0: all */
    bool shared; /* memory within nodes */
    bool known;  /* where counts vary and are known, of blocks that land in the
                    receive buffer their sum is told only, as plans do */
    bool gaps;   /* between the blocks of the user's buffers */
    const dist *dist;       /* NULL: all blocks of the largest size */
    const sim_world *world; /* neighbours, with their sizes; NULL: an
                               all-to-all */
    size_t largest;
    uint64_t seed;
    const sim_watch *watch; /* NULL: nobody is told */
} sim_case;

typedef struct sim_result {
    rota_choice choice;
    double us;       /* until the last rank is through */
    double messages; /* of all ranks, by MPI or shared memory, with those that
                        tell sizes */
    double bytes;    /* in them */
    double copied;   /* bytes copied within ranks */
} sim_result;

/* Dies where memory is short or the case is none. */
sim_result sim_run(const sim_case *c, const sim_machine *m);

/* What no algorithm can go below: all that a node has for another is one message,
 * which leaves at once, and nothing is done besides. Of c no form is looked at. */
sim_result sim_bound(const sim_case *c, const sim_machine *m);

#endif
