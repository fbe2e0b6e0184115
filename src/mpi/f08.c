/* f08.c - calls of Fortran's module mpi_f08.
 *
 * MPICH's mpi_f08 takes functions with buffers to the names that programs
 * call, and those without, such as MPI_Start and MPI_Wait, straight to PMPI. A
 * request made here would be lost on the latter, so calls that make one are
 * marked on their way and passed on. mpif.h and the module mpi need none of
 * this.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "mpi/shim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local bool inside;

bool rota_mpi_in_f08(void)
{
    return inside;
}

/* Arguments come by reference: buffers and arrays as descriptors. */
typedef void marked(void *, void *, void *, void *, void *, void *, void *,
                    void *, void *, void *, void *, void *);

static marked *original(const char *name)
{
    void *const found = dlsym(RTLD_NEXT, name);

    if (!found) {
        fprintf(stderr, "rota_mpi: no %s in MPI's Fortran library\n", name);
        PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    /* POSIX lets a data pointer of dlsym be a function's. */
    union {
        void *data;
        marked *function;
    } const cast = {.data = found};
    return cast.function;
}

/* The last parameters of MPI_Ialltoallv are request and ierror, and nothing;
 * of MPI_Alltoallv_init info, request and ierror. An argument too many does no
 * harm in the calling conventions that MPICH is built for. */
#define ROTA_F08(name)                                                         \
    ROTA_API marked name;                                                      \
    void name(void *sendbuf, void *sendcounts, void *sdispls, void *sendtype,  \
              void *recvbuf, void *recvcounts, void *rdispls, void *recvtype,  \
              void *comm, void *a, void *b, void *c)                           \
    {                                                                          \
        marked *const call = original(#name);                                  \
        inside = true;                                                         \
        call(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,      \
             rdispls, recvtype, comm, a, b, c);                                \
        inside = false;                                                        \
    }

ROTA_F08(mpi_alltoallv_init_f08ts_)
ROTA_F08(mpi_alltoallv_init_f08ts_large_)
ROTA_F08(mpi_ialltoallv_f08ts_)
ROTA_F08(mpi_ialltoallv_f08ts_large_)
