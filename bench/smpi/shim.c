/* shim.c - see shim.h. Every rank has variables of its own: SMPI gives each a
 * copy of the executable's. */
#include "shim.h"

#include "exec/exec.h"

#include <errno.h>
#include <search.h>
#include <simgrid/engine.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct hwloc_topology;
int shim_hwloc_topology_load(struct hwloc_topology *topology);

/* What SMPI charges for MPI_Isend is set by scale.sh: smpi/ois. */
#define START_S 2e-7
/* One core that copies from and to its cache. */
#define COPY_BYTES_PER_S 10e9

/* ---- what time goes to --------------------------------------------------- */

/* A wait is for what ends it. */
typedef enum part {
    CALLS,   /* posting sends */
    COPIES,  /* within the memory of the rank */
    SIZES,   /* waiting for a message of sizes, sent before the data */
    INSIDE,  /* waiting for data from or to a rank of the node */
    BETWEEN, /* waiting for data from or to another node */
    N_PARTS
} part;

/* Seconds: since the last look at the clock, between the two before, and
 * between the two before those. */
static double spent[N_PARTS], before[N_PARTS], timed[N_PARTS];

static void turn_page(void)
{
    (memcpy)(timed, before, sizeof timed);
    (memcpy)(before, spent, sizeof before);
    memset(spent, 0, sizeof spent);
}

/* With --touch none rota-bench looks at the clock before an exchange, after it,
 * and once more when it shows how far it is. */
static void write_parts(void)
{
    double sum[N_PARTS];
    int rank, P;
    FILE *file;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &P);
    PMPI_Reduce(timed, sum, N_PARTS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    file = fopen("parts.csv", "w");
    if (!file)
        return;
    fprintf(file, "calls_us,copies_us,sizes_us,inside_us,between_us\n");
    for (int i = 0; i < N_PARTS; i++)
        fprintf(file, "%.3f%c", sum[i] / P * 1e6, i < N_PARTS - 1 ? ',' : '\n');
    fclose(file);
}

int shim_finalize(void)
{
    write_parts();
    return PMPI_Finalize();
}

/* ---- time ---------------------------------------------------------------- */

static double owed_s; /* passed on this rank, not yet told to SimGrid */

static void owe(part what, double seconds)
{
    owed_s += seconds;
    spent[what] += seconds;
}

/* Before anything that others see, or that looks at the clock. */
static void pay(void)
{
    const double seconds = owed_s;

    owed_s = 0;
    if (seconds > 0)
        smpi_execute(seconds);
}

void *shim_memcpy(void *to, const void *from, size_t bytes)
{
    owe(COPIES, (double)bytes / COPY_BYTES_PER_S);
    return (memcpy)(to, from, bytes);
}

/* May ranks of a node share memory? */
static bool shares(void)
{
    static int answer = -1;

    if (answer < 0)
        answer = strcmp(getenv("SCALE_SHARED"), "yes") == 0;
    return answer;
}

/* What a look at something in vain takes. */
static double poll_s(void)
{
    static double seconds;

    if (seconds <= 0)
        seconds = 1e-9 * atof(getenv("SCALE_POLL_NS"));
    return seconds;
}

int shim_clock_gettime(clockid_t clock, struct timespec *now)
{
    if (shares()) /* a wait for a flag in memory looks at nothing else */
        owe(INSIDE, poll_s());
    pay();
    return smpi_clock_gettime(clock, now);
}

int shim_clock_gettime_divides(clockid_t clock, struct timespec *now)
{
    pay();
    turn_page();
    return smpi_clock_gettime(clock, now);
}

int shim_memfd_create(const char *name, unsigned flags)
{
    if (shares())
        return (int)syscall(SYS_memfd_create, name, flags);
    errno = ENOSYS;
    return -1;
}

int shim_hwloc_topology_load(struct hwloc_topology *topology)
{
    (void)topology;
    return -1;
}

/* ---- messages ------------------------------------------------------------ */

typedef struct known {
    MPI_Request request;
    part wait;
    bool persistent_send;
} known;

static void *known_requests; /* a tree */

static int compare(const void *a, const void *b)
{
    const MPI_Request x = ((const known *)a)->request;
    const MPI_Request y = ((const known *)b)->request;

    return (x > y) - (x < y);
}

static known *find(MPI_Request request)
{
    known **const found = tfind(&(known){request}, &known_requests, compare);

    return found ? *found : NULL;
}

/* What a wait for the request is for. The tag is odd of what a plan sends
 * before its data; communicators have the ranks of the world. */
