/* exchange.c - blocking, nonblocking and persistent exchanges: whether and how
 * they go by Rota.
 */
#include "mpi/shim.h"

_Thread_local rota_mpi_recent rota_mpi_recently = {.comm = MPI_COMM_NULL,
                                                   .type = MPI_DATATYPE_NULL};

static bool is_on(const rota_mpi_args *args, rota_mpi_kind kind)
{
    return rota_mpi_settings_get()->on[args->call][kind];
}

static void name_errors(const rota_mpi_args *args, rota_mpi_kind kind)
{
    rota_error_name(rota_mpi_call_name(args->call, kind));
}

/* ---- blocking ------------------------------------------------------------ */

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

/* A type whose size never changes. */
static void remember_type(rota_mpi_recent *r, const rota_mpi_args *a)
{
    const MPI_Datatype type =
        a->send.buffer == MPI_IN_PLACE ? a->recv.type : a->send.type;
    int n_ints, n_addresses, n_types, combiner;

    if (r->type == type)
        return;
    r->type = MPI_DATATYPE_NULL;
    if (PMPI_Type_get_envelope(type, &n_ints, &n_addresses, &n_types,
                               &combiner) == MPI_SUCCESS &&
        combiner == MPI_COMBINER_NAMED &&
        PMPI_Type_size_x(type, &r->type_bytes) == MPI_SUCCESS)
        r->type = type;
}

/* What counts calls on a communicator; a predefined type is the same on all. */
static void begin_recent(MPI_Comm comm, unsigned n_freed)
{
    rota_mpi_recent *const r = &rota_mpi_recently;

    r->comm = comm;
    r->n_freed = n_freed;
    for (int call = 0; call < ROTA_MPI_CALLS; call++)
        r->tally[call] = NULL;
    r->size = NULL;
    r->passed = (rota_mpi_tally){.plain = LONG_MAX};
}

bool rota_mpi_recall(MPI_Comm comm)
{
    rota_mpi_recent *const r = &rota_mpi_recently;
    const unsigned n_freed = atomic_load(&rota_mpi_n_freed);

    if ((r->comm == comm && r->n_freed == n_freed) ||
        rota_mpi_settings_get()->counted)
        return false;
    const rota_mpi_group *const group = rota_mpi_group_of(comm);
    if (!group)
        return false;
    begin_recent(comm, n_freed);
    for (int call = 0; call < ROTA_MPI_CALLS; call++)
        r->tally[call] = rota_mpi_group_tally(group, (rota_mpi_call)call);
    r->size = rota_mpi_group_last_size(group);
    return true;
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
        begin_recent(args->comm, n_freed);
    if (!u) {
        r->tally[args->call] = &r->passed;
    } else if (args->shape == ROTA_MPI_ONE && !args->neighbors) {
        r->size = rota_mpi_group_last_size(group);
        remember_type(r, args);
    } else {
        r->tally[args->call] = &u->tally;
    }
}

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

bool rota_mpi_blocking(rota_mpi_args *args, rota_mpi_turn *turn)
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

void rota_mpi_failed(rota_mpi_args *args, rota_mpi_tally *tally)
{
    bool known;

    /* An error handler may have freed the communicator. */
    if (rota_mpi_is_recent(args->comm) &&
        (tally == &rota_mpi_recently.passed ||
         (rota_mpi_comm_takes(args, &known) && !rota_mpi_refused(args))))
        tally->calls++;
}

/* ---- nonblocking --------------------------------------------------------- */

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

bool rota_mpi_nonblocking(rota_mpi_args *args, MPI_Request *request, int *err)
{
    rota_mpi_comm *c = NULL;
    rota_mpi_run *r = NULL;
    bool known;

    if (is_on(args, ROTA_MPI_NONBLOCKING) && request)
        c = rota_mpi_comm_get(args, &known);
    if (c && !rota_mpi_refused(args))
        r = rota_mpi_comm_nonblocking(c, args);
    rota_mpi_count_call(args->call, ROTA_MPI_NONBLOCKING, r != NULL);
    if (r)
        *err = start_request(r, args, request);
    else
        rota_mpi_record(args);
    return r != NULL;
}

/* ---- persistent ---------------------------------------------------------- */

/* Among neighbours MPI looks at nothing else where a count is 0. */
static void take_what_mpi_takes(rota_mpi_args *args)
{
    rota_mpi_blocks *const side[2] = {&args->send, &args->recv};

    if (args->send.buffer == MPI_IN_PLACE)
        args->send.buffer = NULL;
    for (int i = 0; i < 2 && args->shape == ROTA_MPI_ONE; i++)
        if (rota_mpi_count_at(args, side[i]->counts, 0) == 0)
            side[i]->type = MPI_BYTE;
}

/* A rank that fails here takes part without a place for the plan, which Rota
 * refuses on all ranks. */
static int make_request(rota_mpi_request *r, const rota_mpi_args *from,
                        MPI_Info user)
{
    rota_mpi_args args = *from;
    MPI_Info info = MPI_INFO_NULL;
    const bool ready =
        r && rota_mpi_hint_at_once(user, args.neighbors, &info) == MPI_SUCCESS;

    if (args.recv.buffer == MPI_IN_PLACE) /* MPI takes it where nothing comes */
        args.recv.buffer = NULL;
    if (args.neighbors)
        take_what_mpi_takes(&args);
    rota_plan **const plan = ready ? &r->plan : NULL;
    const int err = args.recv.slots ? rota_mpi_make_reordered(&args, info, plan)
                                    : rota_mpi_make_plan(&args, info, plan);
    if (info != MPI_INFO_NULL)
        PMPI_Info_free(&info);
    return err;
}

bool rota_mpi_persistent(rota_mpi_args *args, MPI_Info info,
                         MPI_Request *request, int *err)
{
    const bool rota =
        is_on(args, ROTA_MPI_INIT) && rota_mpi_comm_takes_init(args);

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
