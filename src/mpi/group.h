/* group.h - processes that call together: what is known of their calls, and their
 * plans for blocking ones.
 *
 * Programs make a communicator, exchange on it once and free it again. So all
 * communicators of the same processes in the same order share a group, and plans are
 * made on a communicator of ours. No group is forgotten before MPI_Finalize, since
 * ranks would have to forget alike. A group takes 600 bytes, and for each size that
 * it exchanges 260 or, if there has been a plan, 1,500 beside the plan.
 *
 * Blocking calls must come in one order on all ranks of a group. They do where one
 * thread at a time calls MPI, since any of them may wait for all ranks; under
 * MPI_THREAD_MULTIPLE every communicator is a group of its own.
 *
 * The same processes have a group for each process topology. No rank alone can tell
 * which of these groups a communicator belongs to. So ranks agree on it in the
 * communicator's first blocking call, if there is such a group already.
 */
#ifndef ROTA_MPI_GROUP_H
#define ROTA_MPI_GROUP_H

#include "mpi/recent.h"
#include "mpi/run.h"
#include "mpi/same.h"
#include "mpi/topology.h"
#include "mpi/worth.h"

#include <stdint.h>
#include <uthash.h>

/* Blocking calls of one sort. */
typedef struct rota_mpi_usage {
    rota_mpi_tally tally;
    rota_mpi_worth worth;
    rota_mpi_run *run;      /* by this, or NULL */
    rota_mpi_same *same;    /* or by this, or NULL */
    rota_mpi_repeat repeat; /* the last one by run */
} rota_mpi_usage;

/* SIZES: of a group; beyond, the one that was exchanged longest ago is forgotten,
 * with its plan. TOPOLOGIES: of the same processes; beyond, the oldest is
 * forgotten. */
enum { ROTA_MPI_SIZES = 32, ROTA_MPI_TOPOLOGIES = 16 };

/* Which processes, in which order: two hashes of their ranks in
 * MPI_COMM_WORLD. */
typedef struct rota_mpi_members {
    uint64_t hash[2];
    uint64_t P;
} rota_mpi_members;

/* Written by group.c. */
typedef struct rota_mpi_group rota_mpi_group;
struct rota_mpi_group {
    int P;
    bool shared; /* by communicators, and in the table */
    rota_mpi_members key;
    UT_hash_handle hh;
    MPI_Comm comm;  /* ours, for plans; MPI_COMM_NULL before the first */
    bool adopted;   /* comm is Rota's to use: there are plans, or were */
    bool has_place; /* of those that may have plans */
    rota_mpi_usage
        *size[ROTA_MPI_SIZES]; /* of calls with one, the last first */
    int n_sizes;
    rota_mpi_tally *last;                  /* of size[0], or NULL */
    rota_mpi_usage *other[ROTA_MPI_CALLS]; /* or NULL */
    rota_mpi_group
        *with[ROTA_MPI_TOPOLOGIES]; /* groups of neighbours, or NULL */
    long n_with;                    /* that there have been */

    /* Of neighbours. */
    rota_mpi_topology *topology; /* else NULL */
    rota_mpi_group *whole;       /* the same processes without a topology */
    int users;                   /* communicators that have it */
};

/* After MPI_Init, collective over MPI_COMM_WORLD. */
void rota_mpi_group_begin(void);
void rota_mpi_group_end(void);

/* The group that a communicator shares with others; NULL: it shares none. The
 * communicator keeps it as an attribute, and so do its duplicates. Local. */
rota_mpi_group *rota_mpi_group_of(MPI_Comm comm);

/* The group of an intra-communicator of P ranks, for as long as that lives.
 * Local. */
rota_mpi_group *rota_mpi_group_get(MPI_Comm comm, int P);

/* The group of those processes with the topology of the communicator, likewise.
 * Collective if they have had another before. */
rota_mpi_group *rota_mpi_group_with(rota_mpi_group *group, MPI_Comm comm,
                                    const rota_mpi_topology *topology);
void rota_mpi_group_leave(rota_mpi_group *group);

/* What is known of these calls; NULL: nothing, they are MPI's. Local. */
rota_mpi_usage *rota_mpi_group_usage(rota_mpi_group *group,
                                     const rota_mpi_args *args);

/* Is there room here for plans of this group? Local. */
bool rota_mpi_group_has_room(const rota_mpi_group *group);

/* What a call exchanges, as ranks have agreed. */
typedef struct rota_mpi_sample {
    bool plain;   /* elements are bytes, end to end */
    double bytes; /* that a rank sends, on average */
} rota_mpi_sample;

/* Make the plan for calls like this one, on a communicator of the group's own.
 * Collective; fails on all ranks or none. And free it. Local. */
int rota_mpi_group_make(rota_mpi_group *group, rota_mpi_usage *u,
                        const rota_mpi_args *args,
                        const rota_mpi_sample *sample);
void rota_mpi_usage_drop(rota_mpi_usage *u);

#endif /* ROTA_MPI_GROUP_H */
