/* decide.c - see decide.h. */
#include "mpi/decide.h"
#include "mpi/plans.h"
#include "mpi/sync.h"
#include "mpi/yield.h"

#include "plan/inside.h"

/* Open MPI's waits yield the core where ranks share it. */
static bool waits_yield(void)
{
#ifdef OPEN_MPI
    return true;
#else
    return rota_mpi_gives_way();
#endif
}

static rota_mpi_purse purse = ROTA_MPI_PURSE;
static _Atomic double first; /* when the first exchange was; 0: none yet */

static rota_mpi_moment look(const rota_mpi_group *g)
{
    return (rota_mpi_moment){
        .step = purse.step,
        .age = rota_mpi_clock() - first,
        .ranks_per_core = rota_ranks_per_core(),
        .spins = !waits_yield() && rota_ranks_per_core() > 1,
        .room = rota_mpi_group_has_room(g),
        .kind = !purse.any_plan ? ROTA_MPI_OF_PROCESS
                : !g->adopted   ? ROTA_MPI_OF_GROUP
                                : ROTA_MPI_OTHER,
    };
}

/* Seconds of a step that all ranks begin at the same time. */
static double time_step(MPI_Comm comm)
{
    rota_mpi_barrier(comm);
    const double begin = rota_mpi_clock();
    rota_mpi_barrier(comm);
    return rota_mpi_clock() - begin;
}

/* ---- questions ----------------------------------------------------------- */

static void begin_question(rota_mpi_question *q, const double *mine, int n)
{
    q->n = n;
    q->err = PMPI_Iallreduce(mine, q->all, n, MPI_DOUBLE, MPI_SUM,
                             q->args->comm, &q->request);
}

/* The means over all ranks; NULL: ranks could not agree. */
static const double *end_question(rota_mpi_question *q)
{
    if (q->err == MPI_SUCCESS)
        q->err = rota_wait_request(q->args->comm, &q->request);
    for (int i = 0; i < q->n && q->err == MPI_SUCCESS; i++)
        q->all[i] /= q->group->P;
    return q->err == MPI_SUCCESS ? q->all : NULL;
}

static void ask_for_plan(rota_mpi_question *q)
{
    q->moment = look(q->group);
    rota_mpi_worth_terms(&q->usage->worth, &purse, &q->moment, q->mine);
    q->mine[ROTA_MPI_NOT_PLAIN] = !rota_mpi_args_plain(q->args);
    q->mine[ROTA_MPI_BYTES_SENT] = (double)rota_mpi_args_bytes(q->args);
    begin_question(q, q->mine, ROTA_MPI_ASKED);
}

static void ask(rota_mpi_question *q, rota_mpi_usage *u, rota_mpi_group *group,
                const rota_mpi_args *args)
{
    const rota_mpi_trial *const t = u->worth.trial;

    q->usage = u;
    q->group = group;
    q->args = args;
    if (u->worth.verdict == ROTA_MPI_OPEN)
        ask_for_plan(q);
    else
        begin_question(q, t->result, 4 * t->pairs);
}

/* ---- answers ------------------------------------------------------------- */

static void make(const rota_mpi_question *q)
{
    const rota_mpi_sample sample = {.plain = q->all[ROTA_MPI_NOT_PLAIN] == 0,
                                    .bytes = q->all[ROTA_MPI_BYTES_SENT]};
    rota_mpi_worth *const w = &q->usage->worth;
    const double begin = rota_mpi_clock();
    const int err = rota_mpi_group_make(q->group, q->usage, q->args, &sample);

    if (err == MPI_SUCCESS) {
        rota_mpi_worth_made(w, &purse, &q->moment, rota_mpi_clock() - begin,
                            rota_mpi_alloc(1, sizeof(rota_mpi_trial)));
        return;
    }
    rota_mpi_explain(q->args->comm, err);
    rota_mpi_worth_stop(w);
}

static void consider(rota_mpi_question *q)
{
    rota_mpi_worth *const w = &q->usage->worth;
    rota_mpi_answer answer = rota_mpi_worth_consider(w, end_question(q), false);

    if (answer == ROTA_MPI_MEASURE) {
        purse.step = time_step(q->args->comm);
        ask_for_plan(q);
        answer = rota_mpi_worth_consider(w, end_question(q), true);
    }
    if (answer == ROTA_MPI_MAKE)
        make(q);
    else
        purse.step = purse.step / 2; /* a rank may have been interrupted */
}

/* How calls go from the next one on. */
static void settle(rota_mpi_usage *u)
{
    u->tally.look = rota_mpi_worth_look(&u->worth, u->tally.calls);
    u->tally.by =
        rota_mpi_worth_takes(&u->worth, u->tally.calls) ? &u->repeat : NULL;
}

void rota_mpi_abandon(rota_mpi_question *q)
{
    if (q->usage && q->err == MPI_SUCCESS)
        PMPI_Wait(&q->request, MPI_STATUS_IGNORE);
    q->usage = NULL;
}

void rota_mpi_decided(rota_mpi_question *q)
{
    rota_mpi_usage *const u = q->usage;

    if (!u)
        return;
    if (u->worth.verdict == ROTA_MPI_OPEN)
        consider(q);
    else
        rota_mpi_worth_judge(&u->worth, &purse, end_question(q));
    if (rota_mpi_worth_is_over(&u->worth))
        rota_mpi_usage_drop(u);
    q->usage = NULL;
    settle(u);
}

/* ---- calls --------------------------------------------------------------- */

bool rota_mpi_decide(rota_mpi_usage *u, rota_mpi_group *group,
                     const rota_mpi_args *args, rota_mpi_question *q)
{
    rota_mpi_worth *const w = &u->worth;
    const long call = u->tally.calls++;

    if (first == 0)
        first = rota_mpi_clock();
    q->usage = NULL;
    if (call == w->next &&
        (w->verdict == ROTA_MPI_OPEN || w->verdict == ROTA_MPI_TRIAL))
        ask(q, u, group, args);
    else if (call == w->next)
        rota_mpi_worth_try(w);
    if (!w->by_cost)
        rota_mpi_decided(q);
    settle(u);
    return rota_mpi_worth_takes(w, call);
}
