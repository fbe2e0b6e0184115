/* rota.h - plan an all-to-all once, run it thousands of times.
 *
 * A plan holds everything about a non-uniform all-to-all that does not change
 * from one execution to the next: counts, buffers, the chosen algorithm and
 * its schedule, scratch memory and persistent requests. Executing it does no
 * allocation, looks nothing up, and sends only what the schedule says.
 *
 * Rules that hold for every function here
 *
 *   Errors. Functions return MPI_SUCCESS or an MPI error code, after raising
 *   it through the error handler of the communicator that was passed or that
 *   the plan is of (of MPI_COMM_SELF where there is none or it was freed; of
 *   MPI_COMM_WORLD before MPI 4). MPI_Error_string
 *   gives a text that names the function, the argument, the value and, but for
 *   NULL handles and what all ranks find alike, the rank, until eight more
 *   errors of the same class have occurred; rota_error_class gives the class.
 *   Output arguments are set only on success. After MPI has failed in a message
 *   of a plan, the plan can only be freed.
 *
 *   Collective functions must be called by all ranks of the communicator, in
 *   the same order. An error that one rank finds in its arguments is agreed
 *   on: every rank returns an error of the same class and no plan is made. A
 *   communicator that is invalid on one rank only is beyond agreement: that
 *   rank returns and the others wait, as in MPI.
 *
 *   Progress. Plans move only inside Rota calls: rota_test and rota_wait on
 *   any plan, and the functions that make plans, advance every active plan of
 *   the process. Calls of MPI do not, so a rank that waits in MPI for a rank
 *   that waits for it in Rota waits for ever, unless the hint rota_progress is
 *   given: it says which plans go on then.
 *
 *   Waiting spins briefly and then gives the processor up, so that more ranks
 *   than cores do not starve each other: it yields as long as all ranks of the
 *   node do and that is fast, and else sleeps until it is woken. Where nothing
 *   has got on for ROTA_STALL_S seconds (an environment variable; 60 unless set,
 *   0: never), one of the ranks that wait on a host says so on standard error,
 *   once: in which plan, algorithm and phase, for which ranks and, of those on
 *   its node, whether they sleep in a wait of Rota's, do not, or are gone.
 *
 *   Ranks that die. Where the process of a rank of the node is killed, waits and
 *   tests of the communicator's plans fail within some seconds (MPI_ERR_OTHER, with
 *   the rank), also where MPI carries their messages, if the two ranks share node
 *   memory by any plan on it; such a plan can only be freed. Of other ranks Rota
 *   knows what MPI reports.
 *
 *   Threads. One thread at a time per plan. Under MPI_THREAD_MULTIPLE
 *   different threads may use different plans; under the lower levels Rota
 *   calls count as MPI calls.
 *
 *   Order. Plans may be started in any order, which may differ among ranks,
 *   with any number of plans in flight on one communicator. As in MPI, once
 *   one rank has started a plan all ranks must.
 *
 *   Memory. Either buffer may be memory of the host or, in a process that uses
 *   CUDA when the plan is made, of a device (see rota_plan_set_stream and the
 *   hint rota_device).
 *
 * A plan is inactive when made, active from a start until the wait or test
 * that completes it, then inactive again. While it is active its send buffer
 * must not be written and its receive buffer not touched.
 */
#ifndef ROTA_H
#define ROTA_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define ROTA_VERSION_MAJOR 1
#define ROTA_VERSION_MINOR 0
#define ROTA_VERSION_PATCH 0
/* 0x00MMmmpp; rota_version gives the same of the library in use. */
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

/* A plan. Made by a rota_..._init function, freed by rota_plan_free. */
typedef struct rota_plan rota_plan;

/* max_block of a varying plan whose blocks have no bound known beforehand. */
#define ROTA_UNBOUNDED SIZE_MAX

/* Formats of rota_plan_describe. */
enum { ROTA_DESCRIBE_TEXT = 0, ROTA_DESCRIBE_JSON = 1 };

/* -------------------------------------------------------------------------
 * Making plans: fixed counts
 * ---------------------------------------------------------------------- */

/* Plan an all-to-all with fixed counts and buffers. Arguments and meaning are
 * those of MPI_Alltoallv_init.
 *
 * sendbuf     start of the send buffer, or MPI_IN_PLACE on all ranks; its
 *             contents may change between starts, its address only through
 *             rota_plan_set_buffers. May be NULL if nothing is sent.
 * sendcounts  [P] elements of sendtype for each rank; 0 sends no message
 * sdispls     [P] displacements from sendbuf, in extents of sendtype
 * sendtype    committed datatype; its signature times sendcounts[d] equals
 *             the signature that rank d expects, the type maps may differ
 * recvbuf     start of the receive buffer
 * recvcounts  [P], rdispls [P], recvtype: likewise; no byte may be of two
 *             receive blocks, or of a receive block and a send block
 * comm        intra-communicator of P ranks; may be freed after the call
 * info        hints (see "Hints" below), or MPI_INFO_NULL
 * plan        set to the new plan, inactive
 *
 * Rota copies counts and displacements and keeps what it needs of the types:
 * arrays may be reused and types freed as soon as the call returns. With
 * MPI_IN_PLACE, sendcounts, sdispls and sendtype are ignored.
 *
 * Collective over comm; blocks. Cost: O(log P) small messages to agree and as
 * many to check counts across ranks (the latter can be switched off with the
 * hint rota_check), O(P) memory for direct algorithms and O(P log P) for
 * logarithmic ones; the first plan on a communicator duplicates it.
 *
 * Errors: MPI_ERR_COMM for a null or inter-communicator; MPI_ERR_ARG for NULL
 * arrays or plan, for overlapping receive blocks, for an unknown hint or value
 * and for ranks that disagree on hints or kind of plan; MPI_ERR_COUNT for a
 * negative count, for a pair of ranks whose counts do not match and for sizes
 * beyond the address space (where the count is 0 no displacement is looked at);
 * MPI_ERR_BUFFER for a NULL buffer with data in it, for a send and a receive
 * block that overlap and for MPI_IN_PLACE as recvbuf; MPI_ERR_TYPE for a null or uncommitted
 * type; MPI_ERR_NO_MEM; MPI_ERR_OTHER where MPI_Init was not called, with a text
 * if comm comes from a session. */
