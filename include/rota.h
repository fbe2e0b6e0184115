/* rota.h - plan an all-to-all once, run it thousands of times.
 *
 * A plan holds everything about a non-uniform all-to-all that does not change
 * from one execution to the next: counts, buffers, the chosen algorithm and its
 * schedule, scratch memory and persistent requests. Executing a plan allocates
 * nothing, looks nothing up, and sends only what the schedule says.
 *
 * These rules hold for every function:
 *
 *   Errors. A function returns MPI_SUCCESS or an MPI error code. It first
 *   raises the error through the error handler of the communicator that was
 *   passed or that the plan was made on. If there is none or it has been freed,
 *   the handler of MPI_COMM_SELF is used (of MPI_COMM_WORLD before MPI 4).
 *   MPI_Error_string returns a text that names the function, the argument, its
 *   value and the rank; the rank is left out for NULL handles and for errors
 *   that all ranks find alike. The text lasts until eight more errors of the
 *   same class have occurred. rota_error_class returns the class. Output
 *   arguments are set only on success, and after those errors whose description
 *   says so. After MPI has failed in a message of a plan, the plan can only be
 *   freed.
 *
 *   A library that was built for MPICH cannot work in a program that runs under
 *   Open MPI, nor the other way round: handles differ. The first function that is
 *   passed a communicator then says so on standard error and ends the process.
 *
 *   Agreement. All ranks of the communicator must call a collective function,
 *   in the same order. If one rank finds an error in its arguments, the ranks
 *   agree on it: every rank returns an error of the same class, and no plan is
 *   made. They cannot agree if the communicator is invalid on one rank only:
 *   that rank returns and the others wait, as in MPI.
 *
 *   Progress. Plans advance only inside Rota calls. rota_test and rota_wait, on
 *   any plan, and the functions that make plans advance every active plan of
 *   the process. MPI calls do not, but for those on a request of
 *   rota_start_request. If one rank waits in MPI for another that waits for it in
 *   Rota, both wait for ever. The hint rota_progress lifts this rule for some
 *   plans.
 *
 *   Waiting. A waiting rank polls briefly and then gives up the processor, so
 *   that ranks do not starve each other when there are more ranks than cores.
 *   It yields as long as all ranks of the node yield and yielding is fast;
 *   otherwise it sleeps until it is woken. If nothing has advanced for
 *   ROTA_STALL_S seconds (an environment variable; default 60, 0 means never),
 *   and again after as many, one of the waiting ranks of each host reports it on
 *   standard error: the plan, algorithm and phase, or the step of a collective
 *   function, the ranks it waits for, and whether those of its own node are asleep
 *   in a Rota wait, are elsewhere, or have died.
 *
 *   Failures. If the process of a rank of the node is killed, waits and tests
 *   of the communicator's plans fail within seconds, with MPI_ERR_OTHER and the
 *   rank in the text. This includes plans whose messages MPI carries, provided
 *   that the two ranks share node memory through any plan on the communicator.
 *   Such a plan can only be freed. On the ranks of that node, collective
 *   functions on the communicator then fail likewise. So does making the first
 *   plan on a communicator, if both ranks have made a plan before, or if the
 *   rank dies after Rota has found out which ranks share a node. Otherwise
 *   ranks wait for the dead rank, as MPI does. For ranks of other nodes Rota
 *   knows only what MPI reports.
 *
 *   Threads. Only one thread at a time may use a plan, but for its parts. Under
 *   MPI_THREAD_MULTIPLE different threads may use different plans; under lower
 *   levels Rota calls count as MPI calls.
 *
 *   Order. Plans may be started in any order, the order may differ among ranks,
 *   and any number of plans may be in flight on one communicator. As in MPI,
 *   once one rank has started a plan all ranks must start it (see the hint
 *   rota_starts for those without partners).
 *
 *   Memory. Either buffer may be in host memory or, in a process that uses CUDA
 *   when the plan is made, in device memory (see rota_plan_set_stream and the
 *   hint rota_device).
 *
 * A plan is inactive when it is made. It is active from a start until the wait
 * or test that completes it, and then inactive again. While a plan is active,
 * do not write its send buffer and do not touch its receive buffer.
 */
#ifndef ROTA_H
#define ROTA_H

/* MPI's old C++ interface is in a library of its own, which Rota does not need. */
#ifdef __cplusplus
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#endif

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define ROTA_VERSION_MAJOR 1
#define ROTA_VERSION_MINOR 0
#define ROTA_VERSION_PATCH 0
/* 0x00MMmmpp. rota_version returns the same for the library in use. */
#define ROTA_VERSION_NUMBER                                                    \
    ((ROTA_VERSION_MAJOR << 16) | (ROTA_VERSION_MINOR << 8) |                  \
     ROTA_VERSION_PATCH)

#if defined(ROTA_BUILDING_SHARED) || defined(__GNUC__)
#define ROTA_API __attribute__((visibility("default")))
#else
#define ROTA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A plan. The rota_..._init functions make plans; rota_plan_free frees them. */
typedef struct rota_plan rota_plan;

/* Value of max_block for varying plans and exchanges without a known bound. */
#define ROTA_UNBOUNDED SIZE_MAX

/* Formats of rota_plan_describe. */
enum { ROTA_DESCRIBE_TEXT = 0, ROTA_DESCRIBE_JSON = 1 };

/* -------------------------------------------------------------------------
 * Making plans: fixed counts
 * ---------------------------------------------------------------------- */

/* Plan an all-to-all with fixed counts and buffers. Arguments and meaning are
 * those of MPI_Alltoallv_init.
 *
 * sendbuf     start of the send buffer, or MPI_IN_PLACE on all ranks. Its
 *             contents may change between starts, its address only through
 *             rota_plan_set_buffers. May be NULL if nothing is sent
 * sendcounts  [P] elements of sendtype for each rank; 0 sends no message
 * sdispls     [P] displacements from sendbuf, in extents of sendtype
 * sendtype    committed datatype. Its signature times sendcounts[d] must equal
 *             the signature that rank d expects; the type maps may differ
 * recvbuf     start of the receive buffer
 * recvcounts  [P], rdispls [P], recvtype: likewise. No byte may belong to two
 *             receive blocks, or to a receive block and a send block
 * comm        intra-communicator of P ranks; may be freed after the call
 * info        hints (see "Hints" below), or MPI_INFO_NULL
 * plan        set to the new plan, which is inactive
 *
 * Rota copies counts and displacements and keeps what it needs of the types:
 * you may reuse the arrays and free the types as soon as the call returns. With
 * MPI_IN_PLACE, sendcounts, sdispls and sendtype are ignored.
 *
 * Collective over comm; blocks. Cost: O(log P) small messages to agree, and as
 * many to check counts across ranks (the hint rota_check switches the check
 * off). Memory is O(P) for direct algorithms and O(P log P) for logarithmic
 * ones. The first plan on a communicator duplicates it.
 *
 * Errors: MPI_ERR_COMM for a null communicator or an inter-communicator;
 * MPI_ERR_ARG for NULL arrays or plan, for receive blocks that overlap, for an
 * unknown hint or value, for a rota_device that the algorithm, types or kind of
 * plan rule out, and if ranks disagree on hints or on the kind of plan;
 * MPI_ERR_COUNT for a negative count, for a pair of ranks whose counts do not
 * match, and for sizes beyond the address space (displacements of blocks with
 * count 0 are not checked); MPI_ERR_BUFFER for a NULL buffer with data in it,
 * for a send block and a receive block that overlap, and for MPI_IN_PLACE as
 * recvbuf; MPI_ERR_TYPE for a null or uncommitted type; MPI_ERR_NO_MEM;
 * MPI_ERR_OTHER before MPI_Init (with a text if comm comes from a session) and
 * after MPI_Finalize, if rota_device asks for cuda_ipc and ranks cannot open
 * each other's memory, and if too many plans use a collective of MPI's (see
 * rota_algorithm). */
ROTA_API int rota_alltoallv_init(const void *sendbuf, const int sendcounts[],
                                 const int sdispls[], MPI_Datatype sendtype,
                                 void *recvbuf, const int recvcounts[],
                                 const int rdispls[], MPI_Datatype recvtype,
                                 MPI_Comm comm, MPI_Info info,
                                 rota_plan **plan);

/* As rota_alltoallv_init, for counts and displacements beyond 2^31. */
ROTA_API int
rota_alltoallv_init_c(const void *sendbuf, const MPI_Count sendcounts[],
                      const MPI_Aint sdispls[], MPI_Datatype sendtype,
                      void *recvbuf, const MPI_Count recvcounts[],
                      const MPI_Aint rdispls[], MPI_Datatype recvtype,
                      MPI_Comm comm, MPI_Info info, rota_plan **plan);

/* Plan an all-to-all with the same count for all pairs. Arguments and meaning
 * are those of MPI_Alltoall_init. Everything else is as for
 * rota_alltoallv_init. */
ROTA_API int rota_alltoall_init(const void *sendbuf, int sendcount,
                                MPI_Datatype sendtype, void *recvbuf,
                                int recvcount, MPI_Datatype recvtype,
                                MPI_Comm comm, MPI_Info info, rota_plan **plan);

/* As rota_alltoall_init, for counts beyond 2^31. */
ROTA_API int rota_alltoall_init_c(const void *sendbuf, MPI_Count sendcount,
                                  MPI_Datatype sendtype, void *recvbuf,
                                  MPI_Count recvcount, MPI_Datatype recvtype,
                                  MPI_Comm comm, MPI_Info info,
                                  rota_plan **plan);

/* Plan an all-to-all in which each block has its own datatype. Arguments and
 * meaning are those of MPI_Alltoallw_init.
 *
 * sendbuf, sendcounts  as for rota_alltoallv_init, in elements of each block's
 *            type
 * sdispls    [P] displacements from sendbuf, in bytes
 * sendtypes  [P] committed datatypes; if the count is 0, any handle will do
 * recvbuf, recvcounts [P], rdispls [P], recvtypes [P]  likewise
 * comm, info, plan  as for rota_alltoallv_init
 *
 * You may reuse the arrays and free the types as soon as the call returns. With
 * MPI_IN_PLACE, sendcounts, sdispls and sendtypes are ignored. A buffer may be
 * MPI_BOTTOM if types or displacements contain addresses. A type that several
 * blocks use is stored once.
 *
 * All ranks of comm must call this function; none may call rota_alltoallv_init
 * instead. Collective over comm; blocks. Cost: as rota_alltoallv_init, plus one
 * inspection of each type. Errors: as rota_alltoallv_init. */
