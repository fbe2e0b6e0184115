/* exchange.c - see exchange.h. */
#include "mpi/exchange.h"
#include "mpi/check.h"
#include "mpi/comm.h"
#include "mpi/plans.h"
#include "mpi/request.h"
#include "mpi/settings.h"
#include "mpi/stats.h"
#include "mpi/sync.h"

#include "plan/inside.h"

#include <stdlib.h>
#include <string.h>

static bool is_on(const rota_mpi_args *args, rota_mpi_kind kind)
{
    return rota_mpi_settings_get()->on[args->call][kind];
}

static void name_errors(const rota_mpi_args *args, rota_mpi_kind kind)
{
    rota_error_name(rota_mpi_call_name(args->call, kind));
}

/* A call that goes to MPI, for ROTA_RECORD. */
static void record(rota_mpi_args *a)
{
    const rota_mpi_blocks *const b = rota_mpi_sent(a);
    bool known;
    int P = 0;

    if (!rota_record_wanted() || a->comm == MPI_COMM_NULL || !b->counts ||
        PMPI_Comm_size(a->comm, &P) != MPI_SUCCESS)
        return;
    if (b->n == 0) /* nobody has asked for it */
        rota_mpi_comm_takes(a, &known);
    if (rota_mpi_refused(a))
        return;
    size_t *const bytes = calloc((size_t)P, sizeof *bytes);
    for (int i = 0; bytes && i < b->n; i++) {
        const size_t sent = rota_mpi_bytes_at(a, b, i);
        if (sent > 0)
            bytes[b->peers ? b->peers[i] : i] += sent;
    }
    if (bytes)
        rota_record_call(a->comm, bytes);
    free(bytes);
}

/* ---- calls that go to MPI at once ---------------------------------------- */

/* What counts calls on a communicator, of a group or not; a predefined type is the
 * same on all. */
static void begin_recent(MPI_Comm comm, unsigned n_freed,
                         const rota_mpi_group *g)
{
    rota_mpi_recent *const r = &rota_mpi_recently;

    r->comm = comm;
    r->n_freed = n_freed;
    for (int call = 0; call < ROTA_MPI_CALLS; call++)
        r->tally[call] = g && g->other[call] ? &g->other[call]->tally : NULL;
    r->size = g && g->last ? &g->last : NULL;
}

bool rota_mpi_recall(MPI_Comm comm)
{
    const rota_mpi_recent *const r = &rota_mpi_recently;
    const unsigned n_freed = atomic_load(&rota_mpi_n_freed);

    if (r->comm == comm && r->n_freed == n_freed)
        return true;
    if (rota_mpi_settings_get()->counted)
        return false;
    const rota_mpi_group *const group = rota_mpi_group_of(comm);
    if (group)
        begin_recent(comm, n_freed, group);
    return group;
}

/* What counts calls like this one that go to MPI. u is NULL where all do. */
static void remember(const rota_mpi_args *args, const rota_mpi_group *group,
                     rota_mpi_usage *u)
{
    rota_mpi_recent *const r = &rota_mpi_recently;
    const unsigned n_freed = atomic_load(&rota_mpi_n_freed);

    if (rota_mpi_settings_get()->counted)
        return;
    if (r->comm != args->comm || r->n_freed != n_freed)
        begin_recent(args->comm, n_freed, group);
    if (!u) {
        r->tally[args->call] = &r->passed;
    } else if (rota_mpi_has_size(args)) {
        r->size = &group->last;
    } else {
        r->tally[args->call] = &u->tally;
    }
}

void rota_mpi_failed(rota_mpi_args *args, rota_mpi_tally *tally)
{
    bool known;

    /* An error handler may have freed the communicator. */
    if (rota_mpi_is_recent(args->comm) &&
        (tally == &rota_mpi_recently.passed ||
         (rota_mpi_comm_takes(args, &known) && !rota_mpi_refused(args))))
        tally->calls++;
}

/* ---- blocking ------------------------------------------------------------ */

/* What is known of this call; NULL: it is MPI's. Alike on all ranks, but for
 * those that MPI refuses. */
static rota_mpi_usage *find_usage(rota_mpi_args *args, rota_mpi_group **group)
{
    const bool on = is_on(args, ROTA_MPI_BLOCKING);
    bool known = true;
    const bool takes = on && rota_mpi_comm_takes(args, &known);

    if (!takes && known)
        remember(args, NULL, NULL);
    if (!takes || rota_mpi_refused(args))
        return NULL;
    *group = rota_mpi_comm_blocking(args);
    rota_mpi_usage *const u = rota_mpi_group_usage(*group, args);
    if (u)
        remember(args, *group, u);
    return u;
}

/* The plan is of a communicator of ours: errors are raised on the program's.
 * False, on all ranks: MPI is to do it. */
