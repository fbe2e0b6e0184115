/* decide.c - see decide.h. */
#include "mpi/decide.h"
#include "mpi/plans.h"
#include "mpi/sync.h"

#include "plan/inside.h"

/* Open MPI's waits yield the core where ranks share it. */
#ifdef OPEN_MPI
enum { WAITS_YIELD = true };
#else
enum { WAITS_YIELD = false };
#endif

static rota_mpi_purse purse = ROTA_MPI_PURSE;
static _Atomic double first; /* when the first exchange was; 0: none yet */

static rota_mpi_moment look(const rota_mpi_group *g)
{
    return (rota_mpi_moment){
        .step = purse.step,
        .age = rota_mpi_clock() - first,
        .ranks_per_core = rota_ranks_per_core(),
        .spins = !WAITS_YIELD && rota_ranks_per_core() > 1,
        .room = rota_mpi_group_has_room(g),
        .kind = !purse.any_plan ? ROTA_MPI_OF_PROCESS
                : !g->adopted   ? ROTA_MPI_OF_GROUP
                                : ROTA_MPI_OTHER,
    };
}

/* Seconds of a step that all ranks begin at the same time, since they have just
 * agreed to. */
static double time_step(MPI_Comm comm)
{
    const double begin = rota_mpi_clock();
    rota_mpi_barrier(comm);
    return rota_mpi_clock() - begin;
}

static rota_mpi_answer ask(rota_mpi_usage *u, const rota_mpi_moment *m,
                           MPI_Comm comm, bool measured)
{
    double mine[ROTA_MPI_TERMS], all[ROTA_MPI_TERMS];

    rota_mpi_worth_terms(&u->worth, &purse, m, mine);
    const bool agreed = rota_mpi_reduce(mine, all, ROTA_MPI_TERMS, MPI_DOUBLE,
                                        MPI_SUM, comm) == MPI_SUCCESS;
    return rota_mpi_worth_consider(&u->worth, agreed ? all : NULL, measured);
}

static void make(rota_mpi_usage *u, rota_mpi_group *group,
                 const rota_mpi_args *args, const rota_mpi_moment *m)
{
    const double begin = rota_mpi_clock();
    const int err = rota_mpi_group_make(group, u, args);

    if (err == MPI_SUCCESS) {
        rota_mpi_worth_made(&u->worth, &purse, m, rota_mpi_clock() - begin,
                            rota_mpi_alloc(1, sizeof(rota_mpi_trial)));
        return;
    }
    rota_mpi_explain(args->comm, err);
    rota_mpi_worth_stop(&u->worth);
}

static void consider(rota_mpi_usage *u, rota_mpi_group *group,
                     const rota_mpi_args *args)
{
    rota_mpi_moment m = look(group);
    rota_mpi_answer answer = ask(u, &m, args->comm, false);

    if (answer == ROTA_MPI_MEASURE) {
        purse.step = time_step(args->comm);
        m = look(group);
        answer = ask(u, &m, args->comm, true);
    }
    if (answer == ROTA_MPI_MAKE)
        make(u, group, args, &m);
}

static void judge(rota_mpi_usage *u, MPI_Comm comm)
{
    const rota_mpi_trial *const t = u->worth.trial;
    double all[ROTA_MPI_RESULTS];
    const bool agreed =
        u->worth.verdict == ROTA_MPI_TRIAL &&
        rota_mpi_reduce(t->result, all, 4 * t->pairs, MPI_DOUBLE, MPI_SUM,
                        comm) == MPI_SUCCESS;

    rota_mpi_worth_judge(&u->worth, &purse, agreed ? all : NULL);
}

bool rota_mpi_decide(rota_mpi_usage *u, rota_mpi_group *group,
                     const rota_mpi_args *args)
{
    const long call = u->tally.calls++;

    if (first == 0)
        first = rota_mpi_clock();
    if (call == u->worth.next) {
        if (u->worth.verdict == ROTA_MPI_OPEN)
            consider(u, group, args);
        else
            judge(u, args->comm);
        if (rota_mpi_worth_is_over(&u->worth))
            rota_mpi_usage_drop(u);
    }
    const bool takes = rota_mpi_worth_takes(&u->worth, call);
    u->tally.look = rota_mpi_worth_look(&u->worth, u->tally.calls);
    u->tally.by = takes ? &u->repeat : NULL;
    return takes;
}