ROTA_API int rota_alltoallw_init(const void *sendbuf, const int sendcounts[],
                                 const int sdispls[],
                                 const MPI_Datatype sendtypes[], void *recvbuf,
                                 const int recvcounts[], const int rdispls[],
                                 const MPI_Datatype recvtypes[], MPI_Comm comm,
                                 MPI_Info info, rota_plan **plan);

/* As rota_alltoallw_init, for counts and displacements beyond 2^31. */
ROTA_API int
rota_alltoallw_init_c(const void *sendbuf, const MPI_Count sendcounts[],
                      const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                      void *recvbuf, const MPI_Count recvcounts[],
                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                      MPI_Comm comm, MPI_Info info, rota_plan **plan);

/* -------------------------------------------------------------------------
 * Making plans: neighbours
 *
 * These plans exchange blocks among the neighbours of a process topology: a
 * distributed graph (MPI_Dist_graph_create_adjacent, MPI_Dist_graph_create), a
 * graph (MPI_Graph_create) or a Cartesian grid (MPI_Cart_create). A rank sends
 * one block to each of its S destinations and receives one from each of its R
 * sources, in the order in which MPI's inquiry functions list them. In a grid
 * of n dimensions S = R = 2n; neighbours 2d and 2d + 1 are those below and
 * above along dimension d.
 *
 * A rank may be listed several times, and may be its own neighbour. If several
 * blocks go from one rank to another, the first in the list of destinations is
 * the first in the list of sources. In a grid, a block that goes down a
 * dimension arrives from above, even if the dimension has only one or two
 * ranks. At the edge of a grid there is no neighbour (MPI_PROC_NULL): its
 * blocks are neither sent nor touched, whatever their counts.
 *
 * Nothing in such a plan grows with the number of ranks. Making one takes
 * O(log P) small messages to agree, besides those among neighbours.
 * ---------------------------------------------------------------------- */

/* Plan an exchange among neighbours with fixed counts and buffers. Arguments
 * and meaning are those of MPI_Neighbor_alltoallv_init.
 *
 * sendbuf     start of the send buffer. Its blocks may overlap, and its address
 *             may change through rota_plan_set_buffers. May be NULL if nothing
 *             is sent. MPI_IN_PLACE is not allowed
 * sendcounts  [S] elements of sendtype for each destination
 * sdispls     [S] displacements from sendbuf, in extents of sendtype
 * recvcounts  [R], rdispls [R], recvtype: likewise, for each source
 * comm        intra-communicator with a process topology; may be freed after
 *             the call
 * sendtype, recvbuf, info, plan  as for rota_alltoallv_init
 *
 * Collective over comm; blocks. Cost: O(log P) small messages to agree and,
 * unless rota_check is off, to check counts. Memory is O(S + R); if the ranks
 * of a node combine their messages to other nodes, it is O(S + R) summed over
 * the node.
 *
 * Errors: as rota_alltoallv_init; MPI_ERR_TOPOLOGY for a communicator without a
 * process topology, and if a rank lists another as its destination more often,
 * or less often, than that rank lists it as a source; MPI_ERR_BUFFER also for
 * MPI_IN_PLACE. */
ROTA_API int
rota_neighbor_alltoallv_init(const void *sendbuf, const int sendcounts[],
                             const int sdispls[], MPI_Datatype sendtype,
                             void *recvbuf, const int recvcounts[],
                             const int rdispls[], MPI_Datatype recvtype,
                             MPI_Comm comm, MPI_Info info, rota_plan **plan);

/* As rota_neighbor_alltoallv_init, for counts and displacements beyond 2^31. */
ROTA_API int rota_neighbor_alltoallv_init_c(
    const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
    MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
    const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
    MPI_Info info, rota_plan **plan);

/* Plan an exchange among neighbours with a datatype for each block. Arguments
 * and meaning are those of MPI_Neighbor_alltoallw_init: sendtypes [S] and
 * recvtypes [R], and displacements in bytes, of type MPI_Aint in both forms.
 * Types of blocks without elements are not inspected. Everything else is as for
 * rota_neighbor_alltoallv_init. */
ROTA_API int rota_neighbor_alltoallw_init(
    const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
    const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
    MPI_Info info, rota_plan **plan);

/* As rota_neighbor_alltoallw_init, for counts beyond 2^31. */
ROTA_API int rota_neighbor_alltoallw_init_c(
    const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
    const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],
    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
    MPI_Info info, rota_plan **plan);

/* Plan an exchange among neighbours with the same count for all. Arguments and
 * meaning are those of MPI_Neighbor_alltoall_init. Everything else is as for
 * rota_neighbor_alltoallv_init. */
ROTA_API int rota_neighbor_alltoall_init(const void *sendbuf, int sendcount,
                                         MPI_Datatype sendtype, void *recvbuf,
                                         int recvcount, MPI_Datatype recvtype,
                                         MPI_Comm comm, MPI_Info info,
                                         rota_plan **plan);

/* As rota_neighbor_alltoall_init, for counts beyond 2^31. */
ROTA_API int rota_neighbor_alltoall_init_c(const void *sendbuf,
                                           MPI_Count sendcount,
                                           MPI_Datatype sendtype, void *recvbuf,
                                           MPI_Count recvcount,
                                           MPI_Datatype recvtype, MPI_Comm comm,
                                           MPI_Info info, rota_plan **plan);

/* -------------------------------------------------------------------------
 * Making plans: the same routes backwards
 * ---------------------------------------------------------------------- */

/* Plan the exchange of another plan backwards: what that receives is sent to where
 * it came from, and arrives where that sends from. Counts, displacements and types
 * change sides, and so do the lists of neighbours. What arrives overwrites what is
 * there or, with an operator, is combined with it: values of a halo are added to
 * those that they are copies of, contributions of leaves to their roots.
 *
 * plan     a plan with fixed counts, for all ranks or for neighbours, not in
 *          place. It may be active, and may be freed before reverse
 * sendbuf  buffer with the blocks of plan's receive side. May be NULL if nothing
 *          is sent
 * recvbuf  buffer with the blocks of plan's send side. rota_plan_set_buffers
 *          changes both
 * type     of the elements that op combines, whatever the types of blocks: a
 *          predefined one, or one whose elements are contiguous, which must not be
 *          freed before reverse. Blocks have a whole number of elements. Ignored
 *          if blocks overwrite
 * op       MPI_OP_NULL or MPI_REPLACE: blocks overwrite what is there, and no byte
 *          may belong to two of plan's send blocks. Or a predefined operator, with
 *          a predefined type that MPI has it for; or one of the program's,
 *          commutative or not, which calls neither Rota nor MPI and must not be
 *          freed before reverse. type and op may differ between ranks
 * info     hints, or MPI_INFO_NULL. plan's have no effect on reverse, but for
 *          rota_largest_unit, which is always plan's
 * reverse  set to the new plan, which is inactive
 *
 * With an operator, blocks arrive in memory of reverse, which has as many bytes as
 * they, and are combined when all have come, in the order of ranks or of the list
 * of neighbours: so results have the same bytes in every run, whatever the
 * algorithm, and plan's send blocks may overlap one another; if a type has the same
 * bytes twice, they are combined twice, in its order. Where plan's send blocks share
 * no bytes the order does not matter: then a block from a rank of the node that
 * travels by itself, has no gaps where it arrives and elements of 1, 2, 4, 8 or 16
 * bytes, is combined as it comes, from where its sender has it if that is memory of
 * rota_mem_alloc or rota_malloc. A rank's own block is combined from where it is.
 * rota_plan_describe says how many bytes are not copied. A block is combined as by
 * MPI_Reduce_local, with what has come as inbuf and what is there as inoutbuf. An
 * error of the run leaves some blocks combined.
 * It happens in the rota_wait or rota_test that completes the plan, or in another
 * call that advances plans; under rota_progress = thread also in the thread, but not
 * with an operator that MPI must apply unless the level is MPI_THREAD_MULTIPLE.
 * recvbuf is in memory of the host then, and rota_plan_set_partitioned fails.
 * rota_plan_set_unit also sets type.
 *
 * Collective over plan's communicator, each rank with its part of the same plan;
 * blocks. Cost: as making plan. Errors: MPI_ERR_REQUEST for a plan that is NULL, in
 * place or not a fixed one; as rota_alltoallv_init, MPI_ERR_ARG also for a NULL
 * reverse, and MPI_ERR_BUFFER for MPI_IN_PLACE; MPI_ERR_OP for an operator that is
 * not for the type; MPI_ERR_TYPE for a type that is null or not contiguous, and for
 * blocks that are no whole number of its elements. */
ROTA_API int rota_plan_init_reverse(rota_plan *plan, const void *sendbuf,
                                    void *recvbuf, MPI_Datatype type, MPI_Op op,
                                    MPI_Info info, rota_plan **reverse);

/* -------------------------------------------------------------------------
 * Making plans: varying counts
 * ---------------------------------------------------------------------- */

/* Plan all-to-alls whose counts and buffers are given at each start.
 *
 * max_block  no block will have more than this many bytes, or ROTA_UNBOUNDED;
 *            the same on all ranks
 * type       datatype of all blocks, on both sides; the same on all ranks
 * comm, info, plan  as for rota_alltoallv_init
 *
 * Collective over comm; blocks. Cost: O(log P) small messages and, for
 * algorithms that forward blocks, one run with 8 bytes per block.
 * Errors: as rota_alltoallv_init; MPI_ERR_ARG also if ranks disagree on
 * max_block or on the size of type. */
ROTA_API int rota_alltoallv_varying_init(size_t max_block, MPI_Datatype type,
                                         MPI_Comm comm, MPI_Info info,
                                         rota_plan **plan);

/* Start a varying plan. Arguments are those of MPI_Alltoallv, with the plan's
 * type on both sides: the receiver knows its counts. sendbuf may be
 * MPI_IN_PLACE, on all ranks in the same start.
 *
 * Buffers stay in use until the plan completes; you may reuse the arrays at
 * once. Local; does not block. Cost: O(P), and posting the first messages.
 *
 * A block above max_block is left out by its sender and its receiver, and all
 * other blocks are exchanged. On the two ranks of that pair, the rota_wait or
 * rota_test that completes the plan returns a code of class MPI_ERR_TRUNCATE,
 * whose text gives the size needed. That code is returned without raising the
 * error handler, and the plan can be started again. (An error of MPI's of that
 * class is raised, as all are.)
 *
 * If the counts of two ranks do not match, the program is wrong, as in MPI.
 * Where Rota notices, wait or test fails on the receiver with MPI_ERR_COUNT.
 * The text gives the sizes of the block or, if several blocks came in one
 * message, their sum and the rank that sent the message. Where MPI carries a
 * block by itself, a block that is too long is an error of MPI, and one that is
 * too short may go unnoticed. So may wrong blocks of one message whose sizes
 * add up to the right sum.
 *
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, active or not a varying one;
 * MPI_ERR_ARG for NULL arrays; MPI_ERR_COUNT for a negative count, for one
 * beyond the address space, and if the two counts of a rank's own block differ;
 * MPI_ERR_BUFFER for a NULL buffer with data in it and, if sendbuf is recvbuf
 * and rota_check is on, for a send block and a receive block that overlap;
 * MPI_ERR_NO_MEM if an in-place start needs more staging memory than there is.
 * After an error nothing is started. */