ROTA_API int rota_alltoallv_init(const void *sendbuf, const int sendcounts[],
                                 const int sdispls[], MPI_Datatype sendtype,
                                 void *recvbuf, const int recvcounts[],
                                 const int rdispls[], MPI_Datatype recvtype,
                                 MPI_Comm comm, MPI_Info info,
                                 rota_plan **plan);

/* As rota_alltoallv_init, with counts and displacements beyond 2^31. */
ROTA_API int
rota_alltoallv_init_c(const void *sendbuf, const MPI_Count sendcounts[],
                      const MPI_Aint sdispls[], MPI_Datatype sendtype,
                      void *recvbuf, const MPI_Count recvcounts[],
                      const MPI_Aint rdispls[], MPI_Datatype recvtype,
                      MPI_Comm comm, MPI_Info info, rota_plan **plan);

/* Plan an all-to-all with one count for all pairs. Arguments and meaning are
 * those of MPI_Alltoall_init; the rest as for rota_alltoallv_init. */
ROTA_API int rota_alltoall_init(const void *sendbuf, int sendcount,
                                MPI_Datatype sendtype, void *recvbuf,
                                int recvcount, MPI_Datatype recvtype,
                                MPI_Comm comm, MPI_Info info, rota_plan **plan);

/* As rota_alltoall_init, with counts beyond 2^31. */
ROTA_API int rota_alltoall_init_c(const void *sendbuf, MPI_Count sendcount,
                                  MPI_Datatype sendtype, void *recvbuf,
                                  MPI_Count recvcount, MPI_Datatype recvtype,
                                  MPI_Comm comm, MPI_Info info,
                                  rota_plan **plan);

/* Plan an all-to-all in which each block has a datatype of its own. Arguments and
 * meaning are those of MPI_Alltoallw_init.
 *
 * sendbuf, sendcounts  as for rota_alltoallv_init, in elements of the block's type
 * sdispls     [P] displacements from sendbuf, in bytes
 * sendtypes   [P] committed datatypes; where the count is 0 any handle will do
 * recvbuf, recvcounts [P], rdispls [P], recvtypes [P]: likewise
 * comm, info, plan  as for rota_alltoallv_init
 *
 * Arrays may be reused and types freed as soon as the call returns. With
 * MPI_IN_PLACE, sendcounts, sdispls and sendtypes are ignored. A buffer may be
 * MPI_BOTTOM where types or displacements have addresses in them. Types that are
 * given for several blocks are kept once.
 *
 * All ranks of comm call this function and not rota_alltoallv_init. Collective
 * over comm; blocks. Cost: as rota_alltoallv_init, and a look at each type.
 * Errors: as rota_alltoallv_init. */
ROTA_API int rota_alltoallw_init(const void *sendbuf, const int sendcounts[],
                                 const int sdispls[],
                                 const MPI_Datatype sendtypes[], void *recvbuf,
                                 const int recvcounts[], const int rdispls[],
                                 const MPI_Datatype recvtypes[], MPI_Comm comm,
                                 MPI_Info info, rota_plan **plan);

/* As rota_alltoallw_init, with counts and displacements beyond 2^31. */
ROTA_API int
rota_alltoallw_init_c(const void *sendbuf, const MPI_Count sendcounts[],
                      const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                      void *recvbuf, const MPI_Count recvcounts[],
                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                      MPI_Comm comm, MPI_Info info, rota_plan **plan);

/* -------------------------------------------------------------------------
 * Making plans: neighbours
 *
 * Plans among the neighbours of a process topology: distributed graphs
 * (MPI_Dist_graph_create_adjacent, MPI_Dist_graph_create), graphs
 * (MPI_Graph_create) and Cartesian grids (MPI_Cart_create). A rank has S
 * destinations, to which it sends a block each, and R sources, in the order in
 * which MPI's inquiry functions list them; in a grid of n dimensions S = R = 2n,
 * and neighbours 2d and 2d + 1 are those below and above along dimension d. A
 * rank may be listed several times, and may be its own neighbour. Of several
 * blocks from one rank to another the first in the list of destinations is the
 * first in the list of sources; in a grid what goes down a dimension arrives
 * from above, also where a dimension has one rank or two. Where a grid ends
 * there is no neighbour (MPI_PROC_NULL): its blocks are neither sent nor
 * touched, whatever their counts.
 *
 * A plan holds nothing that grows with the number of ranks, and making one takes
 * O(log P) small messages of agreement besides those among neighbours.
 * ---------------------------------------------------------------------- */

/* Plan an exchange among neighbours with fixed counts and buffers. Arguments and
 * meaning are those of MPI_Neighbor_alltoallv_init.
 *
 * sendbuf     start of the send buffer; blocks of it may overlap, and its
 *             address may change through rota_plan_set_buffers. May be NULL if
 *             nothing is sent. MPI_IN_PLACE is not allowed
 * sendcounts  [S] elements of sendtype for each destination
 * sdispls     [S] displacements from sendbuf, in extents of sendtype
 * recvcounts  [R], rdispls [R], recvtype: likewise, of each source
 * comm        intra-communicator with a process topology; may be freed after the
 *             call
 * sendtype, recvbuf, info, plan  as for rota_alltoallv_init
 *
 * Collective over comm; blocks. Cost: O(log P) small messages to agree and,
 * unless rota_check is off, to check counts; memory O(S + R), and where messages
 * are put together for other nodes O(S + R) of all ranks of the node.
 *
 * Errors: as rota_alltoallv_init; MPI_ERR_TOPOLOGY for a communicator without a
 * process topology, and for a rank that has another as its destination more
 * often than that has it as a source, or less often; MPI_ERR_BUFFER also for
 * MPI_IN_PLACE. */
