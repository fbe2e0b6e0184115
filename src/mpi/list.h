/* list.h - the functions of MPI that the drop-in takes the place of:
 *
 *   ROTA_CALLS(name, lower, shape, displ, among)
 *       an exchange: MPI_name, MPI_Ilower and MPI_name_init, and the _c form of
 *       each. Its plans are made by rota_lower_init. shape says what its
 *       arguments look like (wrap.c), displ is the type of a displacement in
 *       the forms without _c, among whether blocks are for RANKS or NEIGHBORS.
 *   ROTA_WRAP(name, parameters, arguments, gate)
 *       MPI_name goes to rota_mpi_name where gate is true, else to PMPI_name.
 *   ROTA_MEET(name, parameters, arguments)
 *       MPI_name is PMPI_name, a blocking collective in which plans for
 *       nonblocking exchanges may be made before.
 *
 * Everything about a wrapper is made from its line, here and nowhere else. Who
 * includes this defines the macros that it needs. Of what this MPI has not, there
 * is nothing: ROTA_MPI_HAS_LARGE says whether it has forms with _c, _PERSISTENT
 * those with _init, _SESSIONS sessions.
 */
#ifndef ROTA_CALLS
#define ROTA_CALLS(name, lower, shape, displ, among)
#endif
#ifndef ROTA_WRAP
#define ROTA_WRAP(name, parameters, arguments, gate)
#endif
#ifndef ROTA_MEET
#define ROTA_MEET(name, parameters, arguments)
#endif

#define ROTA_ONE_(count)                                                       \
    const void *sendbuf, count sendcount, MPI_Datatype sendtype,               \
        void *recvbuf, count recvcount, MPI_Datatype recvtype, MPI_Comm comm
#define ROTA_REDUCE_(count)                                                    \
    const void *sendbuf, void *recvbuf, count n, MPI_Datatype datatype,        \
        MPI_Op op, MPI_Comm comm
#define ROTA_ARRAY_ int n, MPI_Request requests[]
#define ROTA_INDICES_ int *outcount, int indices[], MPI_Status statuses[]

/* Exchanges. */
ROTA_CALLS(Alltoall, alltoall, ONE, int, RANKS)
ROTA_CALLS(Alltoallv, alltoallv, V, int, RANKS)
ROTA_CALLS(Alltoallw, alltoallw, W, int, RANKS)
ROTA_CALLS(Neighbor_alltoall, neighbor_alltoall, ONE, int, NEIGHBORS)
ROTA_CALLS(Neighbor_alltoallv, neighbor_alltoallv, V, int, NEIGHBORS)
ROTA_CALLS(Neighbor_alltoallw, neighbor_alltoallw, W, MPI_Aint, NEIGHBORS)

/* Requests: without any of ours there is nothing to look for. */
ROTA_WRAP(Start, (MPI_Request * request), (request), rota_mpi_any_request())
ROTA_WRAP(Startall, (ROTA_ARRAY_), (n, requests), rota_mpi_any_request())
ROTA_WRAP(Wait, (MPI_Request * request, MPI_Status *status), (request, status),
          rota_mpi_any_request())
ROTA_WRAP(Waitall, (ROTA_ARRAY_, MPI_Status statuses[]),
          (n, requests, statuses), rota_mpi_any_request())
ROTA_WRAP(Waitany, (ROTA_ARRAY_, int *index, MPI_Status *status),
          (n, requests, index, status), rota_mpi_any_request())
ROTA_WRAP(Waitsome, (ROTA_ARRAY_, ROTA_INDICES_),
          (n, requests, outcount, indices, statuses), rota_mpi_any_request())
ROTA_WRAP(Test, (MPI_Request * request, int *flag, MPI_Status *status),
          (request, flag, status), rota_mpi_any_request())
ROTA_WRAP(Testall, (ROTA_ARRAY_, int *flag, MPI_Status statuses[]),
          (n, requests, flag, statuses), rota_mpi_any_request())
ROTA_WRAP(Testany, (ROTA_ARRAY_, int *index, int *flag, MPI_Status *status),
          (n, requests, index, flag, status), rota_mpi_any_request())
ROTA_WRAP(Testsome, (ROTA_ARRAY_, ROTA_INDICES_),
          (n, requests, outcount, indices, statuses), rota_mpi_any_request())
ROTA_WRAP(Request_free, (MPI_Request * request), (request),
          rota_mpi_any_request())
ROTA_WRAP(Request_get_status,
          (MPI_Request request, int *flag, MPI_Status *status),
          (request, flag, status), rota_mpi_any_request())
ROTA_WRAP(Cancel, (MPI_Request * request), (request), rota_mpi_any_request())

/* The rest. */
ROTA_WRAP(Init, (int *argc, char ***argv), (argc, argv), true)
ROTA_WRAP(Init_thread, (int *argc, char ***argv, int required, int *provided),
          (argc, argv, required, provided), true)
ROTA_WRAP(Error_class, (int code, int *errorclass), (code, errorclass), true)
ROTA_WRAP(Finalize, (void), (), true)
#if ROTA_MPI_HAS_SESSIONS
ROTA_WRAP(Session_finalize, (MPI_Session * session), (session), true)
#endif

/* Collectives in which MPI lets ranks wait for each other. */
ROTA_MEET(Barrier, (MPI_Comm comm), (comm))
ROTA_MEET(Allreduce, (ROTA_REDUCE_(int)),
          (sendbuf, recvbuf, n, datatype, op, comm))
ROTA_MEET(Allgather, (ROTA_ONE_(int)),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
#if ROTA_MPI_HAS_LARGE
ROTA_MEET(Allreduce_c, (ROTA_REDUCE_(MPI_Count)),
          (sendbuf, recvbuf, n, datatype, op, comm))
ROTA_MEET(Allgather_c, (ROTA_ONE_(MPI_Count)),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
#endif

#undef ROTA_ONE_
#undef ROTA_REDUCE_
#undef ROTA_ARRAY_
#undef ROTA_INDICES_
#undef ROTA_CALLS
#undef ROTA_WRAP
#undef ROTA_MEET