ROTA_API int rota_alltoallv_start(rota_plan *plan, const void *sendbuf,
                                  const int sendcounts[], const int sdispls[],
                                  void *recvbuf, const int recvcounts[],
                                  const int rdispls[]);

/* As rota_alltoallv_start, for counts and displacements beyond 2^31. */
ROTA_API int rota_alltoallv_start_c(rota_plan *plan, const void *sendbuf,
                                    const MPI_Count sendcounts[],
                                    const MPI_Aint sdispls[], void *recvbuf,
                                    const MPI_Count recvcounts[],
                                    const MPI_Aint rdispls[]);

/* As rota_alltoallv_varying_init, among the neighbours of comm's process
 * topology. The arrays of a start have entries for S destinations and R
 * sources, and sendbuf must not be MPI_IN_PLACE. Errors: also MPI_ERR_TOPOLOGY,
 * as rota_neighbor_alltoallv_init. */
ROTA_API int rota_neighbor_alltoallv_varying_init(size_t max_block,
                                                  MPI_Datatype type,
                                                  MPI_Comm comm, MPI_Info info,
                                                  rota_plan **plan);

/* -------------------------------------------------------------------------
 * Exchanges: receive counts unknown
 * ---------------------------------------------------------------------- */

/* Plan all-to-alls whose receivers do not know what they will get. Each start
 * says what this rank sends; the wait says what it received, and from whom,
 * packed in rank order. An exchange replaces an MPI_Alltoall of the counts
 * followed by an MPI_Alltoallv: counts and data travel in the same messages.
 *
 * max_block, type, comm, info, plan  as for rota_alltoallv_varying_init; the
 *       data of type must lie between 0 and its extent
 *
 * Blocks arrive in the plan's own buffer, which grows as needed, or in a buffer
 * set by rota_exchange_set_buffer. With a bound, the plan holds room for that
 * many bytes in every message; with ROTA_UNBOUNDED, its memory follows the
 * data.
 *
 * Collective over comm; blocks. Errors: as rota_alltoallv_varying_init. */
ROTA_API int rota_exchange_init(size_t max_block, MPI_Datatype type,
                                MPI_Comm comm, MPI_Info info, rota_plan **plan);

/* As rota_exchange_init, among the neighbours of comm's process topology. A
 * start gives counts for S destinations. A wait returns the counts of R
 * sources, whose blocks are packed in the order of the list. Errors: also
 * MPI_ERR_TOPOLOGY, as rota_neighbor_alltoallv_init. */
ROTA_API int rota_neighbor_exchange_init(size_t max_block, MPI_Datatype type,
                                         MPI_Comm comm, MPI_Info info,
                                         rota_plan **plan);

/* Start an exchange. sendbuf, sendcounts [P] and sdispls [P] are those of
 * MPI_Alltoallv; MPI_IN_PLACE is not allowed. The send buffer stays in use
 * until rota_exchange_wait. It must not be the plan's own receive buffer, where
 * blocks may arrive from now on. You may reuse the arrays at once. Local; does
 * not block. In the first starts messages grow, which allocates memory.
 *
 * A block above max_block is left out, as in rota_alltoallv_start.
 * rota_exchange_wait reports it to its sender and its receiver.
 *
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, active or not an exchange;
 * MPI_ERR_ARG for NULL arrays; MPI_ERR_COUNT for a negative count or one beyond
 * the address space; MPI_ERR_BUFFER for a NULL buffer with data in it or
 * MPI_IN_PLACE. */
ROTA_API int rota_exchange_start(rota_plan *plan, const void *sendbuf,
                                 const int sendcounts[], const int sdispls[]);

/* As rota_exchange_start, for counts and displacements beyond 2^31. */
ROTA_API int rota_exchange_start_c(rota_plan *plan, const void *sendbuf,
                                   const MPI_Count sendcounts[],
                                   const MPI_Aint sdispls[]);

/* Wait for an exchange and collect its blocks.
 *
 * recvbuf     set to the buffer that holds the blocks, packed in rank order. It
 *             is valid until the plan is started again or freed. May be set to
 *             NULL if nothing came
 * recvcounts  [P] receives the number of elements from each rank; may be NULL
 * rdispls     [P] receives the position of each block, in elements; may be NULL
 *
 * Local, except that it waits. rota_test tells whether it would block; the plan
 * stays active until this call.
 *
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, not active or not an
 * exchange; MPI_ERR_ARG for NULL recvbuf; any error that MPI reported. Three
 * more are returned without raising the error handler: MPI_ERR_BUFFER if the
 * blocks do not fit the caller's buffer (the arrays are set and the text gives
 * the size needed), MPI_ERR_COUNT if a count or position does not fit an int (the
 * arrays are then undefined), and MPI_ERR_NO_MEM. After these three the plan stays
 * active and keeps its blocks: give it another buffer, call rota_exchange_wait_c,
 * or wait again when there is memory; other ranks may have to wait meanwhile.
 * MPI_ERR_TRUNCATE is returned likewise for a block above the bound, which was left
 * out: the plan is inactive, and all arguments are set, for all other blocks. */
ROTA_API int rota_exchange_wait(rota_plan *plan, void **recvbuf,
                                int recvcounts[], int rdispls[]);

/* As rota_exchange_wait, for counts and displacements beyond 2^31. */
ROTA_API int rota_exchange_wait_c(rota_plan *plan, void **recvbuf,
                                  MPI_Count recvcounts[], MPI_Aint rdispls[]);

/* Receive blocks into the caller's buffer of capacity bytes, from the next
 * rota_exchange_wait or rota_exchange_wait_sparse on. NULL returns to the
 * plan's own buffer. Local.
 *
 * Call it before a start if you can: blocks then come right into the buffer, from
 * each start until its wait, even if another one is set meanwhile. To a buffer that
 * is set while the plan is active they are copied, in later starts, too.
 *
 * Errors: MPI_ERR_REQUEST for a plan that is NULL or not an exchange of either
 * kind. */
ROTA_API int rota_exchange_set_buffer(rota_plan *plan, void *buffer,
                                      size_t capacity);

/* -------------------------------------------------------------------------
 * Exchanges with borrowed blocks: received without a copy
 * ---------------------------------------------------------------------- */

/* Plan exchanges whose receivers read blocks where they lie. The wait gives the
 * address of each block: a long one from a rank of the node lies in its sender's
 * buffer, which nobody has copied; others in the plan's own memory.
 *
 * max_block, comm, info, plan  as for rota_exchange_init; 16 bytes at least are
 *       allowed
 * type  as for rota_exchange_init, but without gaps: a block is its bytes
 *
 * A step is: rota_exchange_get_sendbuf, write what is to be sent there,
 * rota_exchange_start, rota_exchange_wait_borrow, read. Nothing has to be given
 * back. The memory of two send buffers, which is the host's, stays with the plan.
 * It pays for blocks that are read once or in part; what is read many times or
 * written to is better copied (rota_exchange_init).
 *
 * Collective over comm; blocks. Errors: as rota_exchange_init; also MPI_ERR_TYPE for
 * a type with gaps. */
ROTA_API int rota_exchange_init_borrow(size_t max_block, MPI_Datatype type,
                                       MPI_Comm comm, MPI_Info info,
                                       rota_plan **plan);

/* Get the buffer to send from in the next start of a plan of
 * rota_exchange_init_borrow. Starts use two buffers in turn, since the blocks of the
 * last one may still be read. Ranks of the node read it; so a forked child must not
 * touch it.
 *
 * bytes    what the buffer must hold, at least. It grows when needed; what was in it
 *          is then lost
 * ptr      address of a pointer of any type, set to the buffer. Valid until the
 *          start after the next one, or until the plan is freed or is given a
 *          reduction
 *
 * Local; does not block. Allocates memory when the buffer grows, and then blocks of
 * the next start may be copied: until a rank has mapped the memory, which it does
 * in its next wait.
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, active or not of
 * rota_exchange_init_borrow; MPI_ERR_ARG if ptr is NULL; MPI_ERR_NO_MEM. */
ROTA_API int rota_exchange_get_sendbuf(rota_plan *plan, size_t bytes,
                                       void *ptr);

/* Wait for an exchange with borrowed blocks, which rota_exchange_start has started.
 * What that sends to others from memory other than the plan's send buffer is copied.
 * To pass the send buffer of the last start again is an error, MPI_ERR_BUFFER.
 *
 * It also ends an exchange of n arrays (rota_exchange_init_arrays), in place of
 * rota_exchange_wait_arrays, and then what comes is copied once less. Blocks of
 * other ranks lie at multiples of 8 bytes.
 *
 * blocks      [P] receives the address of each rank's block, this rank's own in
 *             what it sent from; or NULL if it is empty. Blocks must not be written
 *             to. They are valid until this rank starts the plan again or frees it,
 *             whatever other ranks do meanwhile. blocks itself may be NULL. Of n
 *             arrays [n * P]: the part of array i from rank q at i * P + q
 * recvcounts  [P], of n arrays [n * P], receives the number of elements from each
 *             rank; may be NULL
 *
 * Local, except that it waits. rota_test tells whether it would block; the plan
 * stays active until this call.
 *
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, not active or of neither kind;
 * any error that MPI reported. Two are returned without raising the error handler:
 * MPI_ERR_TRUNCATE for a block above the bound, which was left out: the plan is
 * inactive, and all arguments are set, for all other blocks; and MPI_ERR_COUNT if a
 * count does not fit an int: the arguments are then undefined, and the plan stays
 * active, for rota_exchange_wait_borrow_c. */
ROTA_API int rota_exchange_wait_borrow(rota_plan *plan, const void *blocks[],
                                       int recvcounts[]);