static bool run(rota_mpi_usage *u, const rota_mpi_args *args, MPI_Comm ours,
                int *err)
{
    const rota_mpi_args for_rota = rota_mpi_for_rota(args);
    const double begin = rota_mpi_time_begin();

    name_errors(args, ROTA_MPI_BLOCKING);
    const bool done =
        u->run || rota_mpi_same_exchange(u->same, &for_rota, ours, err);
    if (u->run)
        *err = rota_mpi_run_exchange(u->run, &for_rota, &u->repeat);
    if (done && *err != MPI_SUCCESS)
        rota_mpi_raise(args->comm, *err);
    rota_mpi_time_end(begin, true);
    return done;
}

static void end_turn(const rota_mpi_turn *turn)
{
    if (turn->timed)
        rota_mpi_worth_time(&turn->timed->worth, turn->timed->tally.calls - 1,
                            turn->bytes, rota_mpi_clock() - turn->begin);
}

void rota_mpi_passed(rota_mpi_turn *turn)
{
    /* An error handler may have freed the communicator, and what is known of it. */
    const bool lost = turn->err != MPI_SUCCESS &&
                      atomic_load(&rota_mpi_n_freed) != turn->n_freed;

    rota_mpi_time_end(turn->passed_on, false);
    if (lost) {
        rota_mpi_abandon(&turn->question);
    } else {
        end_turn(turn);
        rota_mpi_decided(&turn->question);
    }
}

bool rota_mpi_blocking(rota_mpi_args *args, rota_mpi_turn *turn)
{
    rota_mpi_group *group;
    rota_mpi_usage *const u = find_usage(args, &group);

    turn->timed = NULL;
    turn->question.usage = NULL;
    bool rota = u && rota_mpi_decide(u, group, args, &turn->question);
    if (u && rota_mpi_worth_is_timed(&u->worth, u->tally.calls - 1)) {
        turn->timed = u;
        turn->bytes = rota_mpi_args_bytes(args);
        turn->begin = rota_mpi_clock();
    }
    if (rota)
        rota = run(u, args, group->comm, &turn->err);
    if (!rota)
        record(args);
    rota_mpi_count_call(args->call, ROTA_MPI_BLOCKING, rota);
    turn->n_freed = atomic_load(&rota_mpi_n_freed);
    if (rota)
        end_turn(turn);
    else
        turn->passed_on = rota_mpi_time_begin();
    return rota;
}

/* ---- nonblocking --------------------------------------------------------- */

void rota_mpi_nonblocking(rota_mpi_args *args)
{
    rota_mpi_count_call(args->call, ROTA_MPI_NONBLOCKING, false);
    record(args);
}

/* ---- persistent ---------------------------------------------------------- */

/* Among neighbours MPI looks at nothing else where a count is 0. */
static void take_any_type(rota_mpi_args *args)
{
    rota_mpi_blocks *const side[2] = {&args->send, &args->recv};

    for (int i = 0; i < 2; i++)
        if (rota_mpi_count_at(args, side[i], 0) == 0)
            side[i]->type = MPI_BYTE;
}

/* Collective: a rank that has no request takes part without a place for the plan. */
static int make_request(rota_mpi_request *r, const rota_mpi_args *from,
                        MPI_Info user)
{
    rota_mpi_args args = rota_mpi_for_rota(from);
    MPI_Errhandler handler;

    if (args.neighbors && args.shape == ROTA_MPI_ONE)
        take_any_type(&args);
    rota_mpi_hush(args.comm, &handler);
    const int err = rota_mpi_make_fixed(&args, true, user, r ? &r->plan : NULL);
    rota_mpi_unhush(args.comm, &handler);
    return err;
}

/* Do blocks of some rank overlap? All ranks have the same text. MPI may let them
 * pass, and then the program is to run. */
static bool says_overlap(int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    return code != MPI_SUCCESS &&
           PMPI_Error_string(code, text, &length) == MPI_SUCCESS &&
           strstr(text, " overlap");
}

bool rota_mpi_persistent(rota_mpi_args *args, MPI_Info info,
                         MPI_Request *request, int *err)
{
    const bool on =
        is_on(args, ROTA_MPI_PERSISTENT) && rota_mpi_comm_takes_init(args);
    rota_mpi_request *const r = on && request ? rota_mpi_request_make() : NULL;

    name_errors(args, ROTA_MPI_PERSISTENT);
    *err = on ? make_request(r, args, info) : MPI_SUCCESS;
    const bool overlap = says_overlap(*err), rota = on && !overlap;
    rota_mpi_count_call(args->call, ROTA_MPI_PERSISTENT, rota);
    rota_mpi_count_overlap(overlap);
    if (r && *err != MPI_SUCCESS)
        rota_mpi_request_destroy(r);
    if (rota && *err != MPI_SUCCESS)
        rota_mpi_raise(args->comm, *err);
    if (rota && *err == MPI_SUCCESS) {
        r->bytes = rota_mpi_args_bytes(args);
        *request = r->handle;
    }
    return rota;
}