ROTA_API int
rota_neighbor_alltoallv_init(const void *sendbuf, const int sendcounts[],
                             const int sdispls[], MPI_Datatype sendtype,
                             void *recvbuf, const int recvcounts[],
                             const int rdispls[], MPI_Datatype recvtype,
                             MPI_Comm comm, MPI_Info info, rota_plan **plan);

/* As rota_neighbor_alltoallv_init, with counts and displacements beyond 2^31. */
ROTA_API int rota_neighbor_alltoallv_init_c(
    const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
    MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
    const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
    MPI_Info info, rota_plan **plan);

/* Plan an exchange among neighbours with a datatype for each block. Arguments and
 * meaning are those of MPI_Neighbor_alltoallw_init: sendtypes [S] and recvtypes
 * [R], and displacements in bytes, of type MPI_Aint in both forms. Otherwise as
 * rota_neighbor_alltoallv_init; types of blocks without elements are not looked
 * at. */
ROTA_API int rota_neighbor_alltoallw_init(
    const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
    const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
    MPI_Info info, rota_plan **plan);

/* As rota_neighbor_alltoallw_init, with counts beyond 2^31. */
ROTA_API int rota_neighbor_alltoallw_init_c(
    const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
    const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],
    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
    MPI_Info info, rota_plan **plan);

/* Plan an exchange among neighbours with one count for all. Arguments and meaning
 * are those of MPI_Neighbor_alltoall_init; the rest as for
 * rota_neighbor_alltoallv_init. */
ROTA_API int rota_neighbor_alltoall_init(const void *sendbuf, int sendcount,
                                         MPI_Datatype sendtype, void *recvbuf,
                                         int recvcount, MPI_Datatype recvtype,
                                         MPI_Comm comm, MPI_Info info,
                                         rota_plan **plan);

/* As rota_neighbor_alltoall_init, with counts beyond 2^31. */
ROTA_API int rota_neighbor_alltoall_init_c(const void *sendbuf,
                                           MPI_Count sendcount,
                                           MPI_Datatype sendtype, void *recvbuf,
                                           MPI_Count recvcount,
                                           MPI_Datatype recvtype, MPI_Comm comm,
                                           MPI_Info info, rota_plan **plan);

/* -------------------------------------------------------------------------
 * Making plans: varying counts
 * ---------------------------------------------------------------------- */

/* Plan all-to-alls whose counts and buffers are given anew at each start.
 *
 * max_block  no block will be larger than this many bytes, or ROTA_UNBOUNDED;
 *            the same on all ranks
 * type       datatype of all blocks, on both sides; the same on all ranks
 * comm, info, plan  as for rota_alltoallv_init
 *
 * Collective over comm; blocks. Cost: O(log P) small messages and, for algorithms
 * that forward blocks, one run with 8 bytes a block.
 * Errors: as rota_alltoallv_init; MPI_ERR_ARG also for ranks that disagree on
 * max_block or on the size of type. */
ROTA_API int rota_alltoallv_varying_init(size_t max_block, MPI_Datatype type,
                                         MPI_Comm comm, MPI_Info info,
                                         rota_plan **plan);

/* Start a varying plan. Arguments as for MPI_Alltoallv, with the plan's type
 * on both sides: the receiver knows its counts. sendbuf may be MPI_IN_PLACE,
 * on all ranks in the same start.
 *
 * Buffers stay in use until the plan completes; arrays may be reused at once.
 * Local; does not block. Cost: O(P) and the posting of the first messages.
 *
 * A block above max_block is left out by its sender and its receiver, all
 * other blocks are exchanged, and the rota_wait or rota_test that completes
 * the plan returns a code of class MPI_ERR_COUNT on the two ranks of that
 * pair, whose text has the size needed. That code is returned without raising
 * the error handler, and the plan can be started again.
 *
 * Counts of two ranks that do not match are a mistake, as in MPI. Where Rota
 * sees it, wait or test fails on the receiver with MPI_ERR_COUNT, whose text has
 * the sizes of the block or, where several come in one message, their sum and the
 * rank that sent the message. Where MPI carries a block by itself, one that is too
 * long is an error of MPI's, and one that is too short may go unnoticed; so may
 * blocks of one message that are wrong but not in sum.
 *
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, active or not a varying
 * one; MPI_ERR_ARG for NULL arrays; MPI_ERR_COUNT for a negative count, one
 * beyond the address space, and a rank's own block whose two counts differ;
 * MPI_ERR_BUFFER for a NULL buffer with data in it and, if sendbuf is recvbuf
 * and rota_check is on, for a send and a receive block that overlap;
 * MPI_ERR_NO_MEM where an in-place start needs more staging memory than there is. Then nothing is
 * started. */
ROTA_API int rota_alltoallv_start(rota_plan *plan, const void *sendbuf,
                                  const int sendcounts[], const int sdispls[],
                                  void *recvbuf, const int recvcounts[],
                                  const int rdispls[]);

/* As rota_alltoallv_start, with counts and displacements beyond 2^31. */
ROTA_API int rota_alltoallv_start_c(rota_plan *plan, const void *sendbuf,
                                    const MPI_Count sendcounts[],
                                    const MPI_Aint sdispls[], void *recvbuf,
                                    const MPI_Count recvcounts[],
                                    const MPI_Aint rdispls[]);