/* As rota_exchange_wait_borrow, for counts beyond 2^31. */
ROTA_API int rota_exchange_wait_borrow_c(rota_plan *plan, const void *blocks[],
                                         MPI_Count recvcounts[]);

/* -------------------------------------------------------------------------
 * Exchanges of several arrays
 * ---------------------------------------------------------------------- */

/* Plan exchanges of several arrays at once, each with counts and a type of its own:
 * the columns of a table, the values and the indices of a sparse matrix, or the
 * outputs of several rules. A rank gets one message from another, where an exchange
 * for each array would take as many as there are arrays.
 *
 * max_block   bound in bytes on what one rank sends another in a start, all arrays
 *             together and 15 bytes for each of them; or ROTA_UNBOUNDED. The same on
 *             all ranks
 * n           number of arrays, at least 1; the same on all ranks
 * types       [n] datatypes of their elements, which are bytes without gaps. Their
 *             sizes must be the same on all ranks; they may be freed after the call
 * comm, info, plan  as for rota_exchange_init
 *
 * Buffers are in host memory. rota_exchange_set_buffer does not apply: arrays arrive
 * in the plan's memory, of which there is as much as the largest start and wait have
 * needed. A program that reads them once may borrow them
 * (rota_exchange_wait_borrow).
 *
 * Collective over comm; blocks. Errors: as rota_exchange_init; also MPI_ERR_COUNT for
 * n below 1, MPI_ERR_ARG for NULL types, and MPI_ERR_TYPE for a type that is empty or
 * has gaps. */
ROTA_API int rota_exchange_init_arrays(size_t max_block, int n,
                                       const MPI_Datatype types[],
                                       MPI_Comm comm, MPI_Info info,
                                       rota_plan **plan);

/* Start an exchange of arrays.
 *
 * sendbufs    [n] start of each array. MPI_IN_PLACE is not allowed
 * sendcounts  [n * P] elements of array i for rank d at i * P + d. Arrays that have
 *             the same counts repeat them
 * sdispls     [n * P] displacements from the array's start, in elements, likewise
 *
 * The arrays stay in use until the wait; with rota_exchange_wait_borrow, what a rank
 * has for itself until it is read. You may reuse the arguments at once. Local; does
 * not block. A block above max_block is left out, as in rota_exchange_start.
 *
 * The program gathers nothing: parts lie where it has them. What goes to other ranks
 * is copied once here, to memory of the plan, which grows where a start sends more
 * than any before. Within a node a receiver reads a long block there: the wait copies
 * it to the end of its arrays, or not at all (rota_exchange_wait_borrow). Shorter
 * blocks, and those for other nodes, are copied once more, as messages. What a rank
 * has for itself is copied by the wait alone, or not at all. rota_plan_describe says
 * how many bytes the last start had read there (lent_bytes).
 *
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, active or not an exchange of
 * arrays; MPI_ERR_ARG for NULL arguments; MPI_ERR_COUNT for a negative count or one
 * beyond the address space; MPI_ERR_BUFFER for a NULL array with data in it or
 * MPI_IN_PLACE; MPI_ERR_NO_MEM. After an error nothing is started. */
ROTA_API int rota_exchange_start_arrays(rota_plan *plan,
                                        const void *const sendbufs[],
                                        const int sendcounts[],
                                        const int sdispls[]);

/* As rota_exchange_start_arrays, for counts and displacements beyond 2^31. */
ROTA_API int rota_exchange_start_arrays_c(rota_plan *plan,
                                          const void *const sendbufs[],
                                          const MPI_Count sendcounts[],
                                          const MPI_Aint sdispls[]);

/* Wait for an exchange of arrays and collect them.
 *
 * recvbufs    [n] receives the address of each array: what has come of it, packed in
 *             rank order, in memory of the plan, which is valid until the plan is
 *             started again or freed. NULL is possible for an empty array
 * recvcounts  [n * P] receives the elements of array i from rank q at i * P + q
 * rdispls     [n * P] receives their positions in array i, in elements
 *
 * Each may be NULL: not asked for. Local, except that it waits. rota_test tells
 * whether it would block; the plan stays active until this call.
 *
 * Errors: as rota_exchange_wait, but for MPI_ERR_ARG and MPI_ERR_BUFFER. */
ROTA_API int rota_exchange_wait_arrays(rota_plan *plan, void *recvbufs[],
                                       int recvcounts[], int rdispls[]);

/* As rota_exchange_wait_arrays, for counts and displacements beyond 2^31. */
ROTA_API int rota_exchange_wait_arrays_c(rota_plan *plan, void *recvbufs[],
                                         MPI_Count recvcounts[],
                                         MPI_Aint rdispls[]);

/* -------------------------------------------------------------------------
 * Sparse exchanges: few partners, which change and do not know each other
 * ---------------------------------------------------------------------- */

/* Plan exchanges with few partners: at each start a rank lists the ranks that
 * it sends to, and each wait lists those that sent to it. No argument has P
 * entries. If most ranks are partners, rota_exchange_init is faster.
 *
 * type  datatype of all blocks; its size must be the same on all ranks, and its
 *       data must lie between 0 and its extent
 * comm, info, plan  as for rota_alltoallv_init. There are two algorithms. In
 *       consensus, ranks that share memory count one another there, and MPI
 *       messages tell ranks of different nodes that nothing more can come. In
 *       consensus_node, short blocks for the same node also travel together; it
 *       is the default if messages between nodes cost more than copies. Other
 *       values of rota_algorithm have no effect. rota_node_size divides the
 *       ranks of a node
 *
 * Collective over comm; blocks. Cost: O(log P) small messages and O(P) time.
 * Memory is 64 KiB and O(ranks of the node).
 * Errors: as rota_alltoallv_varying_init. */
ROTA_API int rota_exchange_init_sparse(MPI_Datatype type, MPI_Comm comm,
                                       MPI_Info info, rota_plan **plan);

/* Start a sparse exchange.
 *
 * sendbuf     start of the send buffer, in host memory; MPI_IN_PLACE is not
 *             allowed
 * n           number of ranks to send to. If it is 0, all that follows may be
 *             NULL
 * dests       [n] ranks, each once, in any order; this rank may be one of them
 * sendcounts  [n] elements for each. A block of 0 elements is delivered like any
 *             other: leave out ranks that need not know of it
 * sdispls     [n] displacements from sendbuf, in extents of the type
 *
 * Rota does not interpret a block. If you need a tag or a step number, put it
 * in front of the data, with a struct type or bytes.
 *
 * The send buffer stays in use until rota_exchange_wait_sparse; you may reuse
 * the arrays at once. Local; does not block. Cost: O(n), or O(n log n) if dests
 * are not ascending, and posting the messages. A start with more blocks than
 * any before allocates memory. All ranks must start the exchange, including
 * those that send nothing.
 *
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, active or not a sparse
 * exchange; MPI_ERR_ARG for NULL arrays, and for a rank in dests that does not
 * exist or is listed twice; MPI_ERR_COUNT for a negative n or count, or one
 * beyond the address space; MPI_ERR_BUFFER for a NULL buffer with data in it,
 * device memory or MPI_IN_PLACE; MPI_ERR_NO_MEM. After an error nothing is
 * started. */
ROTA_API int rota_exchange_start_sparse(rota_plan *plan, const void *sendbuf,
                                        int n, const int dests[],
                                        const int sendcounts[],
                                        const int sdispls[]);

/* As rota_exchange_start_sparse, for counts and displacements beyond 2^31. */
ROTA_API int rota_exchange_start_sparse_c(rota_plan *plan, const void *sendbuf,
                                          int n, const int dests[],
                                          const MPI_Count sendcounts[],
                                          const MPI_Aint sdispls[]);

/* Wait for a sparse exchange and collect its blocks. Returns when all ranks
 * have started the exchange and all blocks for this rank have arrived.
 *
 * recvbuf     set to the buffer that holds the blocks, end to end in rank
 *             order: the plan's own, or that of rota_exchange_set_buffer. May
 *             be set to NULL if nothing came
 * n_sources   set to the number of ranks that sent a block
 * sources     set to an array of these ranks, ascending
 * recvcounts  set to an array of the numbers of elements from each
 * rdispls     set to an array of the positions of their blocks, in extents of
 *             the type from recvbuf
 *
 * The arrays have n_sources entries and belong to the plan. They and the plan's
 * own buffer are valid until the plan is started again or freed. Each of the
 * last three arguments may be NULL.
 *
 * Local, except that it waits. rota_test tells whether it would block; the plan
 * stays active until this call. Cost: O(blocks) copies, and sorting their
 * ranks.
 *
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, not active or not a sparse
 * exchange; MPI_ERR_ARG for NULL recvbuf or n_sources; any error that MPI
 * reported. Three more are returned without raising the error handler:
 * MPI_ERR_BUFFER if the blocks do not fit the caller's buffer (n_sources and
 * the arrays are set, and the text gives the size needed), MPI_ERR_COUNT if a
 * count does not fit an int, and MPI_ERR_NO_MEM. After these three the plan
 * stays active and keeps its blocks: give it another buffer or call
 * rota_exchange_wait_sparse_c. */
ROTA_API int rota_exchange_wait_sparse(rota_plan *plan, void **recvbuf,
                                       int *n_sources, const int **sources,
                                       const int **recvcounts,
                                       const int **rdispls);

/* As rota_exchange_wait_sparse, for counts and displacements beyond 2^31. */
ROTA_API int rota_exchange_wait_sparse_c(rota_plan *plan, void **recvbuf,
                                         int *n_sources, const int **sources,
                                         const MPI_Count **recvcounts,
                                         const MPI_Aint **rdispls);

/* -------------------------------------------------------------------------
 * Graphs: partners by list, for any number of plans
 *
 * A graph says whom each rank sends to and whom it receives from. Plans made
 * from it are those of "Making plans: neighbours", without a communicator of
 * their own: a program that has many patterns of partners makes a graph of each,
 * and as many plans from it as it needs.
 * ---------------------------------------------------------------------- */

/* A graph. Each handle is freed by rota_graph_free. */
typedef struct rota_graph rota_graph;

