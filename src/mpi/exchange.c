/* exchange.c - blocking, nonblocking and persistent exchanges: whether and how
 * they go by Rota.
 */
#include "mpi/shim.h"

/* Nonblocking calls have plans of bytes, in which there is no place for a type of
 * each block. */
static bool is_on(const rota_mpi_args *args, rota_mpi_kind kind)
{
    return rota_mpi_settings_get()->on[args->call][kind] &&
           (args->shape != ROTA_MPI_W || kind != ROTA_MPI_NONBLOCKING);
}

static void name_errors(const rota_mpi_args *args, rota_mpi_kind kind)
{
    rota_error_name(rota_mpi_call_name(args->call, kind));
}

/* ---- blocking --------------------------------------------------------------- */

static bool run_plan(rota_mpi_run *r, const rota_mpi_args *args, MPI_Comm ours,
                     int *err)
{
    if (r->same)
        return rota_mpi_same_exchange(r->same, args, ours, err);
    *err = rota_mpi_run_start(r, args);
    if (*err == MPI_SUCCESS)
        *err = rota_mpi_run_finish(r, rota_wait(r->plan));
    return true;
}

/* The plan is of a communicator of ours: errors are raised on the program's.
 * False, on all ranks: MPI is to do it. */
static bool run(rota_mpi_run *r, const rota_mpi_args *args, MPI_Comm ours,
                int *err)
{
    const double begin = rota_mpi_time_begin();

    name_errors(args, ROTA_MPI_BLOCKING);
    const bool done = run_plan(r, args, ours, err);
    if (done && *err != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(args->comm, *err);
    rota_mpi_time_end(begin);
    return done;
}

/* What is known of this call; NULL: it is MPI's. Alike on all ranks, but for
 * those that MPI refuses. */
static rota_mpi_usage *find_usage(const rota_mpi_args *args,
                                  rota_mpi_group **group)
{
    int P;
    rota_mpi_comm *const c = is_on(args, ROTA_MPI_BLOCKING)
                                 ? rota_mpi_comm_get(args->comm, &P)
                                 : NULL;

    if (!c || rota_mpi_refused(args, P))
        return NULL;
    *group = rota_mpi_comm_blocking(c);
    return rota_mpi_group_usage(*group, args);
}

bool rota_mpi_exchange(const rota_mpi_args *args, rota_mpi_turn *turn)
{
    rota_mpi_group *group;
    rota_mpi_usage *const u = find_usage(args, &group);
    bool rota = u && rota_mpi_usage_takes(u, group, args);

    turn->timed = NULL;
    if (u && rota_mpi_usage_is_timed(u)) {
        turn->timed = u;
        turn->bytes = rota_mpi_args_bytes(args);
        turn->begin = PMPI_Wtime();
    }
    if (rota)
        rota = run(u->run, args, rota_mpi_group_comm(group), &turn->err);
    if (!rota)
        rota_mpi_record(args);
    rota_mpi_count_call(args->call, ROTA_MPI_BLOCKING, rota);
    if (rota && turn->timed)
        rota_mpi_usage_time(u, true, turn->bytes, PMPI_Wtime() - turn->begin);
    return rota;
}

void rota_mpi_passed(const rota_mpi_turn *turn)
{
    if (turn->timed)
        rota_mpi_usage_time(turn->timed, false, turn->bytes,
                            PMPI_Wtime() - turn->begin);
}

/* ---- nonblocking ------------------------------------------------------------ */

static int start_request(rota_mpi_run *run, const rota_mpi_args *args,
                         MPI_Request *request)
{
    rota_mpi_request *const r = run->request;

    name_errors(args, ROTA_MPI_NONBLOCKING);
    /* The run's turn has come on all ranks, so that this one cannot take
     * another; nor may it wait here. */
    if (r->state != ROTA_MPI_INACTIVE)
        return rota_error_raise(args->comm, MPI_ERR_OTHER,
                                "a request was not completed before "
                                "ROTA_MPI_IN_FLIGHT more calls on its "
                                "communicator");
    const double begin = rota_mpi_time_begin();
    ROTA_MPI_TRY(rota_mpi_run_start(run, args));
    r->state = ROTA_MPI_ACTIVE;
    *request = r->handle;
    rota_mpi_time_end(begin);
    return MPI_SUCCESS;
}

bool rota_mpi_begin(const rota_mpi_args *args, MPI_Request *request, int *err)
{
    rota_mpi_comm *c = NULL;
    rota_mpi_run *r = NULL;
    int P;

    if (is_on(args, ROTA_MPI_NONBLOCKING) && request)
        c = rota_mpi_comm_get(args->comm, &P);
    if (c && !rota_mpi_refused(args, P))
        r = rota_mpi_comm_nonblocking(c);
    rota_mpi_count_call(args->call, ROTA_MPI_NONBLOCKING, r != NULL);
    if (r)
        *err = start_request(r, args, request);
    else
        rota_mpi_record(args);
    return r != NULL;
}

/* ---- persistent ------------------------------------------------------------- */

/* A rank that fails here takes part without a place for the plan, which Rota
 * refuses on all ranks. */
static int make_request(rota_mpi_request *r, const rota_mpi_args *from,
                        MPI_Info user)
{
    rota_mpi_args args = *from;
    MPI_Info info = MPI_INFO_NULL;
    const bool ready = r && rota_mpi_hint_at_once(user, &info) == MPI_SUCCESS;

    if (args.recv.buffer == MPI_IN_PLACE) /* MPI takes it where nothing comes */
        args.recv.buffer = NULL;
    const int err = rota_mpi_make_plan(&args, info, ready ? &r->plan : NULL);
    if (info != MPI_INFO_NULL)
        PMPI_Info_free(&info);
    return err;
}

bool rota_mpi_init(const rota_mpi_args *args, MPI_Info info,
                   MPI_Request *request, int *err)
{
    const bool rota =
        is_on(args, ROTA_MPI_INIT) && rota_mpi_comm_takes_init(args->comm);

    rota_mpi_count_call(args->call, ROTA_MPI_INIT, rota);
    if (!rota)
        return false;
    name_errors(args, ROTA_MPI_INIT);
    rota_mpi_request *const r = request ? rota_mpi_request_make() : NULL;
    *err = make_request(r, args, info);
    if (*err != MPI_SUCCESS) {
        rota_mpi_request_destroy(r);
        return true;
    }
    rota_mpi_count_plan(r->plan);
    r->bytes = rota_mpi_args_bytes(args);
    *request = r->handle;
    return true;
}