/* As rota_alltoallv_varying_init, among the neighbours of comm's process
 * topology: the arrays of a start have entries for S destinations and R sources,
 * and sendbuf is not MPI_IN_PLACE. Errors: also MPI_ERR_TOPOLOGY, as
 * rota_neighbor_alltoallv_init. */
ROTA_API int rota_neighbor_alltoallv_varying_init(size_t max_block,
                                                  MPI_Datatype type,
                                                  MPI_Comm comm, MPI_Info info,
                                                  rota_plan **plan);

/* -------------------------------------------------------------------------
 * Exchanges: receive counts unknown
 * ---------------------------------------------------------------------- */

/* Plan all-to-alls whose receivers know nothing beforehand: each start gives
 * what this rank sends, and the wait gives what it got, from whom, packed in
 * rank order. It takes the place of an MPI_Alltoall of the counts followed by
 * an MPI_Alltoallv: counts and data travel in the same messages.
 *
 * max_block, type, comm, info, plan  as for rota_alltoallv_varying_init; the
 *            data of type lie between 0 and its extent
 *
 * Blocks come in the plan's own buffer, which grows as needed, or in one given
 * by rota_exchange_set_buffer. With a bound the plan holds room for that much
 * in every message; with ROTA_UNBOUNDED memory follows the data.
 *
 * Collective over comm; blocks. Errors: as rota_alltoallv_varying_init. */
ROTA_API int rota_exchange_init(size_t max_block, MPI_Datatype type,
                                MPI_Comm comm, MPI_Info info, rota_plan **plan);

/* As rota_exchange_init, among the neighbours of comm's process topology: a
 * start gives counts for S destinations, and a wait has those of R sources,
 * whose blocks are packed in the order of the list. Errors: also
 * MPI_ERR_TOPOLOGY, as rota_neighbor_alltoallv_init. */
ROTA_API int rota_neighbor_exchange_init(size_t max_block, MPI_Datatype type,
                                         MPI_Comm comm, MPI_Info info,
                                         rota_plan **plan);

/* Start an exchange. sendbuf, sendcounts [P] and sdispls [P] as for
 * MPI_Alltoallv; MPI_IN_PLACE is not allowed. The send buffer stays in use
 * until rota_exchange_wait and must not be the plan's own, in which blocks may
 * come from now on; arrays may be reused at once. Local; does not block.
 * Messages that grow, in the first starts, allocate memory.
 *
 * A block above max_block is left out, as in rota_alltoallv_start, and
 * reported by rota_exchange_wait to its sender and its receiver.
 *
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, active or not an exchange;
 * MPI_ERR_ARG for NULL arrays; MPI_ERR_COUNT for a negative count or one beyond
 * the address space; MPI_ERR_BUFFER for a NULL buffer with data in it or
 * MPI_IN_PLACE. */
ROTA_API int rota_exchange_start(rota_plan *plan, const void *sendbuf,
                                 const int sendcounts[], const int sdispls[]);

/* As rota_exchange_start, with counts and displacements beyond 2^31. */
ROTA_API int rota_exchange_start_c(rota_plan *plan, const void *sendbuf,
                                   const MPI_Count sendcounts[],
                                   const MPI_Aint sdispls[]);

/* Wait for an exchange and collect its blocks.
 *
 * recvbuf     set to the buffer the blocks are in, packed in rank order; it is
 *             valid until the next start of this plan or its end. May be set
 *             to NULL where nothing came.
 * recvcounts  [P] set to the elements that came from each rank, or NULL
 * rdispls     [P] set to the place of each block, in elements, or NULL
 *
 * Local but for the waiting. rota_test tells whether it would block; the plan
 * stays active until this call.
 *
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, not active or not an
 * exchange; MPI_ERR_ARG for NULL recvbuf; what MPI reported. Returned without
 * raising the error handler: MPI_ERR_BUFFER where the blocks do not fit the
 * caller's buffer (arrays are set, the text has the size needed), MPI_ERR_COUNT
 * where a count does not fit an int, MPI_ERR_NO_MEM; after these three the plan
 * stays active with its blocks, for another buffer, rota_exchange_wait_c, or
 * another wait when there is memory, for which other ranks may have to wait;
 * and MPI_ERR_COUNT for a block above the bound, with all else delivered. */
ROTA_API int rota_exchange_wait(rota_plan *plan, void **recvbuf,
                                int recvcounts[], int rdispls[]);

/* As rota_exchange_wait, with counts and displacements beyond 2^31. */
ROTA_API int rota_exchange_wait_c(rota_plan *plan, void **recvbuf,
                                  MPI_Count recvcounts[], MPI_Aint rdispls[]);

/* Have blocks put into a buffer of the caller's, capacity bytes long, from the
 * next rota_exchange_wait or rota_exchange_wait_sparse on; NULL returns to the
 * plan's own. Local.
 * Errors: MPI_ERR_REQUEST for a plan that is NULL or no exchange of either
 * kind. */
ROTA_API int rota_exchange_set_buffer(rota_plan *plan, void *buffer,
                                      size_t capacity);

/* -------------------------------------------------------------------------
 * Sparse exchanges: few partners, which change and do not know each other
 * ---------------------------------------------------------------------- */

/* Plan exchanges in which each rank lists the few ranks it sends to, anew at
 * each start, and each wait lists those that have sent to it. No argument has P
 * entries. For sends to most ranks rota_exchange_init is faster.
 *
 * type  datatype of all blocks; the same size on all ranks; its data lie between
 *       0 and its extent
 * comm, info, plan  as for rota_alltoallv_init. There is one algorithm,
 *       consensus, whatever rota_algorithm says: ranks that share memory count
 *       themselves in there, and others find out by messages of MPI that
 *       nothing more can come. rota_node_size divides the ranks of a node.
 *
 * Collective over comm; blocks. Cost: O(log P) small messages, O(P) time; memory
 * of 64 KiB and O(ranks of the node).
 * Errors: as rota_alltoallv_varying_init. */
