/* awarempi.c - an MPI that takes memory of the device of standin.c.
 *
 * A program that links this with --wrap for the functions below has an MPI that
 * looks at the true places of buffers, and says so in either way that MPIs have.
 * Memory of the device that anything but MPI touches still faults.
 */
#include "standin.h"

#include <mpi.h>

int __wrap_MPIX_GPU_query_support(int type, int *takes);
int __wrap_MPIX_GPU_query_support(int type, int *takes)
{
    (void)type;
    *takes = 1;
    return MPI_SUCCESS;
}

int __wrap_MPIX_Query_cuda_support(void);
int __wrap_MPIX_Query_cuda_support(void)
{
    return 1;
}

/* A message's function, with constant in front of data that are sent. */
#define MESSAGE(name, constant, count_type)                                    \
    int __real_##name(constant void *data, count_type n, MPI_Datatype type,    \
                      int peer, int tag, MPI_Comm comm, MPI_Request *request); \
    int __wrap_##name(constant void *data, count_type n, MPI_Datatype type,    \
                      int peer, int tag, MPI_Comm comm, MPI_Request *request); \
    int __wrap_##name(constant void *data, count_type n, MPI_Datatype type,    \
                      int peer, int tag, MPI_Comm comm, MPI_Request *request)  \
    {                                                                          \
        return __real_##name(standin_place(data, 0), n, type, peer, tag, comm, \
                             request);                                         \
    }

MESSAGE(MPI_Isend, const, int)
MESSAGE(MPI_Irecv, , int)
MESSAGE(MPI_Send_init, const, int)
MESSAGE(MPI_Recv_init, , int)
#if MPI_VERSION >= 4
MESSAGE(MPI_Isend_c, const, MPI_Count)
MESSAGE(MPI_Irecv_c, , MPI_Count)
MESSAGE(MPI_Send_init_c, const, MPI_Count)
MESSAGE(MPI_Recv_init_c, , MPI_Count)
#endif

int __real_MPI_Ialltoallv(const void *from, const int *scounts,
                          const int *sdispls, MPI_Datatype stype, void *to,
                          const int *rcounts, const int *rdispls,
                          MPI_Datatype rtype, MPI_Comm comm,
                          MPI_Request *request);
int __wrap_MPI_Ialltoallv(const void *from, const int *scounts,
                          const int *sdispls, MPI_Datatype stype, void *to,
                          const int *rcounts, const int *rdispls,
                          MPI_Datatype rtype, MPI_Comm comm,
                          MPI_Request *request);
int __wrap_MPI_Ialltoallv(const void *from, const int *scounts,
                          const int *sdispls, MPI_Datatype stype, void *to,
                          const int *rcounts, const int *rdispls,
                          MPI_Datatype rtype, MPI_Comm comm,
                          MPI_Request *request)
{
    return __real_MPI_Ialltoallv(standin_place(from, 0), scounts, sdispls,
                                 stype, standin_place(to, 0), rcounts, rdispls,
                                 rtype, comm, request);
}
