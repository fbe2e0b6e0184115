/* list.h - the functions of MPI that the drop-in takes the place of, and what runs
 * for each: what is made for every one of them is made from these lines.
 *
 *   ROTA_CALL(call, among, shape, displ, MPI's functions: blocking, nonblocking,
 *             persistent; Rota's for a plan)
 *       an exchange; call, among: calls.h. shape says what its arguments look
 *       like (wrap.c), displ is the type of a displacement.
 *   ROTA_CALL_C(call, among, shape, the same functions)
 *       the same with large counts and displacements.
 *   ROTA_REQUEST(MPI's function, ours, parameters, arguments)
 *       ours runs while there are requests of ours, else MPI's own.
 *   ROTA_WRAP(the same)
 *       ours runs.
 *
 * Who includes this defines the macros that it needs; MPI's own function is P##mpi.
 * ROTA_MPI_HAS_LARGE says
 * whether this MPI has the functions of ROTA_CALL_C, _PERSISTENT those with _init,
 * _SESSIONS sessions.
 */
#ifndef ROTA_CALL
#define ROTA_CALL(...)
#endif
#ifndef ROTA_CALL_C
#define ROTA_CALL_C(...)
#endif
#ifndef ROTA_REQUEST
#define ROTA_REQUEST(...)
#endif
#ifndef ROTA_WRAP
#define ROTA_WRAP(...)
#endif

#define ROTA_ARRAY_ int n, MPI_Request requests[]
#define ROTA_INDICES_ int *outcount, int indices[], MPI_Status statuses[]

/* Exchanges. */
ROTA_CALL(ROTA_MPI_ALLTOALL, ROTA_MPI_RANKS, ONE, int, MPI_Alltoall,
          MPI_Ialltoall, MPI_Alltoall_init, rota_alltoall_init)
ROTA_CALL(ROTA_MPI_ALLTOALLV, ROTA_MPI_RANKS, V, int, MPI_Alltoallv,
          MPI_Ialltoallv, MPI_Alltoallv_init, rota_alltoallv_init)
ROTA_CALL(ROTA_MPI_ALLTOALLW, ROTA_MPI_RANKS, W, int, MPI_Alltoallw,
          MPI_Ialltoallw, MPI_Alltoallw_init, rota_alltoallw_init)
ROTA_CALL(ROTA_MPI_NEIGHBOR_ALLTOALL, ROTA_MPI_NEIGHBORS, ONE, int,
          MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall,
          MPI_Neighbor_alltoall_init, rota_neighbor_alltoall_init)
ROTA_CALL(ROTA_MPI_NEIGHBOR_ALLTOALLV, ROTA_MPI_NEIGHBORS, V, int,
          MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv,
          MPI_Neighbor_alltoallv_init, rota_neighbor_alltoallv_init)
ROTA_CALL(ROTA_MPI_NEIGHBOR_ALLTOALLW, ROTA_MPI_NEIGHBORS, W, MPI_Aint,
          MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw,
          MPI_Neighbor_alltoallw_init, rota_neighbor_alltoallw_init)
ROTA_CALL_C(ROTA_MPI_ALLTOALL, ROTA_MPI_RANKS, ONE, MPI_Alltoall_c,
            MPI_Ialltoall_c, MPI_Alltoall_init_c, rota_alltoall_init_c)
ROTA_CALL_C(ROTA_MPI_ALLTOALLV, ROTA_MPI_RANKS, V, MPI_Alltoallv_c,
            MPI_Ialltoallv_c, MPI_Alltoallv_init_c, rota_alltoallv_init_c)
ROTA_CALL_C(ROTA_MPI_ALLTOALLW, ROTA_MPI_RANKS, W, MPI_Alltoallw_c,
            MPI_Ialltoallw_c, MPI_Alltoallw_init_c, rota_alltoallw_init_c)
ROTA_CALL_C(ROTA_MPI_NEIGHBOR_ALLTOALL, ROTA_MPI_NEIGHBORS, ONE,
            MPI_Neighbor_alltoall_c, MPI_Ineighbor_alltoall_c,
            MPI_Neighbor_alltoall_init_c, rota_neighbor_alltoall_init_c)