ROTA_API int rota_exchange_init_sparse(MPI_Datatype type, MPI_Comm comm,
                                       MPI_Info info, rota_plan **plan);

/* Start a sparse exchange.
 *
 * sendbuf     start of the send buffer, in memory of the host; MPI_IN_PLACE is
 *             not allowed
 * n           ranks to send to; 0 is allowed, and then all that follows may be
 *             NULL
 * dests       [n] ranks, each once, in any order; this rank may be one of them
 * sendcounts  [n] elements for each. With 0 elements the receiver learns of the
 *             block as of any other: leave out those who need not know.
 * sdispls     [n] displacements from sendbuf, in extents of the type
 *
 * A block is what the sender makes of it: a tag or a step's number goes in front
 * of the data, in a type of structs or of bytes.
 *
 * The send buffer stays in use until rota_exchange_wait_sparse; arrays may be
 * reused at once. Local; does not block. Cost: O(n), or O(n log n) for dests out
 * of order, and the posting of the messages. Starts with more blocks than any
 * before allocate memory. All ranks must start, also those that send nothing.
 *
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, active or not a sparse
 * exchange; MPI_ERR_ARG for NULL arrays, a rank in dests that there is not or
 * that comes twice; MPI_ERR_COUNT for a negative n or count, or one beyond the
 * address space; MPI_ERR_BUFFER for a NULL buffer with data in it, memory of a
 * device or MPI_IN_PLACE; MPI_ERR_NO_MEM. Then nothing is started. */
ROTA_API int rota_exchange_start_sparse(rota_plan *plan, const void *sendbuf,
                                        int n, const int dests[],
                                        const int sendcounts[],
                                        const int sdispls[]);

/* As rota_exchange_start_sparse, with counts and displacements beyond 2^31. */
ROTA_API int rota_exchange_start_sparse_c(rota_plan *plan, const void *sendbuf,
                                          int n, const int dests[],
                                          const MPI_Count sendcounts[],
                                          const MPI_Aint sdispls[]);

/* Wait for a sparse exchange and collect its blocks. It returns when all ranks
 * have started the exchange and all blocks for this one are here.
 *
 * recvbuf     set to the buffer the blocks are in, end to end by rank; it is the
 *             plan's own or that of rota_exchange_set_buffer. May be set to NULL
 *             where nothing came.
 * n_sources   set to how many ranks have sent a block
 * sources     set to an array of these ranks, ascending, or NULL
 * recvcounts  set to an array of the elements from each, or NULL
 * rdispls     set to an array of the places of their blocks, in extents of the
 *             type from recvbuf, or NULL
 *
 * The arrays, of n_sources entries, are the plan's; they and the plan's own
 * buffer are valid until its next start or end.
 *
 * Local but for the waiting. rota_test tells whether it would block; the plan
 * stays active until this call. Cost: O(blocks) copies, sorting their ranks.
 *
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, not active or not a sparse
 * exchange; MPI_ERR_ARG for NULL recvbuf or n_sources; what MPI reported.
 * Returned without raising the error handler: MPI_ERR_BUFFER where the blocks do
 * not fit the caller's buffer (n_sources and the arrays are set, the text has the
 * size needed), MPI_ERR_COUNT where a count does not fit an int, MPI_ERR_NO_MEM;
 * after these three the plan stays active with its blocks, for another buffer or
 * rota_exchange_wait_sparse_c. */
ROTA_API int rota_exchange_wait_sparse(rota_plan *plan, void **recvbuf,
                                       int *n_sources, const int **sources,
                                       const int **recvcounts,
                                       const int **rdispls);

/* As rota_exchange_wait_sparse, with counts and displacements beyond 2^31. */
ROTA_API int rota_exchange_wait_sparse_c(rota_plan *plan, void **recvbuf,
                                         int *n_sources, const int **sources,
                                         const MPI_Count **recvcounts,
                                         const MPI_Aint **rdispls);

/* -------------------------------------------------------------------------
 * Running plans
 * ---------------------------------------------------------------------- */

/* Start a fixed plan on its current buffers.
 * Local; does not block; no allocation. Copies that need no peer (the rank's
 * own block) are made here.
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, active, or varying (use
 * rota_alltoallv_start). */
ROTA_API int rota_start(rota_plan *plan);

/* Start n fixed plans, plans[0] first. Local; does not block. Stops at the
 * first error; plans started before it stay active.
 * Errors: as rota_start; MPI_ERR_COUNT for a negative n; MPI_ERR_ARG for a NULL
 * array. */
ROTA_API int rota_startall(int n, rota_plan *const plans[]);

/* Advance every active plan of the process; flag is set to 1 if this plan is
 * complete, after which it is inactive, else to 0. On an inactive plan flag
 * is 1. Local; does not block.
 * Errors: MPI_ERR_REQUEST for a NULL plan; MPI_ERR_ARG for a NULL flag; what
 * MPI reported for a message of this plan, then it is inactive; MPI_ERR_COUNT
 * for a block above the bound (see rota_alltoallv_start); MPI_ERR_NO_MEM,
 * returned without raising the error handler, where a varying plan needs more
 * memory than there is: the plan stays active, and goes on in the next call
 * that finds memory. */
ROTA_API int rota_test(rota_plan *plan, int *flag);

/* Wait until the plan is complete; then it is inactive. Returns at once on an
 * inactive plan. A rank's wait returns when its own blocks have arrived and
 * its send buffer may be reused; it says nothing of other ranks. Blocks.
 * Errors: as rota_test; MPI_ERR_REQUEST also for an active exchange, which is
 * for rota_exchange_wait or rota_exchange_wait_sparse. See "Ranks that die"
 * above. */
