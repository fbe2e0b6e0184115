/* mpifh.c - calls of Fortran with Open MPI.
 *
 * Open MPI's functions for Fortran call C functions by their PMPI_ names. So this
 * file replaces the blocking exchanges that have a single datatype, and the beginning
 * and the end: mpi_alltoall_ and its kin for mpif.h and the module mpi,
 * ompi_alltoall_f and its kin behind mpi_f08. All other exchanges are left to MPI, so
 * no request of a Fortran program is ours.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <rota.h>

#include <dlfcn.h>

/* In Fortran, MPI_IN_PLACE and MPI_BOTTOM are variables. */
static void *buffer(void *given)
{
    static void *_Atomic in_place, *_Atomic bottom;

    if (!in_place)
        in_place = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_");
    if (!bottom)
        bottom = dlsym(RTLD_DEFAULT, "mpi_fortran_bottom_");
    if (given && given == in_place)
        return MPI_IN_PLACE;
    return given && given == bottom ? MPI_BOTTOM : given;
}

static void set(MPI_Fint *ierr, int err)
{
    if (ierr)
        *ierr = err;
}

/* mpif: the name for mpif.h, f08: for mpi_f08. */
#define WRAP(mpif, f08, parameters, call)                                      \
    ROTA_API void mpif parameters;                                             \
    ROTA_API void f08 parameters;                                              \
    void mpif parameters                                                       \
    {                                                                          \
        set(ierr, call);                                                       \
    }                                                                          \
    void f08 parameters                                                        \
    {                                                                          \
        set(ierr, call);                                                       \
    }

#define ONE(mpif, f08, mpi)                                                    \
    WRAP(mpif, f08,                                                            \
         (void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype,              \
          void *recvbuf, MPI_Fint *recvcount, MPI_Fint *recvtype,              \
          MPI_Fint *comm, MPI_Fint *ierr),                                     \
         mpi(buffer(sendbuf), *sendcount, PMPI_Type_f2c(*sendtype),            \
             buffer(recvbuf), *recvcount, PMPI_Type_f2c(*recvtype),            \
             PMPI_Comm_f2c(*comm)))

#define V(mpif, f08, mpi)                                                      \
    WRAP(mpif, f08,                                                            \
         (void *sendbuf, MPI_Fint *sendcounts, MPI_Fint *sdispls,              \
          MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcounts,             \
          MPI_Fint *rdispls, MPI_Fint *recvtype, MPI_Fint *comm,               \
          MPI_Fint *ierr),                                                     \
         mpi(buffer(sendbuf), sendcounts, sdispls, PMPI_Type_f2c(*sendtype),   \
             buffer(recvbuf), recvcounts, rdispls, PMPI_Type_f2c(*recvtype),   \
             PMPI_Comm_f2c(*comm)))

WRAP(mpi_init_, ompi_init_f, (MPI_Fint * ierr), MPI_Init(NULL, NULL))
WRAP(mpi_init_thread_, ompi_init_thread_f,
     (MPI_Fint * required, MPI_Fint *provided, MPI_Fint *ierr),
     MPI_Init_thread(NULL, NULL, *required, provided))
WRAP(mpi_finalize_, ompi_finalize_f, (MPI_Fint * ierr), MPI_Finalize())
ONE(mpi_alltoall_, ompi_alltoall_f, MPI_Alltoall)
V(mpi_alltoallv_, ompi_alltoallv_f, MPI_Alltoallv)
ONE(mpi_neighbor_alltoall_, ompi_neighbor_alltoall_f, MPI_Neighbor_alltoall)
V(mpi_neighbor_alltoallv_, ompi_neighbor_alltoallv_f, MPI_Neighbor_alltoallv)

/* MPI_Fint may be of 8 bytes in a build of Open MPI for that. */
_Static_assert(sizeof(MPI_Fint) == sizeof(int),
               "arrays are handed on as they are");