ROTA_CALL_C(ROTA_MPI_NEIGHBOR_ALLTOALLV, ROTA_MPI_NEIGHBORS, V,
            MPI_Neighbor_alltoallv_c, MPI_Ineighbor_alltoallv_c,
            MPI_Neighbor_alltoallv_init_c, rota_neighbor_alltoallv_init_c)
ROTA_CALL_C(ROTA_MPI_NEIGHBOR_ALLTOALLW, ROTA_MPI_NEIGHBORS, W,
            MPI_Neighbor_alltoallw_c, MPI_Ineighbor_alltoallw_c,
            MPI_Neighbor_alltoallw_init_c, rota_neighbor_alltoallw_init_c)

/* Requests. */
ROTA_REQUEST(MPI_Start, rota_mpi_start, (MPI_Request * request), (request))
ROTA_REQUEST(MPI_Startall, rota_mpi_startall, (ROTA_ARRAY_), (n, requests))
ROTA_REQUEST(MPI_Wait, rota_mpi_wait,
             (MPI_Request * request, MPI_Status *status), (request, status))
ROTA_REQUEST(MPI_Waitall, rota_mpi_waitall,
             (ROTA_ARRAY_, MPI_Status statuses[]), (n, requests, statuses))
ROTA_REQUEST(MPI_Waitany, rota_mpi_waitany,
             (ROTA_ARRAY_, int *index, MPI_Status *status),
             (n, requests, index, status))
ROTA_REQUEST(MPI_Waitsome, rota_mpi_waitsome, (ROTA_ARRAY_, ROTA_INDICES_),
             (n, requests, outcount, indices, statuses))
ROTA_REQUEST(MPI_Test, rota_mpi_test,
             (MPI_Request * request, int *flag, MPI_Status *status),
             (request, flag, status))
ROTA_REQUEST(MPI_Testall, rota_mpi_testall,
             (ROTA_ARRAY_, int *flag, MPI_Status statuses[]),
             (n, requests, flag, statuses))
ROTA_REQUEST(MPI_Testany, rota_mpi_testany,
             (ROTA_ARRAY_, int *index, int *flag, MPI_Status *status),
             (n, requests, index, flag, status))
ROTA_REQUEST(MPI_Testsome, rota_mpi_testsome, (ROTA_ARRAY_, ROTA_INDICES_),
             (n, requests, outcount, indices, statuses))
ROTA_REQUEST(MPI_Request_free, rota_mpi_request_free, (MPI_Request * request),
             (request))
ROTA_REQUEST(MPI_Request_get_status, rota_mpi_request_get_status,
             (MPI_Request request, int *flag, MPI_Status *status),
             (request, flag, status))
ROTA_REQUEST(MPI_Cancel, rota_mpi_cancel, (MPI_Request * request), (request))

/* The rest. */
ROTA_WRAP(MPI_Init, rota_mpi_init, (int *argc, char ***argv), (argc, argv))
ROTA_WRAP(MPI_Init_thread, rota_mpi_init_thread,
          (int *argc, char ***argv, int required, int *provided),
          (argc, argv, required, provided))
ROTA_WRAP(MPI_Error_class, rota_mpi_error_class, (int code, int *errorclass),
          (code, errorclass))
ROTA_WRAP(MPI_Alloc_mem, rota_mpi_alloc_mem,
          (MPI_Aint size, MPI_Info info, void *baseptr), (size, info, baseptr))
ROTA_WRAP(MPI_Free_mem, rota_mpi_free_mem, (void *base), (base))
ROTA_WRAP(MPI_Finalize, rota_mpi_finalize, (void), ())
#if ROTA_MPI_HAS_SESSIONS
ROTA_WRAP(MPI_Session_finalize, rota_mpi_session_finalize,
          (MPI_Session * session), (session))
#endif

#undef ROTA_ARRAY_
#undef ROTA_INDICES_
#undef ROTA_CALL
#undef ROTA_CALL_C
#undef ROTA_REQUEST
#undef ROTA_WRAP