static part wait_for(int peer, int tag)
{
    static int per_node;
    int me;

    if (per_node == 0)
        per_node = atoi(getenv("SCALE_RANKS_PER_NODE"));
    PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (tag % 2 != 0)
        return SIZES;
    return peer / per_node == me / per_node ? INSIDE : BETWEEN;
}

static int remember(MPI_Request request, int peer, int tag,
                    bool persistent_send)
{
    known *k = find(request);

    if (!k) {
        k = malloc(sizeof *k);
        if (!k)
            return MPI_ERR_NO_MEM;
        k->request = request;
        if (!tsearch(k, &known_requests, compare))
            return MPI_ERR_NO_MEM;
    }
    *k = (known){request, wait_for(peer, tag), persistent_send};
    return MPI_SUCCESS;
}

int shim_send_init(const void *data, int count, MPI_Datatype type, int to,
                   int tag, MPI_Comm comm, MPI_Request *request)
{
    const int err = PMPI_Send_init(data, count, type, to, tag, comm, request);

    return err ? err : remember(*request, to, tag, true);
}

int shim_recv_init(void *data, int count, MPI_Datatype type, int from, int tag,
                   MPI_Comm comm, MPI_Request *request)
{
    const int err = PMPI_Recv_init(data, count, type, from, tag, comm, request);

    return err ? err : remember(*request, from, tag, false);
}

int shim_request_free(MPI_Request *request)
{
    known *const k = find(*request);

    if (k) {
        tdelete(k, &known_requests, compare);
        free(k);
    }
    return PMPI_Request_free(request);
}

int shim_start(MPI_Request *request)
{
    const known *const k = find(*request);

    if (k && k->persistent_send)
        owe(CALLS, START_S);
    pay();
    return PMPI_Start(request);
}

typedef int send_fn(const void *data, int count, MPI_Datatype type, int to,
                    int tag, MPI_Comm comm, MPI_Request *request);

static int send(send_fn *fn, const void *data, int count, MPI_Datatype type,
                int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    pay();
    const double began = simgrid_get_clock();
    const int err = fn(data, count, type, to, tag, comm, request);
    spent[CALLS] += simgrid_get_clock() - began;
    return err ? err : remember(*request, to, tag, false);
}

int shim_isend(const void *data, int count, MPI_Datatype type, int to, int tag,
               MPI_Comm comm, MPI_Request *request)
{
    return send(PMPI_Isend, data, count, type, to, tag, comm, request);
}

int shim_issend(const void *data, int count, MPI_Datatype type, int to, int tag,
                MPI_Comm comm, MPI_Request *request)
{
    return send(PMPI_Issend, data, count, type, to, tag, comm, request);
}

int shim_irecv(void *data, int count, MPI_Datatype type, int from, int tag,
               MPI_Comm comm, MPI_Request *request)
{
    const int err = PMPI_Irecv(data, count, type, from, tag, comm, request);

    return err ? err : remember(*request, from, tag, false);
}

/* ---- tests --------------------------------------------------------------- */

/* What was last tested in vain: a request, or the array of several. */
static const void *in_vain;

typedef enum answer { NOT_YET, TEST, WAIT } answer;

/* How to answer a test. The first one is in vain without asking: SMPI keeps an
 * operation for good in a list of its actor's if a test finds it complete, and
 * searches that list at every later one. */
static answer choose(const void *tested)
{
    const void *const before = in_vain;

    pay();
    if (shares()) /* what it waits for besides may be in memory */
        return TEST;
    in_vain = tested != before ? tested : NULL;
    if (tested == before)
        return WAIT;
    return before ? TEST : NOT_YET;
}

/* Several are polled in turn, for which time must pass: what a test in vain takes. */
static void note_poll(int flag, MPI_Request request)
{
    const known *const k = find(request);

    if (flag)
        in_vain = NULL;
    else
        owe(k ? k->wait : BETWEEN, poll_s());
}

/* The wait that ended now was for the request. */
static void note_wait(double began, MPI_Request request)
{
    const known *const k = find(request);

    if (k)
        spent[k->wait] += simgrid_get_clock() - began;
}

int shim_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    const MPI_Request tested = *request; /* the handle may be gone then */
    const answer how = tested != MPI_REQUEST_NULL ? choose(tested) : WAIT;
    const double began = simgrid_get_clock();
    int err = MPI_SUCCESS;

    *flag = how == WAIT;
    if (how == WAIT) {
        err = PMPI_Wait(request, status);
        note_wait(began, tested);
    }
    if (how == TEST) {
        err = PMPI_Test(request, flag, status);
        note_poll(*flag, tested);
    }
    return err;
}

