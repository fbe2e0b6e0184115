/* comm.h - what all plans on a user communicator share; an attribute of it. */
#ifndef ROTA_COMM_H
#define ROTA_COMM_H

#include "base/neighbors.h"
#include "base/topo.h"
#include "choose/learnt.h"
#include "exec/exec.h"
#include "exec/memory/node.h"
#include "exec/memory/roster.h"

/* While it lives, a plan with a native phase needs its own communicator: on a
 * shared one, two collectives started in different orders would be mixed up.
 * MPICH has about 2,000 communicators in all. */
enum { ROTA_MAX_NATIVE = 64 };

typedef struct rota_comm {
    MPI_Comm user;   /* only for its error handler */
    bool user_alive; /* the user has not freed it */
    MPI_Comm dup;    /* carries all messages; returns errors */
    bool adopted;    /* dup is user, which only Rota uses */
    int refs;        /* of the attribute and all plans; under a lock, as are the
                        ids and native_used */
    int P, me;
    int cores;           /* cores of the node that has the fewest */
    bool crowded;        /* this rank's node has more ranks than cores */
    rota_topo topo;      /* the real topology, even if plans pretend another */
    rota_node *node;     /* NULL: no shared memory, and node_why says why */
    rota_roster *roster; /* its processes, or NULL */
    bool node_tried;
    bool attaching_asked; /* see attaching.h */
    char node_why[ROTA_ERR_TEXT];
    int device_sharers; /* most ranks that share a device by time; 1: none do; 0:
                           no plan has had blocks on a device */
    bool has_thread;    /* plans hold the progress thread */
    int next_id;        /* for the next plan */
    int max_id;
    int *ids; /* [n_ids] of plans that this rank has, in any order */
    int n_ids;
    size_t ids_room;                  /* bytes */
    MPI_Comm native[ROTA_MAX_NATIVE]; /* each made when first needed */
    uint64_t native_used;     /* bit i: a plan of this rank uses native[i] */
    rota_learnt learnt;       /* tuning and decisions */
    rota_neighbors neighbors; /* of its process topology, if has_neighbors */
    bool has_neighbors;
} rota_comm;

/* Find or make the state of a communicator. Collective if it is made; active
 * plans advance meanwhile. */
int rota_comm_get(MPI_Comm user, rota_comm **c);
/* Find it; *c is NULL if it has not been made. Local. */
int rota_comm_find(MPI_Comm user, rota_comm **c);
/* A step in which this rank waits for a message of that one. */
static inline rota_meeting rota_comm_meeting(const rota_comm *c,
                                             const char *step, int rank)
{
    return (rota_meeting){.step = step,
                          .P = c->P,
                          .me = c->me,
                          .rank = rank,
                          .mates = c->node,
                          .roster = c->roster};
}

void rota_comm_retain(rota_comm *c);
void rota_comm_release(rota_comm *c);

/* Ranks per core, on average over a node; at least 1. */
static inline double rota_comm_load(const rota_comm *c)
{
    const double load = (double)rota_topo_largest_node(&c->topo) / c->cores;

    return load > 1 ? load : 1;
}

/* Claim an id for a plan. All ranks propose the same; a rank refuses it if a
 * plan there that has not been freed holds it. Messages of the plan have the
 * tags from ROTA_TAGS id on. Local. */
bool rota_comm_id_taken(rota_comm *c, int id);
int rota_comm_id_take(rota_comm *c, int id);
void rota_comm_id_drop(rota_comm *c, int id);
static inline int rota_comm_id_after(const rota_comm *c, int id)
{
    return id == c->max_id ? 1 : id + 1; /* id 0 is for agreement */
}

/* Has MPI_Finalize been called, with a communicator known before? */
bool rota_comm_is_over(void);

/* Keep a progress thread while c lives. Returns false if the system gives none.
 * Local. */
bool rota_comm_hold_thread(rota_comm *c);

void rota_comm_native_drop(rota_comm *c, int i);

/* Get native communicator i. Collective if it must be made; then the ranks
 * agree on a failure. */
int rota_comm_native(rota_comm *c, int i, MPI_Comm *native);

#endif /* ROTA_COMM_H */