/* Make a graph from each rank's own lists, in the order of
 * MPI_Dist_graph_create_adjacent: sources first.
 *
 * comm          intra-communicator of P ranks; may be freed after the call
 * indegree      R, the length of sources; 0: sources may be NULL
 * sources       [R] ranks of comm that this rank receives from
 * outdegree     S, the length of destinations; 0: destinations may be NULL
 * destinations  [S] ranks of comm that this rank sends to
 * info          hints, or MPI_INFO_NULL; unknown ones are errors, others have
 *               no effect
 * graph         set to the new graph
 *
 * A rank may be listed several times, and may list itself: the first block for
 * a rank in destinations is its first from this one in sources. MPI_PROC_NULL
 * is nobody: a block with it is neither sent nor touched, whatever its count.
 * You may reuse the arrays at once.
 *
 * Collective over comm; blocks. Ranks without partners call it, too. Cost:
 * O(log P) small messages, whatever the lists, and O(R + S) time and memory. No
 * communicator is made, but for the duplicate that comm's first plan or graph
 * makes.
 *
 * Errors: MPI_ERR_COMM as for rota_alltoallv_init; MPI_ERR_COUNT for a negative
 * degree; MPI_ERR_ARG for NULL lists or graph, for an entry that is neither a
 * rank of comm nor MPI_PROC_NULL, for unknown hints, and if ranks disagree on
 * hints or some of them make a plan; MPI_ERR_TOPOLOGY if a rank lists another
 * as its destination more often, or less often, than that rank lists it as a
 * source: the text names the two, on all ranks. MPI_ERR_NO_MEM. */
ROTA_API int rota_graph_create_adjacent(MPI_Comm comm, int indegree,
                                        const int sources[], int outdegree,
                                        const int destinations[], MPI_Info info,
                                        rota_graph **graph);

/* Make the graph of comm's process topology: neighbours as in "Making plans:
 * neighbours". Collective over comm; blocks. Cost and errors as for
 * rota_graph_create_adjacent; also MPI_ERR_TOPOLOGY for a communicator without a
 * process topology. */
ROTA_API int rota_graph_of(MPI_Comm comm, rota_graph **graph);

/* Set copy to another handle of the same graph. Local; does not block; copies no
 * list. Errors: MPI_ERR_ARG for a NULL graph or copy. */
ROTA_API int rota_graph_dup(rota_graph *graph, rota_graph **copy);

/* Free a handle and set it to NULL. If it is NULL, do nothing. Plans made from
 * the graph keep it as long as they need it. Local; does not block.
 * Errors: MPI_ERR_ARG if graph is NULL; MPI_ERR_OTHER after MPI_Finalize. */
ROTA_API int rota_graph_free(rota_graph **graph);

/* Plan an exchange among the partners of a graph. Everything is as for the
 * function without _graph, with the graph in place of the topology of comm: S
 * destinations and R sources in the order of its lists, and collective over all
 * ranks of the communicator that it was made on. All ranks pass a handle of the
 * same graph. Errors: also MPI_ERR_ARG for a NULL graph, on which ranks cannot
 * agree: that rank returns and the others wait. */
ROTA_API int rota_neighbor_alltoallv_init_graph(
    const void *sendbuf, const int sendcounts[], const int sdispls[],
    MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
    const int rdispls[], MPI_Datatype recvtype, rota_graph *graph,
    MPI_Info info, rota_plan **plan);

/* As rota_neighbor_alltoallv_init_graph, for counts and displacements beyond
 * 2^31. */
ROTA_API int rota_neighbor_alltoallv_init_graph_c(
    const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
    MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
    const MPI_Aint rdispls[], MPI_Datatype recvtype, rota_graph *graph,
    MPI_Info info, rota_plan **plan);

/* As rota_neighbor_alltoallv_init_graph, with a datatype for each block. */
ROTA_API int rota_neighbor_alltoallw_init_graph(
    const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
    const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], rota_graph *graph,
    MPI_Info info, rota_plan **plan);

/* As rota_neighbor_alltoallw_init_graph, for counts beyond 2^31. */
ROTA_API int rota_neighbor_alltoallw_init_graph_c(
    const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
    const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],
    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], rota_graph *graph,
    MPI_Info info, rota_plan **plan);

/* As rota_neighbor_alltoallv_init_graph, with the same count for all. */
ROTA_API int rota_neighbor_alltoall_init_graph(
    const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
    int recvcount, MPI_Datatype recvtype, rota_graph *graph, MPI_Info info,
    rota_plan **plan);

/* As rota_neighbor_alltoall_init_graph, for counts beyond 2^31. */
ROTA_API int rota_neighbor_alltoall_init_graph_c(
    const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
    void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
    rota_graph *graph, MPI_Info info, rota_plan **plan);

/* As rota_neighbor_alltoallv_varying_init, among the partners of a graph. */
ROTA_API int rota_neighbor_alltoallv_varying_init_graph(size_t max_block,
                                                        MPI_Datatype type,
                                                        rota_graph *graph,
                                                        MPI_Info info,
                                                        rota_plan **plan);

/* As rota_neighbor_exchange_init, among the partners of a graph. */
ROTA_API int rota_neighbor_exchange_init_graph(size_t max_block,
                                               MPI_Datatype type,
                                               rota_graph *graph, MPI_Info info,
                                               rota_plan **plan);

/* -------------------------------------------------------------------------
 * Running plans
 * ---------------------------------------------------------------------- */

/* Start a fixed plan on its current buffers. Copies that need no peer (the
 * rank's own block) are made here.
 * Local; does not block; allocates nothing.
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, active, or varying (use
 * rota_alltoallv_start); MPI_ERR_OTHER after MPI_Finalize. */
ROTA_API int rota_start(rota_plan *plan);

/* Start n fixed plans, plans[0] first. Local; does not block. All are checked
 * first, so that none is started if one is NULL, active or varying; the text says
 * which. If a start fails later, as where a plan is listed twice or can only be
 * freed, those before it are active.
 * Errors: as rota_start; MPI_ERR_COUNT for a negative n; MPI_ERR_ARG for a NULL
 * array. */
ROTA_API int rota_startall(int n, rota_plan *const plans[]);

/* Advance every active plan of the process and test this one. flag is set to 1
 * if this plan is complete, which makes it inactive, and to 0 otherwise. For an
 * inactive plan flag is 1. Local; does not block.
 * Errors: MPI_ERR_REQUEST for a NULL plan; MPI_ERR_ARG for a NULL flag; any
 * error that MPI reported for a message of this plan, which is then inactive;
 * MPI_ERR_TRUNCATE for a block above the bound (see rota_alltoallv_start);
 * MPI_ERR_OTHER after MPI_Finalize;
 * MPI_ERR_NO_MEM, returned without raising the error handler, if a varying plan
 * needs more memory than there is: the plan stays active, and goes on in the
 * next call that finds memory. */
ROTA_API int rota_test(rota_plan *plan, int *flag);

/* Wait until the plan is complete; it is then inactive. Returns at once for an
 * inactive plan. The wait returns when this rank's blocks have arrived and its
 * send buffer may be reused. It says nothing about other ranks. Blocks.
 * Errors: as rota_test; MPI_ERR_REQUEST also for an active exchange, which
 * needs rota_exchange_wait or rota_exchange_wait_sparse. See "Failures"
 * above. */
ROTA_API int rota_wait(rota_plan *plan);

/* Wait for n plans, whatever the order in which they complete. After all have been
 * waited for, returns the first error in array order. They are then inactive, but
 * for those with MPI_ERR_NO_MEM (see rota_test): wait again. Do not pass active
 * exchanges: wait for them one by one, in any order, since each wait advances
 * all active plans.
 * Errors: as rota_wait; MPI_ERR_COUNT for a negative n; MPI_ERR_ARG for a NULL
 * array. */
ROTA_API int rota_waitall(int n, rota_plan *const plans[]);

/* Start a fixed plan and return a request of MPI for this run, as MPI_Ialltoallv
 * does: for MPI_Wait, MPI_Test, MPI_Waitall, MPI_Waitany and their kin, beside
 * requests of other kinds. The call that completes it sets it to MPI_REQUEST_NULL,
 * and the plan is then inactive; until then rota_wait and rota_test refuse the plan.
 * It must not be freed or cancelled, as requests of collectives must not.
 *
 * request  set on success
 *
 * Plans advance in the calls of MPI that are given the request and, with Open MPI
 * from the first request of the process on, with MPICH from 4.3 on as long as any
 * request is open, in every call that makes progress. An MPI that has neither (no
 * MPIX_Grequest_start, as MPICH has, and no opal_progress_register) gives an error,
 * and nothing is started.
 *
 * Local; does not block. Cost: that of rota_start, and a generalized request, whose
 * memory is allocated here and freed when it completes.
 * Errors: as rota_start; MPI_ERR_ARG for a NULL request; MPI_ERR_OTHER for an MPI
 * that cannot do it; MPI_ERR_NO_MEM if there is no memory for a request: the plan is
 * active then. Errors of the run are the result of the call that completes the
 * request, or in its status, and are raised as MPI raises those of requests. */
ROTA_API int rota_start_request(rota_plan *plan, MPI_Request *request);

/* Return a request of MPI for the run of an active plan of any kind, such as one
 * that rota_alltoallv_start or rota_exchange_start has started: see
 * rota_start_request. An exchange is not inactive when the request is complete, but
 * rota_exchange_wait then returns at once.
 *
 * Local; does not block. Cost: a generalized request.
 * Errors: MPI_ERR_REQUEST for a plan that is NULL or inactive, or whose run has a
 * request; the others as rota_start_request. */
ROTA_API int rota_get_request(rota_plan *plan, MPI_Request *request);

/* -------------------------------------------------------------------------
 * Parts: blocks that leave and arrive one by one
 * ---------------------------------------------------------------------- */

/* Make the blocks of a plan its partitions, as those of MPI's partitioned
 * communication: from the next start on, for good, a block leaves when the program
 * says that it is ready, and may be used when it has arrived. The send buffer may be
 * written between rota_start and the rota_pready of a block. The schedule stays as it
 * was: a message waits for the blocks that it holds, so direct algorithms, such as
 * multi_pair and spread_out, let each block go by itself, and MPI's own all-to-all
 * (mpi) only all together. Other ranks' plans need not be partitioned.
 *
 * Blocks of an exchange leave one by one, too (rota_exchange_start has their counts),
 * but are found together, by rota_exchange_wait. A block of several partitions is as
 * many blocks: a plan of a graph (rota_graph_create_adjacent) that lists its rank so
 * often. They leave and arrive in the order of the list, each when those before it
 * are ready, too.
 *
 * plan  with fixed or varying counts or an exchange, among all ranks or neighbours;
 *       not one that borrows or that has arrays
 *
 * Local; the plan must be inactive. Plans that are not partitioned cost what they
 * did. While a partitioned plan is waited for, a rank polls, and naps in between.
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, active, of another kind, in place,
 * that combines blocks, or whose buffers may be on a device (a start of a partitioned
 * plan in place: MPI_ERR_BUFFER); MPI_ERR_NO_MEM, after which it can only be freed.
 */