int shim_testall(int n, MPI_Request request[], int *flag, MPI_Status status[])
{
    const answer how = choose(request);
    int err = MPI_SUCCESS;

    *flag = how == WAIT;
    if (how == WAIT)
        err = PMPI_Waitall(n, request, status);
    if (how == TEST) {
        err = PMPI_Testall(n, request, flag, status);
        note_poll(*flag, request[0]);
    }
    return err;
}

/* One at a time: SMPI's MPI_Waitsome waits for all. */
int shim_testsome(int n, MPI_Request request[], int *n_done, int done[],
                  MPI_Status status[])
{
    const answer how = choose(request);
    const double began = simgrid_get_clock();
    MPI_Request tested[n]; /* handles may be gone then */
    int flag = how == WAIT, err = MPI_SUCCESS;

    (memcpy)(tested, request, sizeof tested);
    if (how == WAIT) {
        err = PMPI_Waitany(n, request, &done[0], &status[0]);
        if (done[0] != MPI_UNDEFINED)
            note_wait(began, tested[done[0]]);
    }
    if (how == TEST) {
        err = PMPI_Testany(n, request, &done[0], &flag, &status[0]);
        note_poll(flag, tested[0]);
    }
    *n_done = flag && done[0] == MPI_UNDEFINED ? MPI_UNDEFINED : flag;
    return err;
}

/* ---- probes -------------------------------------------------------------- */

int shim_iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    if (tag != ROTA_TAG_NOTHING)
        return PMPI_Iprobe(from, tag, comm, flag, status);
    owe(shares() ? INSIDE : BETWEEN, poll_s());
    *flag = 0;
    return MPI_SUCCESS;
}

typedef struct probed {
    int from, tag;
    MPI_Comm comm;
} probed;

int shim_improbe(int from, int tag, MPI_Comm comm, int *flag,
                 MPI_Message *message, MPI_Status *status)
{
    probed *p;

    pay();
    const int err = PMPI_Iprobe(from, tag, comm, flag, status);
    if (err != MPI_SUCCESS || !*flag)
        return err;
    p = malloc(sizeof *p);
    if (!p)
        return MPI_ERR_NO_MEM;
    *p = (probed){status->MPI_SOURCE, status->MPI_TAG, comm};
    *message = p;
    return MPI_SUCCESS;
}

int shim_imrecv(void *data, int count, MPI_Datatype type, MPI_Message *message,
                MPI_Request *request)
{
    probed *const p = *message;
    const int err =
        shim_irecv(data, count, type, p->from, p->tag, p->comm, request);

    free(p);
    *message = MPI_MESSAGE_NULL;
    return err;
}

/* Of a basic type, which has as many elements as the count says. */
int shim_get_elements_x(const MPI_Status *status, MPI_Datatype type,
                        MPI_Count *elements)
{
    int count = 0;
    const int err = PMPI_Get_count(status, type, &count);

    *elements = count;
    return err;
}

/* ---- setting up ------------------------------------------------------------ */

int shim_sched_getaffinity(pid_t process, size_t bytes, void *processors)
{
    (void)process;
    (void)bytes;
    (void)processors;
    errno = ENOSYS;
    return -1;
}

int shim_gethostname(char *name, size_t room)
{
    char host[MPI_MAX_PROCESSOR_NAME];
    int length;

    PMPI_Get_processor_name(host, &length);
    snprintf(name, room, "%.*s", length, host);
    return 0;
}

int shim_comm_idup(MPI_Comm comm, MPI_Comm *dup, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    return PMPI_Comm_dup(comm, dup);
}

/* ---- errors -------------------------------------------------------------- */

/* rota-bench has MPI_ERRORS_RETURN everywhere, for which SMPI has no function
 * but calls it. */
int shim_comm_call_errhandler(MPI_Comm comm, int code)
{
    (void)comm;
    (void)code;
    return MPI_SUCCESS;
}

static char error_text[MPI_MAX_ERROR_STRING];

int shim_add_error_code(int errorclass, int *code)
{
    *code = errorclass;
    return MPI_SUCCESS;
}

int shim_add_error_string(int code, const char *text)
{
    (void)code;
    snprintf(error_text, sizeof error_text, "%s", text);
    return MPI_SUCCESS;
}

int shim_error_string(int code, char *text, int *length)
{
    if (error_text[0] == '\0')
        return PMPI_Error_string(code, text, length);
    *length = snprintf(text, MPI_MAX_ERROR_STRING, "%s", error_text);
    return MPI_SUCCESS;
}
