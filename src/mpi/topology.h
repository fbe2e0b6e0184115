/* topology.h - whom calls among neighbours are among. */
#ifndef ROTA_MPI_TOPOLOGY_H
#define ROTA_MPI_TOPOLOGY_H

#include <mpi.h>

#include <stdbool.h>

/* As one rank sees it. */
typedef struct rota_mpi_topology {
    bool grid; /* of MPI_Cart_create */
    int n_to, n_from;
    int *to, *from; /* [n_to], behind it [n_from]: ranks, or MPI_PROC_NULL */

    /* [n_from] Rota's numbers of receive blocks, or NULL: the same. In
     * MPI_Neighbor_alltoall [1] and in the others [0]. */
    int *slot[2];
} rota_mpi_topology;

/* NULL: there is none. Local. */
rota_mpi_topology *rota_mpi_topology_get(MPI_Comm comm);
rota_mpi_topology *rota_mpi_topology_copy(const rota_mpi_topology *t);
void rota_mpi_topology_free(rota_mpi_topology *t); /* may be NULL */
bool rota_mpi_topology_same(const rota_mpi_topology *a,
                            const rota_mpi_topology *b);

#endif /* ROTA_MPI_TOPOLOGY_H */