ROTA_API int rota_plan_set_partitioned(rota_plan *plan);

/* The block for rank dest, or for the neighbour with this place in the list of
 * destinations, is ready: it may leave, and must not be written until the plan is
 * complete. Blocks without bytes may be left out; the plan is complete only when all
 * others were ready.
 *
 * Local; does not block; allocates nothing. Any thread may call it for other blocks
 * of a plan at the same time, after rota_start has returned and before the wait
 * returns. The run gets on in calls of the thread that started it and, under
 * MPI_THREAD_MULTIPLE, of all threads. All these calls must have returned before the
 * plan is waited for to its end.
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, not active or not partitioned;
 * MPI_ERR_ARG for a block that does not exist or was ready before. */
ROTA_API int rota_pready(rota_plan *plan, int dest);

/* The same for the blocks low to high, both included, and for the n blocks of a
 * list. If one of them does not exist, none is ready; if one was ready before, those
 * before it are. Errors: also MPI_ERR_COUNT for a negative n; MPI_ERR_ARG for low
 * above high and for NULL dests. */
ROTA_API int rota_pready_range(rota_plan *plan, int low, int high);
ROTA_API int rota_pready_list(rota_plan *plan, int n, const int dests[]);

/* Has the block of rank source, or of the neighbour with this place in the list of
 * sources, arrived? If so, it may be read.
 *
 * flag  set to 1 or 0; 1 for a plan that is complete
 *
 * Local; does not block. Any thread may call it. Errors: as rota_pready, but an
 * inactive plan is none; MPI_ERR_REQUEST for an exchange; MPI_ERR_ARG for a NULL
 * flag. */
ROTA_API int rota_parrived(rota_plan *plan, int source, int *flag);

/* Wait for a block that has arrived and that this function has not returned since the
 * start.
 *
 * source  set to the rank it is from, or its place in the list of sources; or to
 *         MPI_UNDEFINED if all blocks with bytes have been returned. rota_wait is
 *         still needed. When the plan is complete, as a rota_test may find, those
 *         that are left are returned at once
 *
 * Local, except that it waits. One thread at a time may call it: the one that started
 * the plan or, under MPI_THREAD_MULTIPLE, any; for others MPI_ERR_REQUEST.
 * Errors: as rota_parrived; any error that MPI reported. */
ROTA_API int rota_wait_arrival(rota_plan *plan, int *source);

/* -------------------------------------------------------------------------
 * Changing, freeing
 * ---------------------------------------------------------------------- */

/* Use other buffers from the next start on. Counts, displacements and types
 * stay the same. If the plan was made with MPI_IN_PLACE, it must be given
 * again; otherwise it must not be given. A plan made for host memory cannot
 * take device memory, and a plan whose blocks go from device to device
 * (rota_device = cuda_ipc) cannot take a sendbuf that other ranks cannot open.
 * Ranks may call this independently of each other. Local; does not block.
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, active or varying;
 * MPI_ERR_BUFFER for a NULL buffer with data in it, for a misplaced
 * MPI_IN_PLACE, for send and receive blocks that overlap (unless rota_check is
 * off), and for memory of a kind that the plan cannot take. */
ROTA_API int rota_plan_set_buffers(rota_plan *plan, const void *sendbuf,
                                   void *recvbuf);

/* From the next start on, let the counts and displacements of a fixed plan be in
 * units of howmany elements of type, as if sendtype and recvtype were those: for
 * other scalars, several components of each, or a batch. The plan's buffers must
 * be as large as that needs; change them after the unit, if both change.
 *
 * type     datatype whose elements are bytes end to end, from 0 to its extent; it
 *          may be freed after the call
 * howmany  elements of a unit, at least 1
 *
 * A unit is of the whole plan: one number scales the sizes of all blocks alike, so
 * that both ends of a message, and those that forward it, know them without asking.
 * With a type for each block (rota_alltoallw_init) there is none, since types of
 * bytes end to end differ only in their counts: make such a plan by
 * rota_alltoallv_init, with counts in units.
 *
 * The plan must have been made with the hint rota_largest_unit, which says how
 * many bytes a unit may have, and with types as type is; its unit is one of them
 * until this is called. All ranks must use the same unit in a start, but they
 * need not call this at the same time. If units differ, the program is wrong:
 * where Rota notices, rota_wait or rota_test fails on the receiver with
 * MPI_ERR_COUNT and both sizes in the text, as for rota_alltoallv_start.
 *
 * Local; does not block. Cost: O(blocks of this rank), if the unit is another.
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, active or not a fixed one;
 * MPI_ERR_ARG for a plan made without rota_largest_unit; MPI_ERR_TYPE for a type
 * that is null, uncommitted, empty, or not bytes end to end; MPI_ERR_COUNT for
 * howmany below 1 and for a unit above rota_largest_unit; MPI_ERR_NO_MEM if an
 * in-place plan, or one that combines what arrives (rota_plan_init_reverse), finds
 * no memory for it; of the latter also MPI_ERR_OP for an operator that is not for
 * type. After an error the unit is as it was. */
ROTA_API int rota_plan_set_unit(rota_plan *plan, MPI_Datatype type,
                                int howmany);

/* Order a plan whose buffers are on a device within one of the program's
 * streams, so that the host need not wait for the device. From the next start
 * on:
 *
 *   The plan reads its send buffer and writes its receive buffer on the device
 *   only after everything that was put in the stream before the start. A kernel
 *   may still be filling the send buffer when the plan is started.
 *
 *   What the plan writes on the device comes before everything that is put in
 *   the stream after rota_wait, rota_exchange_wait, or the rota_test that
 *   completes the plan. These calls no longer wait for the receive buffer: when
 *   they return, the stream may read it, but not the host or other streams.
 *
 * Without a stream, the send buffer must be complete before the start, since
 * Rota does not wait for kernels of the program. The receive buffer is complete
 * after the wait.
 *
 * stream  a cudaStream_t or CUstream; NULL is the default stream. It must live
 *         until it is replaced or the plan is freed. ROTA_NO_STREAM: no stream
 *         from now on
 *
 * This has no effect on a plan whose buffers are in host memory. Local; does
 * not block. Errors: MPI_ERR_REQUEST for a plan that is NULL or active. */
#define ROTA_NO_STREAM ((void *)-1)
ROTA_API int rota_plan_set_stream(rota_plan *plan, void *stream);

/* Let a reduction travel with the messages of a plan: from the next start on, each
 * start gives a value, and when the plan is complete all ranks have what
 * MPI_Allreduce would give them. A loop that asks after every exchange whether
 * anything is left to do so needs no other call (docs/guide.md). The messages are
 * those of the plan alone; each rank combines the values itself, in the order of
 * ranks, so that the result has the same bytes on all of them.
 *
 * plan    for varying counts, or an exchange or a sparse exchange; not for
 *         neighbours, and not for fixed counts
 * value   count elements that each start reads before it returns; or
 *         MPI_IN_PLACE: result has them
 * result  count elements, written when the run is complete: before rota_wait,
 *         rota_exchange_wait or rota_exchange_wait_sparse returns, or the
 *         rota_test that finds the plan complete; but another call that advances
 *         plans may write it as well. Both are used until the plan is freed or
 *         this function is called again
 * count   at least 1; a value has at most 64 bytes
 * type    a predefined type, or one whose elements are contiguous, which must not
 *         be freed before the plan
 * op      a predefined operator, with a predefined type that MPI has it for; or
 *         one of the program's, commutative or not, which calls neither Rota nor
 *         MPI and must not be freed before the plan. MPI_OP_NULL: no reduction any
 *         more; the other arguments are then ignored
 *
 * The plan is made anew, with the choices of the old one, which takes about as long
 * as making one. What an exchange has received is given up, as is a send buffer of
 * rota_exchange_get_sendbuf. Under MPI_THREAD_MULTIPLE
 * with rota_progress = thread, the thread may call the program's operator.
 *
 * Collective over the plan's communicator; blocks; the plan must be inactive. count,
 * the size of type and op must be the same on all ranks.
 * Cost of a start: within a node each rank stores its value once and reads the
 * others'; between nodes, and in messages that MPI carries, a message is longer by
 * a value for each rank whose blocks it has. Also messages without blocks are sent.
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, active, for fixed counts or for
 * neighbours, or whose messages MPI takes from a device; MPI_ERR_BUFFER for a NULL
 * value or result; MPI_ERR_COUNT for a count below 1 or a value of more than 64
 * bytes; MPI_ERR_TYPE; MPI_ERR_OP for an operator that is not for the type;
 * MPI_ERR_ARG if ranks differ; MPI_ERR_NO_MEM. After an error the plan is as it
 * was. */
ROTA_API int rota_plan_set_reduction(rota_plan *plan, const void *value,
                                     void *result, int count, MPI_Datatype type,
                                     MPI_Op op);

/* Functions of the program for rota_plan_set_pack, which says what they do. */
typedef int rota_pack_function(void *context, int dest, MPI_Count begin,
                               MPI_Count end, void *to);
typedef int rota_unpack_function(void *context, int source, MPI_Count begin,
                                 MPI_Count end, const void *from);

/* Have functions of the program pack and unpack the blocks of a plan, where no
 * datatype says where their data lie: they write right into the memory of a message,
 * and read from there. With any algorithm; MPI's own all-to-all (mpi) sends from
 * memory of the plan.
 *
 * plan     with fixed or varying counts, among all ranks or neighbours, and one type
 *          for all blocks. Counts are those of packed elements
 * pack     NULL: blocks are sent from the send buffer, as before
 * unpack   NULL: they are received in the receive buffer. Where there is a function,
 *          buffer and displacements are checked as before, and neither read nor
 *          written: any memory will do. rota_check = off leaves out the check that
 *          blocks do not overlap
 * context  passed on to them; may be NULL
 *
 * A function writes or reads a part of the block of packed elements for dest, or from
 * source: a rank, or a place in the list of destinations or sources.
 *
 * begin     bytes begin to end of the block, without end, are wanted: not none, and
 * end       whole elements of the plan's type. A block comes in one call or in
 *           several; when it is unpacked, in order
 * to        where byte begin is to go;
 * from      where it is, until the function returns. Aligned to 8 bytes where the
 *           length of each block is a multiple of 8
 *
 * It returns 0, or anything else for an error: the block then counts as written or
 * read, so that no rank waits for it, and the wait of this rank returns
 * MPI_ERR_OTHER, with the number in its text. The plan may be started again.
 * Functions are called between a start and the end of its wait, in calls of Rota for
 * this plan or others, and must call neither Rota nor MPI. Under
 * MPI_THREAD_MULTIPLE, they may be called by any thread that calls Rota and, with
 * rota_progress = thread, by that thread; never by two at once.
 *
 * Other ranks may give other functions, or none; NULL for both ends it here. The plan
 * is made anew, with the choices of the old one, which takes about as long as making
 * one.
 *
 * Collective over the plan's communicator; blocks; the plan must be inactive.
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, active, an exchange, in place,
 * with a type for each block, with rota_largest_unit, with an operator
 * (rota_plan_init_reverse) or with buffers that may be on a device, or whose
 * algorithm keeps blocks of others in the receive buffer (bruck_zero_copy);
 * MPI_ERR_ARG if some rank calls another function; MPI_ERR_NO_MEM. After an error the
 * plan is as it was. A start in place: MPI_ERR_BUFFER. */
