/* comm.h - what all plans on one communicator share, an attribute of the user's
 * communicator. */
#ifndef ROTA_COMM_H
#define ROTA_COMM_H

#include "base/neighbors.h"
#include "base/topo.h"
#include "choose/learnt.h"
#include "exec/transport/node.h"

/* Plans with a native phase need a communicator each while they live, because
 * two collectives started in different orders on one would be mixed up. MPICH
 * has about 2,000 communicators in all. */
enum { ROTA_MAX_NATIVE = 64 };

typedef struct rota_comm {
    MPI_Comm user;   /* for its error handler only */
    bool user_alive; /* not freed by the user yet */
    MPI_Comm dup;    /* carries all messages; errors are returned */
    int refs;        /* the attribute and every plan; under a lock, with ids
                        and native_used */
    int P, me;
    int cores;       /* of the node that has fewest */
    bool crowded;    /* more ranks than cores on this rank's node */
    rota_topo topo;  /* as it is: what ranks of a node can do is up to it */
    rota_node *node; /* NULL: there is no shared memory; node_why says why */
    bool node_tried;
    char node_why[ROTA_ERR_TEXT];
    bool has_thread; /* the progress thread is held for its plans */
    int next_id;     /* of a plan */
    int max_id;
    struct rota_id *live_ids; /* uthash, of plans that live on this rank */
    MPI_Comm native[ROTA_MAX_NATIVE]; /* made when first needed */
    uint64_t native_used;     /* bit i: a plan of this rank has native[i] */
    rota_learnt learnt;       /* about choosing */
    rota_neighbors neighbors; /* of its process topology, if has_neighbors */
    bool has_neighbors;
} rota_comm;

/* Find or make the state of a communicator. Collective when it is made; active
 * plans advance meanwhile. */
int rota_comm_get(MPI_Comm user, rota_comm **c);
/* Find it; NULL if it has not been made. Local. */
int rota_comm_find(MPI_Comm user, rota_comm **c);
void rota_comm_retain(rota_comm *c);
void rota_comm_release(rota_comm *c);

/* Ranks of a node for each of its cores, at least 1. */
static inline double rota_comm_load(const rota_comm *c)
{
    const double load = (double)rota_topo_largest_node(&c->topo) / c->cores;

    return load > 1 ? load : 1;
}

/* The plan's id: proposed by all ranks alike, refused by those on which a
 * plan that has not been freed yet holds it. Its messages have the tags from
 * ROTA_TAGS id on. Local. */
bool rota_comm_id_taken(rota_comm *c, int id);
int rota_comm_id_take(rota_comm *c, int id);
void rota_comm_id_drop(rota_comm *c, int id);
static inline int rota_comm_id_after(const rota_comm *c, int id)
{
    return id == c->max_id ? 1 : id + 1; /* 0 is for agreement */
}

/* See that there is a progress thread while c is there. False: the system gives
 * none. Local. */
bool rota_comm_hold_thread(rota_comm *c);

void rota_comm_native_drop(rota_comm *c, int i);

/* Take native communicator i. Collective if it has not been made yet; then a
 * failure is agreed on. */
int rota_comm_native(rota_comm *c, int i, MPI_Comm *native);

#endif /* ROTA_COMM_H */