ROTA_API int rota_wait(rota_plan *plan);

/* Wait for n plans, in any order of completion. Returns the first error found,
 * in order of the array, after all are complete.
 * Exchanges are waited for one by one, in any order: each wait advances all that is
 * active.
 * Errors: as rota_wait; MPI_ERR_COUNT for a negative n; MPI_ERR_ARG for a NULL
 * array. */
ROTA_API int rota_waitall(int n, rota_plan *const plans[]);

/* Use other buffers from the next start on. Counts, displacements and types
 * stay, a plan that was made for memory of the host gets none of a device, and
 * one whose blocks go from device to device (rota_device = cuda_ipc) no sendbuf
 * that other ranks cannot open; MPI_IN_PLACE must be given again if the plan was
 * made with it, and only then. Ranks may call it independently of each other.
 * Local; does not block.
 * Errors: MPI_ERR_REQUEST for a plan that is NULL, active or varying;
 * MPI_ERR_BUFFER for a NULL buffer with data in it, a misplaced MPI_IN_PLACE,
 * send and receive blocks that overlap (unless rota_check is off), or memory of a
 * kind that the plan cannot take. */
ROTA_API int rota_plan_set_buffers(rota_plan *plan, const void *sendbuf,
                                   void *recvbuf);

/* Let a plan whose buffers are on a device take its place in a stream of the
 * program's, without the host waiting for the device. From the next start on
 *
 *   what was put in the stream before a start is done before the plan reads its
 *   send buffer or writes its receive buffer on the device: a kernel may still
 *   be filling the one when the plan is started;
 *
 *   what is put in the stream after rota_wait, rota_exchange_wait, or the
 *   rota_test that completes the plan, comes after what the plan writes on the
 *   device. These calls then no longer wait for the receive buffer: when they
 *   return it is for the stream to read, not for the host or other streams.
 *
 * Without a stream, data must be on the device before a start, and are there
 * after the wait; the host knows nothing of kernels either.
 *
 * stream  a cudaStream_t or CUstream, NULL being the default stream; it must
 *         live until it is replaced or the plan is freed. ROTA_NO_STREAM: no
 *         stream from now on
 *
 * It makes no difference to a plan whose buffers are memory of the host. Local;
 * does not block. Errors: MPI_ERR_REQUEST for a plan that is NULL or active. */
#define ROTA_NO_STREAM ((void *)-1)
ROTA_API int rota_plan_set_stream(rota_plan *plan, void *stream);

/* Free an inactive plan and set *plan to NULL; *plan == NULL is allowed and
 * does nothing. Copies of the handle are invalid from then on, and to use one is
 * undefined. The memory of a plan in whose messages MPI failed is not given
 * back, since MPI may still write to it. Local; does not block.
 * Errors: MPI_ERR_ARG if plan is NULL; MPI_ERR_REQUEST if the plan is active,
 * MPI_ERR_OTHER after MPI_Finalize: it is then left as it was. */
ROTA_API int rota_plan_free(rota_plan **plan);

/* -------------------------------------------------------------------------
 * Memory that the other ranks of a node reach directly
 * ---------------------------------------------------------------------- */

/* Allocate memory for buffers. Plans of any communicator copy from it to
 * another rank of the node in one step, where data in other memory take two or
 * a system call; any memory works. Where ranks cannot share memory it is
 * ordinary memory, and rota_plan_describe says why.
 *
 * bytes  size of this rank's own allocation, which may differ among ranks; its
 *        pages are taken at once, from the NUMA domain that the rank runs on
 * comm   intra-communicator; the ranks of each of its nodes map each other's
 *        memory, unless they have already
 * info   hints, or MPI_INFO_NULL; with rota_intranode = p2p the memory is
 *        ordinary
 * ptr    address of a pointer of any type, set to the memory, which begins on
 *        a page and is to be freed by rota_mem_free
 *
 * A child that the process forks has the memory too, where it is shared: it
 * reads what is there, and what it writes the process and the other ranks of the
 * node see. It may call neither Rota nor MPI, must end by _exit or exec, and must
 * not touch buffers of a plan that is active. Ordinary memory is copied when it
 * forks, as any other.
 *
 * Collective over comm; blocks.
 * Errors: MPI_ERR_COMM as for rota_alltoallv_init; MPI_ERR_ARG for a NULL ptr
 * and for hints; MPI_ERR_NO_MEM on all ranks if one of them has no memory. */
ROTA_API int rota_mem_alloc(size_t bytes, MPI_Comm comm, MPI_Info info,
                            void *ptr);

/* Free memory of rota_mem_alloc and set the pointer to NULL; a pointer that is
 * NULL is allowed and does nothing. No active plan may use the memory. It may be
 * called after the communicator was freed and after MPI_Finalize.
 *
 * ptr  address of the pointer
 *
 * Local; does not block. Errors: MPI_ERR_ARG if ptr is NULL or the memory is
 * not of rota_mem_alloc. */
ROTA_API int rota_mem_free(void *ptr);

/* -------------------------------------------------------------------------
 * Tuning: what measurements have taught
 *
 * The prices of a machine and rows that say which algorithm was best for which
 * kind of all-to-all, kept with a communicator for the plans that are made on
 * it afterwards. As text it is one object of JSON (docs/guide.md); rota-tune
 * makes one. Unless told otherwise, the first plan on a communicator looks for
 * a file: the one that ROTA_TUNING_FILE names, else
 * $XDG_CONFIG_HOME/rota/tuning.json (~/.config/rota/tuning.json), else
 * rota/tuning.json in the folder of the system's configuration. Where ranks
 * share no files those of rank 0 count. A file that nobody named and that
 * cannot be read is ignored. A program that runs with more rights than its
 * caller has (setuid) follows none of these variables. A tuning has at most 4 MiB.
 * ---------------------------------------------------------------------- */