ROTA_API int rota_plan_set_pack(rota_plan *plan, rota_pack_function *pack,
                                rota_unpack_function *unpack, void *context);

/* Free an inactive plan and set *plan to NULL. If *plan is NULL, do nothing.
 * Using a copy of the handle afterwards is undefined. If MPI failed in a
 * message of the plan, its memory is not released, since MPI may still write to
 * it. Local; does not block.
 * Errors: MPI_ERR_ARG if plan is NULL; MPI_ERR_REQUEST if the plan is active;
 * MPI_ERR_OTHER after MPI_Finalize. After an error the plan is as it was. */
ROTA_API int rota_plan_free(rota_plan **plan);

/* -------------------------------------------------------------------------
 * Memory that the other ranks of a node reach directly
 * ---------------------------------------------------------------------- */

/* Allocate memory for buffers. Plans of any communicator copy from it to
 * another rank of the node in one step; from other memory they need two copies
 * or a system call. Any memory works. If ranks cannot share memory, this is
 * ordinary memory, and rota_plan_describe says why.
 *
 * bytes  size of this rank's own allocation, which may differ among ranks. Its
 *        pages are allocated at once, in the NUMA domain that the rank runs on
 * comm   intra-communicator; the ranks of each of its nodes map each other's
 *        memory, unless they have done so before
 * info   hints, or MPI_INFO_NULL; with rota_intranode = p2p the memory is
 *        ordinary
 * ptr    address of a pointer of any type, set to the memory. The memory begins
 *        on a page; free it with rota_mem_free
 *
 * If the memory is shared, a forked child shares it too: the process and the
 * other ranks of the node see what the child writes. The child must call
 * neither Rota nor MPI, must end by _exit or exec, and must not touch buffers
 * of an active plan. Ordinary memory is copied at a fork, as usual.
 *
 * Collective over comm; blocks.
 * Errors: MPI_ERR_COMM as for rota_alltoallv_init; MPI_ERR_ARG for a NULL ptr
 * and for hints; MPI_ERR_NO_MEM on all ranks if one of them has no memory. */
ROTA_API int rota_mem_alloc(size_t bytes, MPI_Comm comm, MPI_Info info,
                            void *ptr);

/* Free memory of rota_mem_alloc and set the pointer to NULL. If the pointer is
 * NULL, do nothing. No active plan may use the memory. May be called after the
 * communicator was freed and after MPI_Finalize.
 *
 * ptr  address of the pointer
 *
 * Local; does not block. Errors: MPI_ERR_ARG if ptr is NULL or the memory is
 * not from rota_mem_alloc. */
ROTA_API int rota_mem_free(void *ptr);

/* Allocate memory as malloc does, on this rank alone. Plans of any communicator
 * copy from it to another rank of the node in one step, as from memory of
 * rota_mem_alloc: the ranks of the node map all of it, once, when the first plan
 * is made after one of these functions has been called.
 *
 * The program must have librota_heap from its beginning: be linked with it
 * (pkg-config --libs rota-heap; rota::rota_heap in CMake), or preload it, or be
 * started by rota-run. Otherwise this is ordinary memory; and also where Rota was
 * built without jemalloc, where the address space (ulimit -v) or files (ulimit -f)
 * are limited, and when all of the range is used, which is as long as the host's
 * memory. rota-info says why.
 *
 * bytes  any number; 0 gives memory as well
 *
 * Pages are allocated when they are touched, in the NUMA domain of the thread
 * that does. A forked child has a copy, which fork takes the time to make; system,
 * popen and posix_spawn do not. Memory of a send buffer may be freed once the plan
 * is inactive.
 *
 * Local; does not block. Any thread may call it, before MPI_Init and after
 * MPI_Finalize. Returns NULL and sets errno to ENOMEM if there is no memory. */
ROTA_API void *rota_malloc(size_t bytes);

/* The same for n elements of so many bytes each, all bytes zero; as calloc. */
ROTA_API void *rota_calloc(size_t n, size_t bytes);

/* The same at an address that is a multiple of alignment, a power of two, as
 * aligned_alloc. Returns NULL and sets errno to EINVAL for any other alignment. */
ROTA_API void *rota_aligned_alloc(size_t alignment, size_t bytes);

/* Change the size of memory, as realloc does: it may move. If there is no memory,
 * return NULL, and what ptr points to stays as it is.
 *
 * ptr    NULL, or memory of rota_malloc, rota_calloc, rota_aligned_alloc or
 *        rota_realloc
 * bytes  any number; 0 counts as 1
 *
 * Local; does not block. */
ROTA_API void *rota_realloc(void *ptr, size_t bytes);

/* Free memory of rota_malloc and its kin; NULL: do nothing. No active plan may use
 * it. Any thread may free it, also after MPI_Finalize. Local; does not block. */
ROTA_API void rota_free(void *ptr);

/* -------------------------------------------------------------------------
 * Tuning: what measurements have taught
 *
 * A tuning holds the prices of a machine, and rows that say which algorithm was
 * best for which kind of all-to-all. It belongs to a communicator, and plans
 * that are made on the communicator afterwards use it. Its text form is one
 * JSON object of at most 4 MiB (docs/guide.md), as rota-tune writes it.
 *
 * Unless told otherwise, the first plan on a communicator looks for a file: the
 * one that ROTA_TUNING_FILE names, else $XDG_CONFIG_HOME/rota/tuning.json
 * (~/.config/rota/tuning.json), else rota/tuning.json in the system's
 * configuration directory. If ranks do not share files, those of rank 0 count.
 * A file that was found rather than named is ignored if it cannot be read. A
 * program that runs with more rights than its caller (setuid) follows none of
 * these variables.
 * ---------------------------------------------------------------------- */

/* Read a tuning from a file; it replaces the communicator's. On an error the
 * old one stays.
 *
 * path  on rank 0 the name of the file, or NULL to look for one as the first
 *       plan does, in which case finding none is not an error; ignored on other
 *       ranks
 * comm  intra-communicator
 *
 * Collective over comm; blocks. Rank 0 reads the file.
 * Errors: MPI_ERR_COMM as for rota_alltoallv_init; MPI_ERR_ARG for a file that
 * cannot be read, is not a tuning, or was made by a newer version, with the
 * line or the row and key in the text; MPI_ERR_NO_MEM. */
ROTA_API int rota_tuning_import(const char *path, MPI_Comm comm);

/* As rota_tuning_import, from a text that rank 0 passes; it is ignored on other
 * ranks. Errors: also MPI_ERR_ARG for a NULL text. */
ROTA_API int rota_tuning_import_string(const char *text, MPI_Comm comm);

/* Write the communicator's tuning to a file: everything that was imported,
 * found, or measured by plans made on it. A process that reads the file
 * meanwhile sees either the old file or the new one.
 *
 * path  on rank 0 the name of the file, or NULL for the user's file, whose
 *       directory is created if necessary; ignored on other ranks
 * comm  intra-communicator
 *
 * Collective over comm; blocks. Rank 0 writes the file.
 * Errors: MPI_ERR_COMM; MPI_ERR_ARG for a file that cannot be written;
 * MPI_ERR_NO_MEM. */
ROTA_API int rota_tuning_export(const char *path, MPI_Comm comm);

/* Write the communicator's tuning to a string. buf and len are as for
 * rota_plan_describe. Local; does not block. Errors: MPI_ERR_COMM; MPI_ERR_ARG
 * for NULL len or NULL buf with *len > 0; MPI_ERR_NO_MEM. */
ROTA_API int rota_tuning_export_string(MPI_Comm comm, char *buf, size_t *len);

/* Discard the communicator's tuning, and look for no file any more.
 * Collective over comm; blocks only if nothing has been made on comm yet.
 * Errors: MPI_ERR_COMM. */
ROTA_API int rota_tuning_forget(MPI_Comm comm);

/* -------------------------------------------------------------------------
 * Asking
 * ---------------------------------------------------------------------- */

/* Describe a plan as the calling rank sees it: what was chosen and why, rounds,
 * messages, bytes, memory. If some datatypes are not plain bytes, the
 * description says how many there are (types_sent, types_received), how many of
 * them MPI must pack (types_unknown) and, for fixed counts, how the bytes that
 * this rank receives get to their places: straight from one layout to the other
 * (bytes_straight), packed by Rota on the way (bytes_by_layout), or packed by
 * MPI (bytes_by_mpi). If a reduction travels with the messages, the description says
 * how many bytes a value has (reduced_bytes); if blocks are borrowed, how many bytes
 * the last start lent to ranks of the node, uncopied (lent_bytes); if they are
 * combined with what is there, how many bytes this rank combines (combined_bytes),
 * and how many of them are not copied to memory of the plan before
 * (combined_uncopied).
 *
 * format  ROTA_DESCRIBE_TEXT (lines for people) or ROTA_DESCRIBE_JSON (one
 *         object with the keys of the text; candidates are a list, and terms
 *         are what the plan does that a machine has a price for)
 * buf     receives at most *len bytes, always terminated; may be NULL if *len
 *         is 0
 * len     in: size of buf; out: bytes that the whole description needs, with
 *         its terminator. A value larger than the size passed in means that the
 *         text was cut short
 *
 * With ROTA_EXPLAIN=1 in the environment, rank 0 prints the text of every new
 * plan on standard error.
 *
 * With ROTA_TRACE=FILE in the environment of all ranks, each rank records what
 * its runs do and when, and writes it to FILE at the end, in the JSON form that
 * Perfetto and Chrome read; rota-draw --timeline draws it. FILE must be on a
 * file system that all ranks reach and that appends a whole write at once.
 *
 * With ROTA_RECORD=FOLDER, the counts of all starts are written to that folder,
 * for rota-bench, rota-price and rota-tune --replay (docs/guide.md).
 *
 * Local; does not block; allocates memory.
 * Errors: MPI_ERR_REQUEST for a NULL plan; MPI_ERR_ARG for NULL len, NULL buf
 * with *len > 0, or an unknown format; MPI_ERR_NO_MEM. */
