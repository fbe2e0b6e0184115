/* shim.c - see shim.h. Every rank has variables of its own: SMPI gives each a
 * copy of the executable's. */
#include "shim.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>

struct hwloc_topology;
int shim_hwloc_topology_load(struct hwloc_topology *topology);

/* What SMPI charges for MPI_Isend is set by scale.sh: smpi/ois. */
#define START_S 2e-7
#define POLL_S 1e-7
/* One core that copies from and to its cache. */
#define COPY_BYTES_PER_S 10e9

/* ---- time ------------------------------------------------------------------ */

static double owed_s; /* passed on this rank, not yet told to SimGrid */

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
    owed_s += (double)bytes / COPY_BYTES_PER_S;
    return (memcpy)(to, from, bytes);
}

int shim_clock_gettime(clockid_t clock, struct timespec *now)
{
    pay();
    return smpi_clock_gettime(clock, now);
}

int shim_hwloc_topology_load(struct hwloc_topology *topology)
{
    (void)topology;
    return -1;
}

/* ---- sends ----------------------------------------------------------------- */

static void *persistent_sends; /* a tree of requests */

static int compare(const void *a, const void *b)
{
    return (a > b) - (a < b);
}

int shim_send_init(const void *data, int count, MPI_Datatype type, int to,
                   int tag, MPI_Comm comm, MPI_Request *request)
{
    const int err = PMPI_Send_init(data, count, type, to, tag, comm, request);

    if (err == MPI_SUCCESS && !tsearch(*request, &persistent_sends, compare))
        return MPI_ERR_NO_MEM;
    return err;
}

int shim_request_free(MPI_Request *request)
{
    tdelete(*request, &persistent_sends, compare);
    return PMPI_Request_free(request);
}

int shim_start(MPI_Request *request)
{
    if (tfind(*request, &persistent_sends, compare))
        owed_s += START_S;
    pay();
    return PMPI_Start(request);
}

int shim_isend(const void *data, int count, MPI_Datatype type, int to, int tag,
               MPI_Comm comm, MPI_Request *request)
{
    pay();
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int shim_issend(const void *data, int count, MPI_Datatype type, int to, int tag,
                MPI_Comm comm, MPI_Request *request)
{
    pay();
    return PMPI_Issend(data, count, type, to, tag, comm, request);
}

/* ---- tests ----------------------------------------------------------------- */

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
    in_vain = tested != before ? tested : NULL;
    if (tested == before)
        return WAIT;
    return before ? TEST : NOT_YET;
}

/* Several are polled in turn, for which time must pass. */
static void note_poll(int flag)
{
    if (flag)
        in_vain = NULL;
    else
        owed_s += POLL_S;
}

int shim_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    const answer how = *request != MPI_REQUEST_NULL ? choose(*request) : WAIT;
    int err = MPI_SUCCESS;

    *flag = how == WAIT;
    if (how == WAIT)
        err = PMPI_Wait(request, status);
    if (how == TEST) {
        err = PMPI_Test(request, flag, status);
        note_poll(*flag);
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
        note_poll(*flag);
    }
    return err;
}

/* One at a time: SMPI's MPI_Waitsome waits for all. */
int shim_testsome(int n, MPI_Request request[], int *n_done, int done[],
                  MPI_Status status[])
{
    const answer how = choose(request);
    int flag = how == WAIT, err = MPI_SUCCESS;

    if (how == WAIT)
        err = PMPI_Waitany(n, request, &done[0], &status[0]);
    if (how == TEST) {
        err = PMPI_Testany(n, request, &done[0], &flag, &status[0]);
        note_poll(flag);
    }
    *n_done = flag && done[0] == MPI_UNDEFINED ? MPI_UNDEFINED : flag;
    return err;
}

/* ---- matched probes --------------------------------------------------------- */

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
        PMPI_Irecv(data, count, type, p->from, p->tag, p->comm, request);

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

/* ---- errors ---------------------------------------------------------------- */

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