/* Take a file's tuning in the place of what the communicator has. On an error
 * that stays as it was.
 *
 * path  on rank 0 the file's name, or NULL to look for one as the first plan
 *       does, which it is no error not to find; elsewhere ignored
 * comm  intra-communicator
 *
 * Collective over comm; blocks. Rank 0 reads the file.
 * Errors: MPI_ERR_COMM as for rota_alltoallv_init; MPI_ERR_ARG, with the line,
 * or the row and the key, for a file that cannot be read, is no tuning or was
 * made by a newer version; MPI_ERR_NO_MEM. */
ROTA_API int rota_tuning_import(const char *path, MPI_Comm comm);

/* As rota_tuning_import, from a text, which rank 0 gives; elsewhere ignored.
 * Errors: also MPI_ERR_ARG for a NULL text. */
ROTA_API int rota_tuning_import_string(const char *text, MPI_Comm comm);

/* Write what the communicator has: imported, found or measured by plans that
 * were made on it. Who reads the file at the same time sees the old one or the
 * new one.
 *
 * path  on rank 0 the file's name, or NULL for that of the user's file, whose
 *       folder is then made; elsewhere ignored
 * comm  intra-communicator
 *
 * Collective over comm; blocks. Rank 0 writes the file.
 * Errors: MPI_ERR_COMM; MPI_ERR_ARG for a file that cannot be written;
 * MPI_ERR_NO_MEM. */
ROTA_API int rota_tuning_export(const char *path, MPI_Comm comm);

/* The same as text: buf and len as for rota_plan_describe. Local; does not
 * block. Errors: MPI_ERR_COMM; MPI_ERR_ARG for NULL len or NULL buf with *len >
 * 0; MPI_ERR_NO_MEM. */
ROTA_API int rota_tuning_export_string(MPI_Comm comm, char *buf, size_t *len);

/* Have no tuning on the communicator, and look for no file any more.
 * Collective over comm; blocks only where nothing has been made on it yet.
 * Errors: MPI_ERR_COMM. */
ROTA_API int rota_tuning_forget(MPI_Comm comm);

/* -------------------------------------------------------------------------
 * Asking
 * ---------------------------------------------------------------------- */

/* Describe a plan: what was chosen and why, rounds, messages, bytes, memory,
 * as seen by the calling rank.
 *
 * format  ROTA_DESCRIBE_TEXT (lines for people) or ROTA_DESCRIBE_JSON (one
 *         object, keys as in the text; candidates are a list, and terms are
 *         what the plan does that a machine has a price for)
 * buf     receives at most *len bytes, always terminated; may be NULL if *len
 *         is 0
 * len     in: size of buf; out: bytes the whole description needs, with its
 *         terminator; larger than the size given means it was cut short
 *
 * With ROTA_EXPLAIN=1 in the environment, rank 0 prints the text of every new
 * plan on standard error. With ROTA_TRACE=FILE in that of all ranks, they write
 * what their runs do and when to FILE when they end, in the JSON form that
 * Perfetto and Chrome read; rota-draw --timeline draws it. FILE must be on a file
 * system that all of them reach and that appends whole.
 *
 * With ROTA_RECORD=FOLDER the counts of all starts are written to that folder,
 * for rota-bench, rota-price and rota-tune --replay (docs/guide.md).
 *
 * Local; does not block; allocates.
 * Errors: MPI_ERR_REQUEST for a NULL plan; MPI_ERR_ARG for NULL len, NULL buf
 * with *len > 0, or an unknown format; MPI_ERR_NO_MEM. */
ROTA_API int rota_plan_describe(const rota_plan *plan, int format, char *buf,
                                size_t *len);

/* The MPI error class (MPI_ERR_COUNT and so on) of a code that a Rota function
 * returned, or of any other MPI error code. Use it instead of MPI_Error_class:
 * MPICH 4.0 cannot attach a text to a code of a predefined class, so there
 * Rota's codes belong to classes of its own. Local. Errors: MPI_ERR_ARG for a NULL
 * errorclass; those of MPI_Error_class, for a code that is none. */
ROTA_API int rota_error_class(int code, int *errorclass);

/* Version of the library in use, as ROTA_VERSION_NUMBER. */
ROTA_API int rota_version(void);

