/* api.c - the public entry points: check the handle, call, map the error. */
#include "plan/api/mem.h"
#include "plan/api/request.h"
#include "plan/args/graph.h"
#include "plan/args/neighbors.h"
#include "plan/inside.h"
#include "plan/kinds/counted.h"
#include "plan/kinds/describe.h"
#include "plan/kinds/device.h"
#include "plan/kinds/exchange.h"
#include "plan/kinds/packing.h"
#include "plan/kinds/parts.h"
#include "plan/kinds/reduction.h"
#include "plan/kinds/scaled.h"
#include "plan/ranks/agree.h"
#include "plan/ranks/comm.h"
#include "plan/ranks/error_code.h"

#include <string.h>

/* Turn a status into an error code and raise it; MPI_SUCCESS passes. comm: the
 * caller's, which may be invalid, or MPI_COMM_NULL. */
static int leave(MPI_Comm comm, const char *function, int status)
{
    return status == MPI_SUCCESS
               ? MPI_SUCCESS
               : rota_error_report(comm, rota_error_code(function, status));
}

/* Turn a failure of this rank alone into an error code. */
static int code_of(const rota_plan *plan, const char *function, int status)
{
    if (plan)
        rota_fail_at(plan->comm->me);
    return rota_error_code(function, status);
}

ROTA_RARE static int leave_plan(const rota_plan *plan, const char *function,
                                int status)
{
    const bool alive = plan && plan->comm->user_alive;

    return status == MPI_SUCCESS || rota_comm_is_over()
               ? status
               : rota_error_report(alive ? plan->comm->user : MPI_COMM_NULL,
                                   code_of(plan, function, status));
}