ROTA_API int rota_plan_describe(const rota_plan *plan, int format, char *buf,
                                size_t *len);

/* Return the MPI error class (such as MPI_ERR_COUNT) of a code that a Rota
 * function returned, or of any other MPI error code. Use it instead of
 * MPI_Error_class: MPICH 4.0 cannot attach a text to a code of a predefined
 * class, so there Rota's codes belong to classes of their own. Local. Errors:
 * MPI_ERR_ARG for a NULL errorclass; those of MPI_Error_class for a value that
 * is not an error code. */
ROTA_API int rota_error_class(int code, int *errorclass);

/* Return the version of the library in use, in the form of
 * ROTA_VERSION_NUMBER. */
ROTA_API int rota_version(void);

/* -------------------------------------------------------------------------
 * Hints
 *
 * Hints are keys of an MPI_Info. Values must be the same on all ranks. An
 * unknown key that begins with rota_, or an unknown value, is an error that
 * lists the valid ones. So is an algorithm or rota_metadata that is not for the
 * plan. Other keys are ignored, and so are other values that the algorithm or
 * the kind of plan has no use for.
 *
 * Each hint also has an environment variable, for programs that cannot be
 * changed. The info object wins over it. Two are a promise of the program, and
 * their variables are ignored: rota_starts and rota_own_block. For plans that
 * ROTA_ALGORITHM or ROTA_METADATA is not for, it is ignored, and rank 0 of the
 * program says so once. What does not work at all (ROTA_DEVICE, and a file that
 * ROTA_TUNING_FILE names) is an error as that of a hint is, since a run without
 * it would say nothing of what was asked.
 *
 * Of every variable that begins with ROTA_: empty, it counts as not set; with a
 * value that is none it is ignored, and rank 0 prints once the variable, its
 * value and what is valid; likewise, which variables are unknown.
 *
 *   rota_algorithm  ROTA_ALGORITHM
 *       An algorithm by name (docs/algorithms.md). Without it, a plan follows
 *       the communicator's tuning. If that says nothing, it takes what is
 *       expected to be fastest, including MPI's own all-to-all. Parameters
 *       below that are not given are chosen likewise. At most 64 plans at a
 *       time on one communicator can use a collective of MPI's (mpi,
 *       padded_alltoall).
 *
 *   rota_batch  ROTA_BATCH
 *       Messages in flight in each direction, or steps of a batch: 1..2^20.
 *
 *   rota_radix  ROTA_RADIX
 *       Radix of logarithmic algorithms: 2..P. Larger values mean P, or the
 *       number of ranks of a node, or of nodes, if that is what the radix
 *       counts.
 *
 *   rota_leaders  ROTA_LEADERS
 *       Leaders per node, in algorithms that have several: 1..2^20. If a node
 *       has fewer ranks, all of them are leaders. Where ranks share their
 *       messages, there are at most as many as other nodes.
 *
 *   rota_pieces  ROTA_PIECES
 *       Messages in which a leader sends what it has for another node, in
 *       algorithms that gather one message while another is under way: 1..2^20.
 *       If that node has fewer ranks, one message for each.
 *
 *   rota_bundle  ROTA_BUNDLE
 *       Size in bytes of the longest block that travels together with others
 *       between nodes, in consensus_node and neighbor_node: 0..2^20. 0 means
 *       blocks of any size.
 *
 *   rota_node_size  ROTA_NODE_SIZE
 *       Let algorithms treat every so many ranks, in order, as a node: 1..2^20.
 *       There may be more or fewer such nodes than real ones. What memory is
 *       shared does not change.
 *
 *   rota_metadata  ROTA_METADATA
 *       How sizes travel if they are not known beforehand: once (when the plan
 *       is made; fixed plans), fused (with the data), two_phase (before the
 *       data), combined (with the data, after the length of both). Default if
 *       they must travel: fused; two_phase in direct exchanges with a max_block
 *       above 8 KiB; and for a published algorithm, what it was published with.
 *
 *   rota_packing  ROTA_PACKING
 *       pack (default) or datatype: whether blocks that travel together are
 *       copied to one place, or gathered by MPI (fixed plans).
 *
 *   rota_intranode  ROTA_INTRANODE
 *       How messages travel between ranks of one node: auto (default), shm
 *       (through shared memory), p2p (by MPI). cma is accepted and means shm.
 *
 *   rota_copied_once_from  ROTA_COPIED_ONCE_FROM
 *       Size in bytes, 1..2^20. A message of at least this size that lies end
 *       to end in the sender's memory of rota_mem_alloc is copied once, from
 *       there; a smaller one twice, through shared memory of the plan. Default:
 *       what the tuning says, else 8192; but 1536 for elements of a datatype and
 *       for borrowed blocks, if the node has a core for each rank. Plans for which
 *       no hint sets it now and then try both ways for messages of that size, from
 *       start to start, and go the faster one ("copied_once" of a description).
 *
 *   rota_attached_from  ROTA_ATTACHED_FROM
 *       Size in bytes, 1..2^20; 2^20: never. A message of at least this size that
 *       lies end to end in private memory of its sender, such as malloc's, is copied
 *       once, by the kernel (process_vm_readv), if all ranks may read each other's
 *       memory; a smaller one twice, through shared memory of the plan.
 *       Default: where a rank sends 512 KiB or more to others of its node in a start,
 *       messages of 32 KiB or more go either way, whichever the plan finds to be
 *       faster: 16 of every 1,024 starts, from the seventh on, go both ways in turn.
 *
 *   rota_progress  ROTA_PROGRESS
 *       What advances a plan once it is started. docs/guide.md has a table of
 *       all this.
 *       calls (default): only Rota calls.
 *       mpi: also MPI calls. Once a rank has started a plan it may block in
 *       MPI, and the others go on. All messages go by MPI, as with
 *       rota_intranode = p2p, in one round, by spread_out unless rota_algorithm
 *       is given. For an exchange this works only with a max_block.
 *       thread: also a thread of the process. Once a rank has started a plan it
 *       may block in MPI, compute, sleep, or handle a signal that did not
 *       interrupt a Rota call, and the others go on. The process has one such
 *       thread, which ends with the last communicator that has had such a plan.
 *       While it exists every Rota call takes a lock, some 10 to 20 ns. It
 *       works under every level of threads. It sleeps until another rank calls
 *       it, and moves messages within the node after that rank has waited for
 *       them for half a millisecond, or has tested some dozens of times. MPI
 *       carries the messages to other nodes. As with p2p it carries all
 *       messages where the thread cannot work: in a process that uses a device;
 *       if no thread can be started; and, except under MPI_THREAD_MULTIPLE, for
 *       types that are not contiguous.
 *       Under MPI_THREAD_MULTIPLE on all ranks, the thread calls MPI as well,
 *       wakes every few milliseconds for that, and advances plans of all kinds
 *       that use no device. Under lower levels it does not call MPI. The
 *       messages that MPI carries then advance in MPI calls if the plan is not
 *       an exchange and has one round of no more messages than may be in flight
 *       (rota_batch). Otherwise they need Rota calls.
 *
 *   rota_device  ROTA_DEVICE
 *       How blocks in device memory travel.
 *       copy_to_cpu: by way of the host.
 *       cuda_aware: MPI takes them from the device. It is an error if MPI does
 *       not say that it can, or if Rota itself would have to copy them.
 *       cuda_ipc: the receiver's device copies them from the sender's. It is an
 *       error if it cannot. All ranks must have freed the plan before one of
 *       them frees memory that was its sendbuf.
 *       auto (default): cuda_ipc or copy_to_cpu, by expected times, if all
 *       buffers of a fixed plan are on devices of one node and the other ranks
 *       can open them; otherwise copy_to_cpu.
 *
 *   rota_choose  ROTA_CHOOSE
 *       How to choose. model (default): by the tuning, else by expected times.
 *       measure: the most promising candidates run on buffers of their own, and
 *       the fastest becomes a row of the tuning.
 *
 *   rota_measure_ms  ROTA_MEASURE_MS
 *       Milliseconds that measuring may take once all plans to be measured are
 *       made: 1..2^20 (default 100).
 *
 *   rota_tuning_file  ROTA_TUNING_FILE
 *       A tuning file for the communicator (see rota_tuning_import), read by
 *       rank 0. Default: the user's file, $XDG_CONFIG_HOME/rota/tuning.json or
 *       ~/.config/rota/tuning.json, else the system's, if there is one.
 *
 *   rota_starts
 *       Who starts a plan for neighbours. all (default): every rank. partners:
 *       a rank whose lists name no other rank may leave out any starts, and in a
 *       fixed plan so may one whose blocks to and from other ranks are all
 *       empty: no rank forwards for others or waits for such a rank. All ranks
 *       make the plan. It is an error to ask for an algorithm that forwards
 *       (neighbor_node). Of other plans, sparse exchanges too, all ranks start
 *       each.
 *
 *   rota_own_block
 *       copied (default), or left: the program itself moves what a rank has for
 *       itself. The counts of that block then mean 0 on both sides, and an
 *       exchange says that none came. It may overlap any other, in both buffers.
 *       (Of a sparse exchange, leave the own rank out of the destinations.)
 *
 *   rota_largest_unit  ROTA_LARGEST_UNIT
 *       Bytes of the largest unit that rota_plan_set_unit may give a fixed plan:
 *       1..2^20. The type that the plan is made with is its first unit. Sizes
 *       are then known to both ends of a message, but not to those that forward
 *       it: algorithms that forward send them along, as in varying plans. For
 *       plans with a type for each block it is an error (MPI_ERR_ARG): see
 *       rota_plan_set_unit.
 *
 *   rota_check  ROTA_CHECK
 *       on (default) or off: whether init checks that counts match across ranks
 *       and that no receive block overlaps another block. (Blocks of plain bytes
 *       are always compared; blocks of other datatypes only if they have at
 *       most 2^16 rows in all.) With off, counts that do not match have
 *       undefined results: an algorithm that forwards blocks may deliver wrong
 *       data even to ranks whose counts do match, and rota_wait may succeed.
 * ---------------------------------------------------------------------- */

#ifdef __cplusplus
}
#endif

#endif /* ROTA_H */
