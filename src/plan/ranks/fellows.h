/* fellows.h - which processes of this node take part, before they share memory. */
#ifndef ROTA_FELLOWS_H
#define ROTA_FELLOWS_H

#include "base/topo.h"
#include "exec/memory/roster.h"

#include <mpi.h>

/* What each rank tells the others of its process. */
typedef struct rota_process {
    uint64_t host;  /* the same on all processes of a node, and on no other */
    uint64_t space; /* in which the pid counts; 0: not known */
    int32_t pid;
    int32_t cores;     /* of its node, or of a machine that hwloc is told of */
    int32_t n_domains; /* likewise */
    int32_t domain;    /* that it is bound to, or -1 */
    int32_t elsewhere; /* hwloc is told of another machine */
    int16_t ready;     /* 0: the rank has failed, or what it told was lost */
    int16_t tuned;     /* there may be a file of tuning; of rank 0 */
} rota_process;

/* Fills in host, space and pid. */
rota_process rota_process_self(void);

/* An empty roster with room for this many; NULL without memory. Local. */
rota_roster *rota_fellows_make(int most);

/* Enter the other ranks on this node whose pids count here. Local. */
void rota_fellows_enter(rota_roster *roster, const rota_topo *topo, int me,
                        const rota_process all[]);

/* Those ranks of comm that were on a roster before; NULL: none, or no memory.
 * Local. */
rota_roster *rota_fellows_recall(MPI_Comm comm);

/* From now on, they are recalled. Local. */
void rota_fellows_remember(MPI_Comm comm, const rota_roster *roster);

/* to[i]: the rank in b of rank from[i] in a, or MPI_UNDEFINED. Returns whether
 * MPI tells. Local. */
bool rota_fellows_translate(MPI_Comm a, int n, const int from[], MPI_Comm b,
                            int to[]);

#endif /* ROTA_FELLOWS_H */