static int check_mpi(void)
{
    int initialized = 0, finalized = 0;

    rota_flavour_check("librota");
    rota_fail_clear();
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    return initialized && !finalized ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* If check_mpi fails, no error handler can be called and MPI has no text; but a
 * caller with a communicator has a session. */
static int leave_early(MPI_Comm comm, const char *function)
{
    int finalized = 0;

    MPI_Finalized(&finalized);
    if (finalized || comm == MPI_COMM_NULL || comm == MPI_COMM_WORLD ||
        comm == MPI_COMM_SELF)
        return MPI_ERR_OTHER;
    return leave(comm, function,
                 rota_fail(MPI_ERR_OTHER,
                           "MPI_Init has not been called, and a session alone "
                           "is not enough"));
}

/* ---- memory -------------------------------------------------------------- */

int rota_mem_alloc(size_t bytes, MPI_Comm comm, MPI_Info info, void *ptr)
{
    rota_comm *c = NULL;
    void *memory = NULL;
    int err = check_mpi();

    if (err != MPI_SUCCESS)
        return leave_early(comm, __func__);
    err = rota_comm_get(comm, &c);
    if (err == MPI_SUCCESS)
        err = rota_mem_make(
            c, bytes, info,
            ptr ? MPI_SUCCESS : rota_fail(MPI_ERR_ARG, "ptr is NULL"), &memory);
    if (err == MPI_SUCCESS)
        memcpy(ptr, &memory, sizeof memory); /* ptr: to any pointer type */
    return leave(comm, __func__, err);
}

int rota_mem_free(void *ptr)
{
    void *memory = NULL;

    rota_fail_clear();
    if (!ptr)
        return leave(MPI_COMM_NULL, __func__,
                     rota_fail(MPI_ERR_ARG, "ptr is NULL"));
    memcpy(&memory, ptr, sizeof memory);
    const int err = rota_mem_destroy(memory);
    if (err != MPI_SUCCESS)
        return leave(MPI_COMM_NULL, __func__, err);
    memory = NULL;
    memcpy(ptr, &memory, sizeof memory);
    return MPI_SUCCESS;
}

/* ---- tuning -------------------------------------------------------------- */

/* Do something with a communicator's tuning and a text. */
static int on_comm(const char *function, MPI_Comm comm, const char *text,
                   int (*act)(rota_learnt *l, const rota_ranks *ranks,
                              const char *text))
{
    rota_comm *c = NULL;
    int err = check_mpi();

    if (err != MPI_SUCCESS)
        return leave_early(comm, function);
    err = rota_comm_get(comm, &c);
    if (err == MPI_SUCCESS) {
        const rota_ranks ranks = rota_comm_ranks(c);
        err = act(&c->learnt, &ranks, text);
    }
    return leave(comm, function, err);
}

int rota_tuning_import(const char *path, MPI_Comm comm)
{
    return on_comm(__func__, comm, path, rota_tuning_read);
}

int rota_tuning_import_string(const char *text, MPI_Comm comm)
{
    return on_comm(__func__, comm, text, rota_tuning_take);
}

int rota_tuning_export(const char *path, MPI_Comm comm)
{
    return on_comm(__func__, comm, path, rota_tuning_write);
}

static int forget(rota_learnt *l, const rota_ranks *ranks, const char *unused)
{
    (void)ranks;
    (void)unused;
    rota_learnt_forget(l);
    return MPI_SUCCESS;
}

int rota_tuning_forget(MPI_Comm comm)
{
    return on_comm(__func__, comm, NULL, forget);
}

static int check_text_out(const char *buf, const size_t *len)
{
    return len && (buf || *len == 0)
               ? MPI_SUCCESS
               : rota_fail(MPI_ERR_ARG, "%s is NULL", len ? "buf" : "len");
}

int rota_tuning_export_string(MPI_Comm comm, char *buf, size_t *len)
{
    const rota_tuning none = {0};
    rota_comm *c = NULL;
    int err = check_mpi();

    if (err != MPI_SUCCESS)
        return leave_early(comm, __func__);
    err = rota_comm_find(comm, &c);
    if (err == MPI_SUCCESS)
        err = check_text_out(buf, len);
    if (err == MPI_SUCCESS)
        err = rota_text_give(rota_tuning_print(c ? &c->learnt.tuning : &none),
                             "tuning", buf, len);
    return leave(comm, __func__, err);
}

/* ---- making -------------------------------------------------------------- */

static inline int check_handle(const rota_plan *plan)
{
    rota_fail_clear();
    return plan ? MPI_SUCCESS : rota_fail(MPI_ERR_REQUEST, "plan is NULL");
}

static int check_out(const char *name, rota_plan *const *plan)
{
    return plan ? MPI_SUCCESS : rota_fail(MPI_ERR_ARG, "%s is NULL", name);
}

/* The ranks that blocks are for: all of a communicator, its neighbours there, the
 * partners of a graph, or those of a plan that is to run backwards. */
typedef struct whom {
    MPI_Comm comm;
    bool neighbors;
    rota_graph *graph; /* if of_graph, else NULL */
    bool of_graph;
    const rota_plan *forward; /* or NULL */
} whom;

static inline whom all_of(MPI_Comm comm)
{
    return (whom){.comm = comm};
}

static inline whom neighbors_of(MPI_Comm comm)
{
    return (whom){.comm = comm, .neighbors = true};
}

/* The error handler is that of the communicator that the graph was made on. */
static whom partners_of(rota_graph *graph)
{
    const bool alive = graph && graph->comm->user_alive;

    return (whom){.comm = alive ? graph->comm->user : MPI_COMM_NULL,
                  .neighbors = true,
                  .graph = graph,
                  .of_graph = true};
}

static whom those_of(const rota_plan *plan)
{
    return (whom){.comm =
                      plan->comm->user_alive ? plan->comm->user : MPI_COMM_NULL,
                  .neighbors = plan->task.problem.neighbors != NULL,
                  .forward = plan};
}

static int find_comm(const whom *w, rota_comm **c)
{
    if (w->forward) {
        *c = w->forward->comm;
        return MPI_SUCCESS;
    }
    if (!w->of_graph)
        return rota_comm_get(w->comm, c);
    *c = w->graph ? w->graph->comm : NULL;
    return *c ? MPI_SUCCESS : rota_fail(MPI_ERR_ARG, "graph is NULL");
}

/* The unit of a plan that runs backwards changes as that of the other. Finding its
 * partners may fail on one rank alone. */
static int turn_round(rota_comm *c, whom *w, rota_hints *hints)
{
    const rota_task *const t = &w->forward->task;

    if (!t->kind->fixed)
        return rota_fail(MPI_ERR_REQUEST, "the plan is %s", t->kind->is);
    hints->largest_unit = (int)t->largest_unit;
    return w->neighbors ? rota_graph_reverse(c, t->problem.neighbors, &w->graph)
                        : MPI_SUCCESS;
}

/* Check what gives the same result on all ranks: the communicator and each
 * argument that must be the same. */
static int prepare(rota_comm *c, whom *w, rota_plan *const *plan, MPI_Info info,
                   rota_hints *hints)
{
    ROTA_TRY(check_out(w->forward ? "reverse" : "plan", plan));
    ROTA_TRY(rota_hints_read(info, hints));
    if (w->forward)
        return turn_round(c, w, hints);
    return w->neighbors && !w->graph ? rota_comm_find_neighbors(c)
                                     : MPI_SUCCESS;
}

static int make_plan(const char *function, whom w, const rota_kind_table *kind,
                     const rota_args *args, MPI_Info info, rota_plan **plan)
{
    rota_comm *c = NULL;
    rota_hints hints = {0};
    int err = check_mpi();

    if (err != MPI_SUCCESS)
        return leave_early(w.comm, function);
    err = find_comm(&w, &c);
    if (err == MPI_SUCCESS) {
        const int status = prepare(c, &w, plan, info, &hints);
        const rota_neighbors *const among = w.graph       ? &w.graph->lists
                                            : w.neighbors ? &c->neighbors
                                                          : NULL;
        err = rota_plan_make(c, among, kind, args, &hints, status, plan);
    }
    if (err == MPI_SUCCESS) {
        (*plan)->graph = w.graph;
        if (w.graph)
            rota_graph_retain(w.graph);
        (*plan)->task.record =
            rota_record_open(c->dup, (*plan)->task.kind->kind);
        rota_explain(*plan);
    }
    if (w.forward)
        rota_graph_release(w.graph);
    return leave(w.comm, function, err);
}

/* One side of the arguments: arrays of the form's types, or one count for all
 * blocks, which lie end to end. */
static inline rota_side_args listed(rota_form form, const void *base,
                                    const void *counts, const void *displs)
{
    return (rota_side_args){
        .form = form, .base = base, .counts = counts, .displs = displs};
}

static inline rota_side_args same(const void *base, MPI_Count count)
{
    return (rota_side_args){.form = ROTA_SAME, .base = base, .each = count};
}

/* Make a plan whose blocks have one type per side. */
static int make_type(const char *function, whom w, rota_side_args send,
                     MPI_Datatype sendtype, rota_side_args recv,
                     MPI_Datatype recvtype, MPI_Info info, rota_plan **plan)
{
    send.type = sendtype;
    recv.type = recvtype;
    return make_plan(function, w, &rota_kind_fixed,
                     &(rota_args){.send = send, .recv = recv}, info, plan);
}

/* Make a plan whose blocks have a type each. */
static int make_types(const char *function, whom w, rota_side_args send,
                      const MPI_Datatype sendtypes[], rota_side_args recv,
                      const MPI_Datatype recvtypes[], MPI_Info info,
                      rota_plan **plan)
{
    send.types = sendtypes;
    recv.types = recvtypes;
    return make_plan(
        function, w, &rota_kind_fixed,
        &(rota_args){.own_types = true, .send = send, .recv = recv}, info,
        plan);
}

/* Each function for all ranks of comm, or for its neighbours; or for those of a
 * graph, which takes the place of comm: among is what the ranks are found by. */
#define INIT_SAME(name, whom, among, count)                                    \
    int name(const void *sendbuf, count sendcount, MPI_Datatype sendtype,      \
             void *recvbuf, count recvcount, MPI_Datatype recvtype,            \
             among ranks, MPI_Info info, rota_plan **plan)                     \
    {                                                                          \
        return make_type(__func__, whom(ranks), same(sendbuf, sendcount),      \
                         sendtype, same(recvbuf, recvcount), recvtype, info,   \
                         plan);                                                \
    }
INIT_SAME(rota_alltoall_init, all_of, MPI_Comm, int)
INIT_SAME(rota_alltoall_init_c, all_of, MPI_Comm, MPI_Count)
INIT_SAME(rota_neighbor_alltoall_init, neighbors_of, MPI_Comm, int)
INIT_SAME(rota_neighbor_alltoall_init_c, neighbors_of, MPI_Comm, MPI_Count)
INIT_SAME(rota_neighbor_alltoall_init_graph, partners_of, rota_graph *, int)
INIT_SAME(rota_neighbor_alltoall_init_graph_c, partners_of, rota_graph *,
          MPI_Count)

/* Arrays of a form, whose counts and displacements have these C types; one type
 * for all blocks, or one for each. */
#define INIT_LISTED(name, whom, among, form, count, displ)                     \
    int name(const void *sendbuf, const count sendcounts[],                    \
             const displ sdispls[], MPI_Datatype sendtype, void *recvbuf,      \
             const count recvcounts[], const displ rdispls[],                  \
             MPI_Datatype recvtype, among ranks, MPI_Info info,                \
             rota_plan **plan)                                                 \
    {                                                                          \
        return make_type(__func__, whom(ranks),                                \
                         listed(form, sendbuf, sendcounts, sdispls), sendtype, \
                         listed(form, recvbuf, recvcounts, rdispls), recvtype, \
                         info, plan);                                          \
    }
INIT_LISTED(rota_alltoallv_init, all_of, MPI_Comm, ROTA_INTS, int, int)
INIT_LISTED(rota_alltoallv_init_c, all_of, MPI_Comm, ROTA_COUNTS, MPI_Count,
            MPI_Aint)
INIT_LISTED(rota_neighbor_alltoallv_init, neighbors_of, MPI_Comm, ROTA_INTS,
            int, int)
INIT_LISTED(rota_neighbor_alltoallv_init_c, neighbors_of, MPI_Comm, ROTA_COUNTS,
            MPI_Count, MPI_Aint)
INIT_LISTED(rota_neighbor_alltoallv_init_graph, partners_of, rota_graph *,
            ROTA_INTS, int, int)
INIT_LISTED(rota_neighbor_alltoallv_init_graph_c, partners_of, rota_graph *,
            ROTA_COUNTS, MPI_Count, MPI_Aint)

#define INIT_TYPES(name, whom, among, form, count, displ)                      \
    int name(const void *sendbuf, const count sendcounts[],                    \
             const displ sdispls[], const MPI_Datatype sendtypes[],            \
             void *recvbuf, const count recvcounts[], const displ rdispls[],   \
             const MPI_Datatype recvtypes[], among ranks, MPI_Info info,       \
             rota_plan **plan)                                                 \
    {                                                                          \
        return make_types(                                                     \
            __func__, whom(ranks), listed(form, sendbuf, sendcounts, sdispls), \
            sendtypes, listed(form, recvbuf, recvcounts, rdispls), recvtypes,  \
            info, plan);                                                       \
    }
INIT_TYPES(rota_alltoallw_init, all_of, MPI_Comm, ROTA_INTS, int, int)
INIT_TYPES(rota_alltoallw_init_c, all_of, MPI_Comm, ROTA_COUNTS, MPI_Count,
           MPI_Aint)
INIT_TYPES(rota_neighbor_alltoallw_init, neighbors_of, MPI_Comm, ROTA_MIXED,
           int, MPI_Aint)
INIT_TYPES(rota_neighbor_alltoallw_init_c, neighbors_of, MPI_Comm, ROTA_COUNTS,
           MPI_Count, MPI_Aint)
INIT_TYPES(rota_neighbor_alltoallw_init_graph, partners_of, rota_graph *,
           ROTA_MIXED, int, MPI_Aint)
INIT_TYPES(rota_neighbor_alltoallw_init_graph_c, partners_of, rota_graph *,
           ROTA_COUNTS, MPI_Count, MPI_Aint)

/* Counts come with each start. */
#define INIT_BOUND(name, whom, among, kind)                                    \
    int name(size_t max_block, MPI_Datatype type, among ranks, MPI_Info info,  \
             rota_plan **plan)                                                 \
    {                                                                          \
        return make_plan(                                                      \
            __func__, whom(ranks), &(kind),                                    \
            &(rota_args){.max_block = max_block, .recv.type = type}, info,     \
            plan);                                                             \
    }
INIT_BOUND(rota_alltoallv_varying_init, all_of, MPI_Comm, rota_kind_varying)
INIT_BOUND(rota_exchange_init, all_of, MPI_Comm, rota_kind_exchange)
INIT_BOUND(rota_exchange_init_borrow, all_of, MPI_Comm, rota_kind_borrowing)
INIT_BOUND(rota_neighbor_alltoallv_varying_init, neighbors_of, MPI_Comm,
           rota_kind_varying)
INIT_BOUND(rota_neighbor_exchange_init, neighbors_of, MPI_Comm,
           rota_kind_exchange)
INIT_BOUND(rota_neighbor_alltoallv_varying_init_graph, partners_of,
           rota_graph *, rota_kind_varying)
INIT_BOUND(rota_neighbor_exchange_init_graph, partners_of, rota_graph *,
           rota_kind_exchange)

int rota_exchange_init_sparse(MPI_Datatype type, MPI_Comm comm, MPI_Info info,
                              rota_plan **plan)
{
    return make_plan(
        __func__, all_of(comm), &rota_kind_sparse,
        &(rota_args){.max_block = ROTA_UNBOUNDED, .recv.type = type}, info,
        plan);
}

int rota_exchange_init_arrays(size_t max_block, int n,
                              const MPI_Datatype types[], MPI_Comm comm,
                              MPI_Info info, rota_plan **plan)
{
    return make_plan(
        __func__, all_of(comm), &rota_kind_arrays,
        &(rota_args){.max_block = max_block, .recv = {.types = types, .n = n}},
        info, plan);
}

int rota_plan_init_reverse(rota_plan *plan, const void *sendbuf, void *recvbuf,
                           MPI_Datatype type, MPI_Op op, MPI_Info info,
                           rota_plan **reverse)
{
    rota_backwards back = {.type = type, .op = op};
    const rota_args args = {
        .send.base = sendbuf, .recv.base = recvbuf, .back = &back};
    const int err = check_handle(plan);

    if (err != MPI_SUCCESS)
        return leave_plan(plan, __func__, err);
    back.forward = &plan->task.problem;
    if (plan->task.kind == &rota_kind_scaled)
        back.unit = rota_scaled_unit(&plan->task);
    return make_plan(__func__, those_of(plan), &rota_kind_fixed, &args, info,
                     reverse);
}

/* ---- graphs -------------------------------------------------------------- */

static int check_graph(const char *name, const void *graph)
{
    return graph ? MPI_SUCCESS : rota_fail(MPI_ERR_ARG, "%s is NULL", name);
}

static int make_graph(const char *function, MPI_Comm comm,
                      const rota_graph_args *args, MPI_Info info,
                      rota_graph **graph)
{
    rota_comm *c = NULL;
    rota_hints hints = {0};
    int err = check_mpi();

    if (err != MPI_SUCCESS)
        return leave_early(comm, function);
    err = rota_comm_get(comm, &c);
    if (err == MPI_SUCCESS) {
        int status = check_graph("graph", graph);
        if (status == MPI_SUCCESS)
            status = rota_hints_read(info, &hints);
        err = rota_graph_make(c, args, &hints, status, graph);
    }
    return leave(comm, function, err);
}

int rota_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
                               int outdegree, const int destinations[],
                               MPI_Info info, rota_graph **graph)
{
    const rota_graph_args args = {.n_from = indegree,
                                  .from = sources,
                                  .n_to = outdegree,
                                  .to = destinations};

    return make_graph(__func__, comm, &args, info, graph);
}