/* -------------------------------------------------------------------------
 * Hints
 *
 * Keys of an MPI_Info, each with an environment variable for programs that
 * cannot be changed; the info object wins, and a variable that is empty is as
 * if it were not set. Rank 0 of the program prints once which variables that
 * begin with ROTA_ there are not. Values must be the same on all ranks. An unknown key that begins with rota_, or an unknown value, is an
 * error that lists the valid ones; other keys are ignored, and so are values
 * that the algorithm or the kind of plan has no use for.
 *
 *   rota_algorithm  ROTA_ALGORITHM  an algorithm by name (docs/algorithms.md);
 *                                   without it, a plan takes what the tuning
 *                                   of the communicator says or, if that says
 *                                   nothing, what is expected to be fastest,
 *                                   MPI's own all-to-all included; parameters
 *                                   below that are not given are chosen
 *                                   likewise. At most 64 plans at a time on one
 *                                   communicator can be of those that use a
 *                                   collective of MPI's (mpi, padded_alltoall)
 *   rota_batch      ROTA_BATCH      messages in flight in each direction, or
 *                                   steps of a batch, 1..2^20
 *   rota_radix      ROTA_RADIX      radix of logarithmic algorithms, 2..P;
 *                                   larger values mean P, or the ranks of a
 *                                   node, or nodes, where that is what it
 *                                   counts
 *   rota_leaders    ROTA_LEADERS    leaders of a node in algorithms that have
 *                                   several, 1..2^20; all its ranks
 *                                   if they are fewer
 *   rota_pieces     ROTA_PIECES     messages in which leaders send what they have
 *                                   for another node, in algorithms that
 *                                   gather one while another is under way,
 *                                   1..2^20; one for each rank there if they
 *                                   are fewer
 *   rota_node_size  ROTA_NODE_SIZE  let algorithms take every so many ranks, in
 *                                   order, for a node, 1..2^20, as if there
 *                                   were more nodes than there are or fewer;
 *                                   memory is shared as it is
 *   rota_metadata   ROTA_METADATA   how sizes travel where they are not known
 *                                   beforehand: once (when the plan is made:
 *                                   fixed plans), fused (with the data),
 *                                   two_phase (before the data), combined (with
 *                                   the data, after the length of both). Default
 *                                   where they must travel: fused, but two_phase
 *                                   in direct exchanges with a max_block above
 *                                   8 KiB, and what an algorithm was published
 *                                   with
 *   rota_packing    ROTA_PACKING    pack (default) or datatype: whether blocks
 *                                   that travel together are copied to one
 *                                   place or gathered by MPI (fixed plans)
 *   rota_intranode  ROTA_INTRANODE  how messages travel between ranks of one
 *                                   node: auto (default), shm (through shared
 *                                   memory only), cma (receivers read what is
 *                                   not shared from the sender's memory, where
 *                                   the system permits it), p2p (by MPI)
 *   rota_copied_once_from ROTA_COPIED_ONCE_FROM
 *                                   bytes from which a message that lies end to
 *                                   end in the sender's memory of rota_mem_alloc
 *                                   is copied once, from there, instead of
 *                                   twice, by way of shared memory of the plan's,
 *                                   1..2^20; default: as the tuning says, else
 *                                   1536, or 8192 where the node has fewer cores
 *                                   than ranks
 *   rota_progress   ROTA_PROGRESS   what moves a plan on once it is started:
 *                                   calls (default: of Rota's functions only),
 *                                   mpi (also calls of MPI: so once a rank has
 *                                   started a plan, it may block in MPI, and the
 *                                   others go on. All messages go by MPI, as by
 *                                   rota_intranode = p2p, in one round, by
 *                                   spread_out unless rota_algorithm is given;
 *                                   for an exchange only if it has a max_block),
 *                                   thread (also a thread of the process: once a
 *                                   rank has started a plan it may block in MPI,
 *                                   compute, sleep, or handle a signal that has
 *                                   not interrupted a call of Rota's, and the
 *                                   others go on).
 *                                   The thread is the only one of the process and
 *                                   goes with the last communicator that has had
 *                                   such a plan; while it is there all Rota calls
 *                                   take a lock, some 10 to 20 ns. It moves
 *                                   messages within the node when another rank
 *                                   has waited for them, half a millisecond in
 *                                   wait or some dozens of tests, sleeps when it
 *                                   is not called, and works under every level of
 *                                   threads. MPI carries messages to other nodes
 *                                   and, as by p2p, all where the thread cannot
 *                                   be: a process that uses a device, no thread
 *                                   to be had and, unless under
 *                                   MPI_THREAD_MULTIPLE, elements of a type that
 *                                   are not contiguous.
 *                                   Under MPI_THREAD_MULTIPLE, on all ranks, it
 *                                   calls MPI, too, and moves plans of all kinds
 *                                   without a device; it wakes every few
 *                                   milliseconds for that. Under other levels it
 *                                   does not: of a plan of which MPI carries
 *                                   messages these go on in calls of MPI if it
 *                                   has one round of no more messages than may be
 *                                   in flight (rota_batch) and is no exchange;
 *                                   else it needs Rota calls.
 *                                   The guide has a table of all this
 *   rota_device     ROTA_DEVICE     how blocks in memory of a device travel:
 *                                   copy_to_cpu (by way of the host), cuda_aware
 *                                   (MPI takes them from there; an error where it
 *                                   does not say that it can, or where something
 *                                   else than MPI would have to touch them),
 *                                   cuda_ipc (the receiver's device copies them
 *                                   from the sender's; an error where it cannot),
 *                                   auto (default: cuda_ipc or copy_to_cpu by
 *                                   expected times, if all buffers of a fixed
 *                                   plan are on devices of one node and other
 *                                   ranks can open them; else copy_to_cpu). With
 *                                   cuda_ipc all ranks must have freed the plan
 *                                   before one frees memory that was its sendbuf
 *   rota_choose     ROTA_CHOOSE     how to choose: model (default: as the tuning
 *                                   says, else by expected times), or measure
 *                                   (the most promising candidates run on
 *                                   buffers of their own, and what is fastest
 *                                   becomes a row of the tuning)
 *   rota_measure_ms ROTA_MEASURE_MS
 *                                   milliseconds that measuring may take, once
 *                                   all plans to be measured are made, 1..2^20
 *                                   (default 100)
 *   rota_tuning_file ROTA_TUNING_FILE
 *                                   a tuning file that the communicator is to
 *                                   have (see rota_tuning_import), read by
 *                                   rank 0; default: the user's file,
 *                                   $XDG_CONFIG_HOME/rota/tuning.json or
 *                                   ~/.config/rota/tuning.json, else the
 *                                   system's, if there is one
 *   rota_check      ROTA_CHECK      on (default) or off: whether init checks
 *                                   that counts match across ranks and no
 *                                   receive block overlaps another block. (More
 *                                   than 2^18 pieces of blocks on a rank, or
 *                                   2^16 of a type, are not compared.) With off,
 *                                   counts that do not match are undefined: an
 *                                   algorithm that forwards blocks may give wrong
 *                                   data even to ranks whose counts do match,
 *                                   and rota_wait may succeed
 * ---------------------------------------------------------------------- */

#ifdef __cplusplus
}
#endif

#endif /* ROTA_H */