int rota_graph_of(MPI_Comm comm, rota_graph **graph)
{
    return make_graph(__func__, comm, NULL, MPI_INFO_NULL, graph);
}

int rota_graph_dup(rota_graph *graph, rota_graph **copy)
{
    rota_fail_clear();
    int err = check_graph("graph", graph);
    if (err == MPI_SUCCESS)
        err = check_graph("copy", copy);
    if (err != MPI_SUCCESS)
        return leave(partners_of(graph).comm, __func__, err);
    rota_graph_retain(graph);
    *copy = graph;
    return MPI_SUCCESS;
}

int rota_graph_free(rota_graph **graph)
{
    rota_fail_clear();
    if (!graph)
        return leave(MPI_COMM_NULL, __func__, check_graph("graph", graph));
    if (check_mpi() != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    rota_graph_release(*graph);
    *graph = NULL;
    return MPI_SUCCESS;
}

/* ---- running ------------------------------------------------------------- */

static int check_kind(const rota_plan *plan, const rota_kind_table *kind)
{
    return plan->task.kind == kind
               ? MPI_SUCCESS
               : rota_fail(MPI_ERR_REQUEST, "the plan is %s",
                           plan->task.kind->is);
}

/* After an error; and if MPI is being finalized, which looks like one. */
ROTA_RARE static int look_closely(void)
{
    rota_fail_forget();
    return rota_comm_is_over() ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* Is there a plan, and MPI? */
static inline int check_alive(const rota_plan *plan)
{
    if (atomic_load_explicit(&rota_fail_any, memory_order_relaxed))
        ROTA_TRY(look_closely());
    return plan ? MPI_SUCCESS : rota_fail(MPI_ERR_REQUEST, "plan is NULL");
}

/* May the plan be started, or changed? */
static inline int check_idle(const rota_plan *plan)
{
    ROTA_TRY(check_alive(plan));
    if (plan->active)
        return rota_fail(MPI_ERR_REQUEST, "the plan is active");
    return MPI_SUCCESS;
}

/* err: what the check of the plan says. */
static inline int start_as(const char *function, rota_plan *plan, int err,
                           const rota_kind_table *kind,
                           const rota_start_args *args)
{
    if (err == MPI_SUCCESS)
        err = kind->start(&plan->built, args);
    if (err != MPI_SUCCESS)
        return leave_plan(plan, function, err);
    plan->active = ROTA_STARTED;
    return MPI_SUCCESS;
}

static inline int start_with(const char *function, rota_plan *plan,
                             const rota_kind_table *kind,
                             const rota_start_args *args)
{
    int err = check_idle(plan);

    if (err == MPI_SUCCESS)
        err = check_kind(plan, kind);
    return start_as(function, plan, err, kind, args);
}

/* The counts of a plan are fixed, but not its unit. */
ROTA_RARE static int start_scaled(const char *function, rota_plan *plan)
{
    return start_with(function, plan, &rota_kind_scaled, NULL);
}

/* The short way: no call by a table. */
static inline int start_fixed(const char *function, rota_plan *plan)
{
    int err = check_idle(plan);

    if (err == MPI_SUCCESS && plan->task.kind != &rota_kind_fixed)
        return start_scaled(function, plan);
    if (err == MPI_SUCCESS)
        err = rota_built_start(&plan->built);
    if (err != MPI_SUCCESS)
        return leave_plan(plan, function, err);
    plan->active = ROTA_STARTED;
    if (plan->task.record)
        rota_built_record(&plan->built, rota_problem_sent(&plan->task.problem));
    return MPI_SUCCESS;
}

int rota_start(rota_plan *plan)
{
    return start_fixed(__func__, plan);
}

static int check_array(int n, rota_plan *const plans[])
{
    rota_fail_clear();
    if (n < 0)
        return rota_fail(MPI_ERR_COUNT, "n = %d is negative", n);
    return n == 0 || plans ? MPI_SUCCESS
                           : rota_fail(MPI_ERR_ARG, "plans is NULL");
}

static int refuse_missing(int i)
{
    return rota_fail(MPI_ERR_REQUEST, "plans[%d] is NULL", i);
}

/* May this plan, the i-th of a list, be started? */
static int check_listed(const rota_plan *plan, int i)
{
    if (!plan)
        return refuse_missing(i);
    if (plan->active)
        return rota_fail(MPI_ERR_REQUEST, "plans[%d] is active", i);
    return plan->task.kind->fixed
               ? MPI_SUCCESS
               : rota_fail(MPI_ERR_REQUEST, "plans[%d] is %s", i,
                           plan->task.kind->is);
}

int rota_startall(int n, rota_plan *const plans[])
{
    int err = check_array(n, plans);

    if (err != MPI_SUCCESS)
        return leave(MPI_COMM_NULL, __func__, err);
    for (int i = 0; i < n; i++) {
        err = check_listed(plans[i], i);
        if (err != MPI_SUCCESS)
            return leave_plan(plans[i], __func__, err);
    }
    for (int i = 0; i < n; i++)
        ROTA_TRY(start_fixed(__func__, plans[i]));
    return MPI_SUCCESS;
}

int rota_alltoallv_start(rota_plan *plan, const void *sendbuf,
                         const int sendcounts[], const int sdispls[],
                         void *recvbuf, const int recvcounts[],
                         const int rdispls[])
{
    return start_with(
        __func__, plan, &rota_kind_varying,
        &(rota_start_args){.form = ROTA_INTS,
                           .send = {sendbuf, sendcounts, sdispls},
                           .recv = {recvbuf, recvcounts, rdispls}});
}

int rota_alltoallv_start_c(rota_plan *plan, const void *sendbuf,
                           const MPI_Count sendcounts[],
                           const MPI_Aint sdispls[], void *recvbuf,
                           const MPI_Count recvcounts[],
                           const MPI_Aint rdispls[])
{
    return start_with(
        __func__, plan, &rota_kind_varying,
        &(rota_start_args){.form = ROTA_COUNTS,
                           .send = {sendbuf, sendcounts, sdispls},
                           .recv = {recvbuf, recvcounts, rdispls}});
}

ROTA_RARE static int start_borrowing(const char *function, rota_plan *plan,
                                     const rota_start_args *args)
{
    return start_with(function, plan, &rota_kind_borrowing, args);
}

static inline int start_exchange(const char *function, rota_plan *plan,
                                 const rota_start_args *args)
{
    const int err = check_idle(plan);

    if (err == MPI_SUCCESS && plan->task.kind != &rota_kind_exchange)
        return start_borrowing(function, plan, args);
    return start_as(function, plan, err, &rota_kind_exchange, args);
}

int rota_exchange_start(rota_plan *plan, const void *sendbuf,
                        const int sendcounts[], const int sdispls[])
{
    return start_exchange(
        __func__, plan,
        &(rota_start_args){.form = ROTA_INTS,
                           .send = {sendbuf, sendcounts, sdispls}});
}

int rota_exchange_start_c(rota_plan *plan, const void *sendbuf,
                          const MPI_Count sendcounts[],
                          const MPI_Aint sdispls[])
{
    return start_exchange(
        __func__, plan,
        &(rota_start_args){.form = ROTA_COUNTS,
                           .send = {sendbuf, sendcounts, sdispls}});
}

int rota_exchange_start_sparse(rota_plan *plan, const void *sendbuf, int n,
                               const int dests[], const int sendcounts[],
                               const int sdispls[])
{
    return start_with(__func__, plan, &rota_kind_sparse,
                      &(rota_start_args){.form = ROTA_INTS,
                                         .send = {sendbuf, sendcounts, sdispls},
                                         .n_dests = n,
                                         .dests = dests});
}

int rota_exchange_start_sparse_c(rota_plan *plan, const void *sendbuf, int n,
                                 const int dests[],
                                 const MPI_Count sendcounts[],
                                 const MPI_Aint sdispls[])
{
    return start_with(__func__, plan, &rota_kind_sparse,
                      &(rota_start_args){.form = ROTA_COUNTS,
                                         .send = {sendbuf, sendcounts, sdispls},
                                         .n_dests = n,
                                         .dests = dests});
}

int rota_exchange_start_arrays(rota_plan *plan, const void *const sendbufs[],
                               const int sendcounts[], const int sdispls[])
{
    return start_with(
        __func__, plan, &rota_kind_arrays,
        &(rota_start_args){.form = ROTA_INTS,
                           .send = {sendbufs, sendcounts, sdispls}});
}

int rota_exchange_start_arrays_c(rota_plan *plan, const void *const sendbufs[],
                                 const MPI_Count sendcounts[],
                                 const MPI_Aint sdispls[])
{
    return start_with(
        __func__, plan, &rota_kind_arrays,
        &(rota_start_args){.form = ROTA_COUNTS,
                           .send = {sendbufs, sendcounts, sdispls}});
}

/* ---- requests ------------------------------------------------------------ */

/* Before a start: can there be a request of its run? */
static int check_request(const rota_plan *plan, const MPI_Request *request)
{
    ROTA_TRY(check_handle(plan));
    if (!request)
        return rota_fail(MPI_ERR_ARG, "request is NULL");
    return rota_request_check();
}

int rota_start_request(rota_plan *plan, MPI_Request *request)
{
    int err = check_request(plan, request);

    if (err != MPI_SUCCESS)
        return leave_plan(plan, __func__, err);
    ROTA_TRY(start_fixed(__func__, plan));
    return leave_plan(plan, __func__,
                      rota_request_make(plan, __func__, request));
}

int rota_get_request(rota_plan *plan, MPI_Request *request)
{
    int err = check_request(plan, request);

    if (err == MPI_SUCCESS && plan->active == ROTA_IDLE)
        err = rota_fail(MPI_ERR_REQUEST, "the plan is not active");
    if (err == MPI_SUCCESS && plan->active == ROTA_REQUESTED)
        err = rota_fail(MPI_ERR_REQUEST, "the run has a request already");
    if (err == MPI_SUCCESS)
        err = rota_request_make(plan, __func__, request);
    return leave_plan(plan, __func__, err);
}

/* ---- completing ---------------------------------------------------------- */

ROTA_RARE static int report(const char *function, const rota_plan *plan,
                            int err)
{
    bool quiet;

    err = rota_plan_outcome(plan, err, &quiet);
    return quiet ? code_of(plan, function, err)
                 : leave_plan(plan, function, err);
}

/* End a run with the result err; the plan is inactive from here on. */
static inline int conclude(const char *function, rota_plan *plan, int err)
{
    plan->active = ROTA_IDLE;
    return err == MPI_SUCCESS && plan->built.exec.status.note == ROTA_NOTHING
               ? MPI_SUCCESS
               : report(function, plan, err);
}

/* Memory has run out and the plan stays active. A caller that waits for an
 * exchange is told at once. */
static int starve(const rota_plan *plan, const char *function, int err,
                  int *flag)
{
    *flag = plan->built.exec.counts_unknown;
    return *flag ? MPI_SUCCESS : code_of(plan, function, err);
}

/* A plan that is not started as such has nothing to be waited for, unless a request
 * of MPI stands for its run, which then completes it. */
ROTA_RARE static int check_requested(const rota_plan *plan)
{
    return plan->active == ROTA_REQUESTED
               ? rota_fail(MPI_ERR_REQUEST,
                           "the plan is to be completed by the "
                           "request of its run")
               : MPI_SUCCESS;
}

int rota_test(rota_plan *plan, int *flag)
{
    bool done = true;
    int err = check_alive(plan);

    if (err == MPI_SUCCESS)
        err = check_requested(plan);
    if (err == MPI_SUCCESS && !flag)
        err = rota_fail(MPI_ERR_ARG, "flag is NULL");
    if (err != MPI_SUCCESS)
        return leave_plan(plan, __func__, err);
    if (plan->active)
        err = rota_exec_test(&plan->built.exec, &done);
    if (!done && err != MPI_SUCCESS)
        return starve(plan, __func__, err, flag);
    if (err == MPI_SUCCESS)
        *flag = done;
    /* An exchange stays active until its blocks are collected. */
    return done && plan->active &&
                   (!plan->built.exec.counts_unknown || err != MPI_SUCCESS)
               ? conclude(__func__, plan, err)
           : err == MPI_SUCCESS ? MPI_SUCCESS
                                : leave_plan(plan, __func__, err);
}

static int wait_for(const char *function, rota_plan *plan)
{
    int err = check_alive(plan);
    bool done;

    if (err == MPI_SUCCESS && plan->active != ROTA_STARTED)
        return leave_plan(plan, function, check_requested(plan));
    if (err == MPI_SUCCESS && plan->built.exec.counts_unknown)
        err = rota_fail(MPI_ERR_REQUEST, "the plan is %s, for %s",
                        plan->task.kind->is, plan->task.kind->wait);
    if (err != MPI_SUCCESS)
        return leave_plan(plan, function, err);
    err = rota_exec_await(&plan->built.exec, &done);
    return done ? conclude(function, plan, err) : code_of(plan, function, err);
}

int rota_wait(rota_plan *plan)
{
    return wait_for(__func__, plan);
}

bool rota_plan_repeats(const rota_plan *plan)
{
    const rota_kind_table *const kind = plan->task.kind;

    return kind->repeats && kind->repeats(&plan->built);
}

ROTA_RARE static int refuse_active(const rota_plan *plan, const char *function)
{
    rota_error_name(function);
    return leave_plan(plan, function,
                      rota_fail(MPI_ERR_REQUEST, "the plan is active"));
}

int rota_plan_repeat(rota_plan *plan, const char *function)
{
    rota_exec *const x = &plan->built.exec;
    bool done;

    if (atomic_load_explicit(&rota_fail_any, memory_order_relaxed))
        ROTA_TRY(look_closely());
    if (plan->active)
        return refuse_active(plan, function);
    x->status.note = ROTA_NOTHING;
    const int err = rota_exec_run(x, &done);
    if (err == MPI_SUCCESS && x->status.note == ROTA_NOTHING)
        return MPI_SUCCESS;
    rota_error_name(function);
    plan->active = done ? ROTA_IDLE : ROTA_STARTED;
    return done ? conclude(function, plan, err) : code_of(plan, function, err);
}

int rota_waitall(int n, rota_plan *const plans[])
{
    int first = check_array(n, plans);

    if (first != MPI_SUCCESS)
        return leave(MPI_COMM_NULL, __func__, first);
    for (int i = 0; i < n; i++) {
        const int err = plans[i]
                            ? wait_for(__func__, plans[i])
                            : leave(MPI_COMM_NULL, __func__, refuse_missing(i));
        first = first == MPI_SUCCESS ? err : first;
    }
    return first;
}

/* Say what is amiss, if it is. */
ROTA_RARE static int refuse_collect(const rota_plan *plan,
                                    const rota_kind_table *kind)
{
    ROTA_TRY(check_handle(plan));
    ROTA_TRY(check_kind(plan, kind));
    if (!plan->active)
        return rota_fail(MPI_ERR_REQUEST, "the plan is not active");
    ROTA_TRY(check_requested(plan));
    return rota_fail(MPI_ERR_ARG, "recvbuf is NULL");
}

static inline int check_collect(const rota_plan *plan,
                                const rota_kind_table *kind,
                                void *const *recvbuf)
{
    if (atomic_load_explicit(&rota_fail_any, memory_order_relaxed))
        ROTA_TRY(look_closely());
    return plan && plan->task.kind == kind && plan->active == ROTA_STARTED &&
                   recvbuf
               ? MPI_SUCCESS
               : refuse_collect(plan, kind);
}

/* err: what the arguments' check says. */
static inline int wait_found(const char *function, rota_plan *plan, int err,
                             void **recvbuf, rota_found *found)
{
    bool done;

    if (err != MPI_SUCCESS)
        return leave_plan(plan, function, err);
    err = rota_exec_await(&plan->built.exec, &done);
    if (err == MPI_SUCCESS)
        err = plan->task.kind->collect(&plan->built, found);
    else if (done)
        return conclude(function, plan, err);
    if (err != MPI_SUCCESS) /* the plan stays active and keeps its blocks */
        return code_of(plan, function, err);
    *recvbuf = found->buffer;
    return conclude(function, plan, MPI_SUCCESS);
}

static inline int wait_exchange(const char *function, rota_plan *plan,
                                void **recvbuf, rota_found *found)
{
    return wait_found(function, plan,
                      check_collect(plan, &rota_kind_exchange, recvbuf),
                      recvbuf, found);
}

int rota_exchange_wait(rota_plan *plan, void **recvbuf, int recvcounts[],
                       int rdispls[])
{
    rota_found found = {.counts = recvcounts, .displs = rdispls};

    return wait_exchange(__func__, plan, recvbuf, &found);
}

int rota_exchange_wait_c(rota_plan *plan, void **recvbuf,
                         MPI_Count recvcounts[], MPI_Aint rdispls[])
{
    rota_found found = {.large = true, .counts = recvcounts, .displs = rdispls};

    return wait_exchange(__func__, plan, recvbuf, &found);
}

/* For kinds that have no one buffer to return. */
static int wait_blocks(const char *function, rota_plan *plan,
                       const rota_kind_table *kind, rota_found *found)
{
    void *none;

    return wait_found(function, plan, check_collect(plan, kind, &none), &none,
                      found);
}

/* The kind of plan that rota_exchange_wait_borrow takes, if it takes this one. */
static const rota_kind_table *borrowed_kind(const rota_plan *plan)
{
    return plan && plan->task.kind->borrows ? plan->task.kind
                                            : &rota_kind_borrowing;
}

int rota_exchange_wait_borrow(rota_plan *plan, const void *blocks[],
                              int recvcounts[])
{
    rota_found found = {.blocks = blocks, .counts = recvcounts};

    return wait_blocks(__func__, plan, borrowed_kind(plan), &found);
}

int rota_exchange_wait_borrow_c(rota_plan *plan, const void *blocks[],
                                MPI_Count recvcounts[])
{
    rota_found found = {.large = true, .blocks = blocks, .counts = recvcounts};

    return wait_blocks(__func__, plan, borrowed_kind(plan), &found);
}

int rota_exchange_wait_arrays(rota_plan *plan, void *recvbufs[],
                              int recvcounts[], int rdispls[])
{
    rota_found found = {
        .arrays = recvbufs, .counts = recvcounts, .displs = rdispls};

    return wait_blocks(__func__, plan, &rota_kind_arrays, &found);
}

int rota_exchange_wait_arrays_c(rota_plan *plan, void *recvbufs[],
                                MPI_Count recvcounts[], MPI_Aint rdispls[])
{
    rota_found found = {.large = true,
                        .arrays = recvbufs,
                        .counts = recvcounts,
                        .displs = rdispls};

    return wait_blocks(__func__, plan, &rota_kind_arrays, &found);
}

int rota_exchange_get_sendbuf(rota_plan *plan, size_t bytes, void *ptr)
{
    int err = check_idle(plan);
    void *buffer = NULL;

    if (err == MPI_SUCCESS)
        err = check_kind(plan, &rota_kind_borrowing);
    if (err == MPI_SUCCESS && !ptr)
        err = rota_fail(MPI_ERR_ARG, "ptr is NULL");
    if (err == MPI_SUCCESS)
        err = rota_borrowing_sendbuf(&plan->built, bytes, &buffer);
    if (err == MPI_SUCCESS)
        memcpy(ptr, &buffer, sizeof buffer); /* to any pointer type */
    return leave_plan(plan, __func__, err);
}

/* recvcounts, rdispls: addresses of pointers, or NULL. Returns the sources even
 * if their blocks do not fit the caller's buffer. */
static int wait_sparse(const char *function, rota_plan *plan, void **recvbuf,
                       int *n_sources, const int **sources, bool large,
                       void *recvcounts, void *rdispls)
{
    rota_found found = {.large = large, .n_sources = -1};
    int err = check_collect(plan, &rota_kind_sparse, recvbuf);

    if (err == MPI_SUCCESS && !n_sources)
        err = rota_fail(MPI_ERR_ARG, "n_sources is NULL");
    err = wait_found(function, plan, err, recvbuf, &found);
    if (found.n_sources < 0)
        return err;
    *n_sources = found.n_sources;
    if (sources)
        *sources = found.sources;
    if (recvcounts)
        memcpy(recvcounts, &found.counts, sizeof found.counts);
    if (rdispls)
        memcpy(rdispls, &found.displs, sizeof found.displs);
    return err;
}

int rota_exchange_wait_sparse(rota_plan *plan, void **recvbuf, int *n_sources,
                              const int **sources, const int **recvcounts,
                              const int **rdispls)
{
    return wait_sparse(__func__, plan, recvbuf, n_sources, sources, false,
                       recvcounts, rdispls);
}

int rota_exchange_wait_sparse_c(rota_plan *plan, void **recvbuf, int *n_sources,
                                const int **sources,
                                const MPI_Count **recvcounts,
                                const MPI_Aint **rdispls)
{
    return wait_sparse(__func__, plan, recvbuf, n_sources, sources, true,
                       recvcounts, rdispls);
}

int rota_exchange_set_buffer(rota_plan *plan, void *buffer, size_t capacity)
{
    int err = check_handle(plan);

    if (err == MPI_SUCCESS &&
        (!plan->task.kind->collects || plan->task.kind->borrows))
        err = check_kind(plan, &rota_kind_exchange);
    if (err != MPI_SUCCESS)
        return leave_plan(plan, __func__, err);
    rota_counted_set_buffer(&plan->task, buffer, capacity, plan->active);
    return MPI_SUCCESS;
}

/* ---- parts --------------------------------------------------------------- */

/* What cannot be told apart, or is not there when a run begins. */
static int check_parts(const rota_plan *plan)
{
    const rota_task *const t = &plan->task;

    if (!t->kind->parts)
        return rota_fail(MPI_ERR_REQUEST,
                         "the plan is %s: all its blocks leave at once",
                         t->kind->is);
    if (t->problem.in_place)
        return rota_fail(MPI_ERR_REQUEST,
                         "the plan is in place: a start moves all its blocks");
    if (t->accumulate.combine)
        return rota_fail(MPI_ERR_REQUEST,
                         "the plan combines blocks: it does so when all have "
                         "come");
    if (t->use.device || plan->built.exec.gate)
        return rota_fail(MPI_ERR_REQUEST,
                         "buffers of the plan may be on a device");
    return plan->built.exec.status.broken ? rota_status_refuse() : MPI_SUCCESS;
}

int rota_plan_set_partitioned(rota_plan *plan)
{
    int err = check_idle(plan);

    if (err == MPI_SUCCESS && !plan->task.partitioned) {
        err = check_parts(plan);
        if (err == MPI_SUCCESS)
            err = rota_parts_make(&plan->built.exec);
        plan->task.partitioned = err == MPI_SUCCESS;
    }
    return leave_plan(plan, __func__, err);
}

/* Are blocks first to last of n, on a side of a partitioned plan? */
static int check_part(const rota_plan *plan, const char *name, int n, int first,
                      int last)
{
    if (!plan->task.partitioned)
        return rota_fail(MPI_ERR_REQUEST, "the plan is not partitioned "
                                          "(rota_plan_set_partitioned)");
    if (first < 0 || last >= n || first > last)
        return rota_fail(MPI_ERR_ARG, "%s %d is not one of 0 to %d", name,
                         first < 0 || first > last ? first : last, n - 1);
    return MPI_SUCCESS;
}

static int check_ready(const rota_plan *plan, int first, int last)
{
    ROTA_TRY(check_handle(plan));
    ROTA_TRY(
        check_part(plan, "destination", plan->built.sched.n_send, first, last));
    return plan->active ? MPI_SUCCESS
                        : rota_fail(MPI_ERR_REQUEST, "the plan is not active");
}

static int let_leave(const char *function, rota_plan *plan, int first, int last)
{
    int err = check_ready(plan, first, last);

    if (err == MPI_SUCCESS)
        err = rota_parts_ready(&plan->built.exec, first, last);
    if (err != MPI_SUCCESS)
        return leave_plan(plan, function, err);
    rota_parts_get_on(&plan->built.exec);
    return MPI_SUCCESS;
}

int rota_pready_range(rota_plan *plan, int low, int high)
{
    return let_leave(__func__, plan, low, high);
}

int rota_pready(rota_plan *plan, int dest)
{
    return let_leave(__func__, plan, dest, dest);
}

int rota_pready_list(rota_plan *plan, int n, const int dests[])
{
    int err = check_handle(plan);

    if (err == MPI_SUCCESS && n < 0)
        err = rota_fail(MPI_ERR_COUNT, "n = %d is negative", n);
    if (err == MPI_SUCCESS && n > 0 && !dests)
        err = rota_fail(MPI_ERR_ARG, "dests is NULL");
    for (int i = 0; i < n && err == MPI_SUCCESS; i++)
        err = check_ready(plan, dests[i], dests[i]);
    for (int i = 0; i < n && err == MPI_SUCCESS; i++)
        err = rota_parts_ready(&plan->built.exec, dests[i], dests[i]);
    if (err != MPI_SUCCESS)
        return leave_plan(plan, __func__, err);
    if (n > 0)
        rota_parts_get_on(&plan->built.exec);
    return MPI_SUCCESS;
}

/* Blocks of an exchange have a place when all have come. */
static int check_arrival(const rota_plan *plan, int n, int source)
{
    ROTA_TRY(check_part(plan, "source", n, source, source));
    return plan->task.kind->collects
               ? rota_fail(MPI_ERR_REQUEST,
                           "the plan is %s: %s tells where its blocks are",
                           plan->task.kind->is, plan->task.kind->wait)
               : MPI_SUCCESS;
}

/* A run that was waited for has brought everything. */
int rota_parrived(rota_plan *plan, int source, int *flag)
{
    int err = check_handle(plan);

    if (err == MPI_SUCCESS)
        err = check_arrival(plan, plan->built.sched.n_recv, source);
    if (err == MPI_SUCCESS && !flag)
        err = rota_fail(MPI_ERR_ARG, "flag is NULL");
    if (err != MPI_SUCCESS)
        return leave_plan(plan, __func__, err);
    if (plan->active && !rota_parts_arrived(&plan->built.exec, source))
        rota_parts_get_on(&plan->built.exec);
    *flag = !plan->active || rota_parts_arrived(&plan->built.exec, source);
    return MPI_SUCCESS;
}

int rota_wait_arrival(rota_plan *plan, int *source)
{
    int err = check_handle(plan);

    if (err == MPI_SUCCESS)
        err = check_arrival(plan, 1, 0);
    if (err == MPI_SUCCESS && !source)
        err = rota_fail(MPI_ERR_ARG, "source is NULL");
    if (err == MPI_SUCCESS && !plan->active)
        rota_parts_rest(&plan->built.exec, source);
    else if (err == MPI_SUCCESS)
        err = rota_parts_wait(&plan->built.exec, source);
    return leave_plan(plan, __func__, err);
}

/* ---- changing, freeing, asking ------------------------------------------- */

int rota_plan_set_buffers(rota_plan *plan, const void *sendbuf, void *recvbuf)
{
    int err = check_idle(plan);

    if (err == MPI_SUCCESS && !plan->task.kind->fixed)
        err = check_kind(plan, &rota_kind_fixed);
    if (err == MPI_SUCCESS)
        err = plan->task.kind->rebase(&plan->built, sendbuf, recvbuf);
    return leave_plan(plan, __func__, err);
}

int rota_plan_set_unit(rota_plan *plan, MPI_Datatype type, int howmany)
{
    int err = check_idle(plan);

    if (err == MPI_SUCCESS && !plan->task.kind->fixed)
        err = check_kind(plan, &rota_kind_fixed);
    if (err == MPI_SUCCESS && plan->task.kind != &rota_kind_scaled)
        err = rota_fail(MPI_ERR_ARG,
                        "the plan was made without rota_largest_unit");
    if (err == MPI_SUCCESS)
        err = rota_scaled_set_unit(&plan->built, type, howmany);
    return leave_plan(plan, __func__, err);
}

int rota_plan_move(rota_plan *plan, const void *sendbuf, void *recvbuf)
{
    return leave_plan(plan, __func__,
                      plan->task.kind->rebase(&plan->built, sendbuf, recvbuf));
}

int rota_plan_set_stream(rota_plan *plan, void *stream)
{
    int err = check_handle(plan);

    if (err == MPI_SUCCESS && plan->active)
        err = rota_fail(MPI_ERR_REQUEST, "the plan is active");
    if (err == MPI_SUCCESS)
        rota_built_follow(&plan->built, stream != ROTA_NO_STREAM, stream);
    return leave_plan(plan, __func__, err);
}

int rota_plan_set_reduction(rota_plan *plan, const void *value, void *result,
                            int count, MPI_Datatype type, MPI_Op op)
{
    int err = check_handle(plan);

    if (err == MPI_SUCCESS && check_mpi() != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    if (err == MPI_SUCCESS)
        err = rota_plan_reduce(plan, &(rota_reduction){.value = value,
                                                       .result = result,
                                                       .count = count,
                                                       .type = type,
                                                       .op = op});
    return leave_plan(plan, __func__, err);
}

int rota_plan_set_pack(rota_plan *plan, rota_pack_function *pack,
                       rota_unpack_function *unpack, void *context)
{
    int err = check_handle(plan);

    if (err == MPI_SUCCESS && check_mpi() != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    if (err == MPI_SUCCESS)
        err = rota_plan_pack(
            plan,
            &(rota_packer){.pack = pack, .unpack = unpack, .context = context});
    return leave_plan(plan, __func__, err);
}

int rota_plan_free(rota_plan **plan)
{
    rota_fail_clear();
    if (!plan)
        return leave(MPI_COMM_NULL, __func__, check_out("plan", plan));
    if (!*plan)
        return MPI_SUCCESS;
    if (check_mpi() != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    if ((*plan)->active)
        return leave_plan(*plan, __func__,
                          rota_fail(MPI_ERR_REQUEST, "the plan is active"));
    rota_plan_destroy(*plan);
    *plan = NULL;
    return MPI_SUCCESS;
}

int rota_plan_describe(const rota_plan *plan, int format, char *buf,
                       size_t *len)
{
    int err = check_handle(plan);

    if (err == MPI_SUCCESS)
        err = check_text_out(buf, len);
    if (err == MPI_SUCCESS && format != ROTA_DESCRIBE_TEXT &&
        format != ROTA_DESCRIBE_JSON)
        err = rota_fail(MPI_ERR_ARG, "format = %d is unknown", format);
    if (err == MPI_SUCCESS)
        err = rota_describe(plan, format, buf, len);
    return leave_plan(plan, __func__, err);
}

int rota_version(void)
{
    return ROTA_VERSION_NUMBER;
}
