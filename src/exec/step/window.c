/* window.c - steps with a bounded number of messages in flight, or with all that a
 * gate lets go. */
#include "exec/step/steps.h"

#include <stdlib.h>
#include <string.h>

/* The messages in flight: lanes for receives first, then for sends. */
typedef struct lanes {
    MPI_Request *request; /* [n] */
    uint32_t *msg;        /* [n] the lane's message, or ROTA_NO_MSG */
    int *done;            /* [n] */
    MPI_Status *status;
    int n, recvs, in_flight;
    uint32_t next[ROTA_N_DIRS]; /* first message not posted */
    bool by_mpi;                /* each message is one MPI request */
    uint32_t sends;
    bool *ahead;      /* [sends] posted before their turn; NULL: none may be */
    uint32_t *before; /* [sends] if any may be: the one before it to the same
                         rank, counted from the phase's first; or ROTA_NO_MSG */
} lanes;

/* ---- messages one by one ------------------------------------------------- */

int rota_message_post(rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->program.op[dir][m].via->post(x, dir, m);
}

int rota_message_test(rota_exec *x, rota_dir dir, uint32_t m, bool *done)
{
    ROTA_TRY(x->program.op[dir][m].via->test(x, dir, m, done));
    return *done && dir == ROTA_RECV && x->gate && x->gate->arrived
               ? x->gate->arrived(x, m)
               : MPI_SUCCESS;
}

int rota_message_may_go(rota_exec *x, rota_dir dir, uint32_t m, bool *may)
{
    *may = true;
    return dir == ROTA_SEND && x->gate && x->gate->may_send
               ? x->gate->may_send(x, m, may)
               : MPI_SUCCESS;
}

/* ---- lanes --------------------------------------------------------------- */

static rota_dir lane_dir(const lanes *k, int lane)
{
    return lane < k->recvs ? ROTA_RECV : ROTA_SEND;
}

static MPI_Request *request_of(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->program.op[dir][m].via->request(x, dir, m);
}

/* Was message m complete as soon as it was posted? */
static bool is_nothing(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_op *const op = &x->program.op[dir][m];

    return op->via->request && !op->payload->tells &&
           *op->via->request(x, dir, m) == MPI_REQUEST_NULL;
}

/* Has the send before it to the same rank been posted? */
static bool is_turn(const lanes *k, uint32_t first, uint32_t m)
{
    const uint32_t before = k->before[m - first];

    return before == ROTA_NO_MSG || k->ahead[before] ||
           before + first < k->next[ROTA_SEND];
}

/* The next send that may go, whatever is before it; it is not the next one's turn.
 * ROTA_NO_MSG: none. */
static int find_ahead(rota_exec *x, const rota_step *step, uint32_t *m)
{
    const rota_phase *const phase = step->phase;
    lanes *const k = step->own;
    bool *const ahead = k->ahead;
    const uint32_t first = phase->msg[ROTA_SEND];

    for (*m = k->next[ROTA_SEND] + 1; *m < phase[1].msg[ROTA_SEND]; ++*m) {
        bool may = false;
        if (!ahead[*m - first] && is_turn(k, first, *m))
            ROTA_TRY(rota_message_may_go(x, ROTA_SEND, *m, &may));
        if (may) {
            ahead[*m - first] = true;
            return MPI_SUCCESS;
        }
    }
    *m = ROTA_NO_MSG;
    return MPI_SUCCESS;
}

/* The next message of a direction to be posted, or ROTA_NO_MSG: none may go now. */
static int find_next(rota_exec *x, const rota_step *step, rota_dir dir,
                     uint32_t *m)
{
    lanes *const k = step->own;
    const uint32_t first = step->phase[0].msg[dir];
    const uint32_t last = step->phase[1].msg[dir];
    bool may;

    while (dir == ROTA_SEND && k->ahead && k->next[dir] < last &&
           k->ahead[k->next[dir] - first])
        k->next[dir]++;
    *m = ROTA_NO_MSG;
    if (k->next[dir] == last)
        return MPI_SUCCESS;
    ROTA_TRY(rota_message_may_go(x, dir, k->next[dir], &may));
    if (may)
        *m = k->next[dir]++;
    return !may && dir == ROTA_SEND && k->ahead ? find_ahead(x, step, m)
                                                : MPI_SUCCESS;
}

/* Post the next message of the lane's direction that has bytes, provided that
 * it may go. */
static int refill(rota_exec *x, const rota_step *step, int lane)
{
    lanes *const k = step->own;
    const rota_dir dir = lane_dir(k, lane);

    k->request[lane] = MPI_REQUEST_NULL;
    k->msg[lane] = ROTA_NO_MSG;
    for (;;) {
        uint32_t m;
        ROTA_TRY(find_next(x, step, dir, &m));
        if (m == ROTA_NO_MSG)
            break;
        ROTA_TRY(rota_message_post(x, dir, m));
        if (is_nothing(x, dir, m))
            continue;
        if (k->by_mpi)
            k->request[lane] = *request_of(x, dir, m);
        k->msg[lane] = m;
        k->in_flight++;
        break;
    }
    return MPI_SUCCESS;
}

/* Can MPI tell which messages are complete? */
static bool is_by_mpi(const rota_exec *x, const rota_step *step)
{
    for (uint32_t i = 0; i < step->n_batches; i++)
        if (!step->batch[i].via->request || step->batch[i].payload->tells)
            return false;
    return !x->gate;
}

/* Fill the free lanes. Where one stays free, so do others of its direction. */
static int fill(rota_exec *x, const rota_step *step)
{
    const lanes *const k = step->own;
    bool held[ROTA_N_DIRS] = {false, false};

    for (int lane = 0; lane < k->n; lane++) {
        const rota_dir dir = lane_dir(k, lane);
        if (k->msg[lane] != ROTA_NO_MSG || held[dir])
            continue;
        ROTA_TRY(refill(x, step, lane));
        held[dir] = k->msg[lane] == ROTA_NO_MSG;
    }
    return MPI_SUCCESS;
}

static int enter(rota_exec *x, rota_step *step)
{
    lanes *const k = step->own;

    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        k->next[dir] = step->phase->msg[dir];
    for (int lane = 0; lane < k->n; lane++) {
        k->request[lane] = MPI_REQUEST_NULL;
        k->msg[lane] = ROTA_NO_MSG;
    }
    k->in_flight = 0;
    k->by_mpi = is_by_mpi(x, step);
    if (k->ahead)
        memset(k->ahead, 0, k->sends * sizeof *k->ahead);
    ROTA_TRY(fill(x, step));
    return rota_step_copies(x, step);
}

static int first_error(const MPI_Status status[], int n)
{
    for (int i = 0; i < n; i++)
        if (status[i].MPI_ERROR != MPI_SUCCESS &&
            status[i].MPI_ERROR != MPI_ERR_PENDING)
            return status[i].MPI_ERROR;
    return MPI_ERR_OTHER;
}

/* Write back the requests of n completed lanes: ordinary ones are null now. */
static void forget_requests(rota_exec *x, const lanes *k, int n)
{
    for (int i = 0; i < n; i++) {
        const int lane = k->done[i];
        *request_of(x, lane_dir(k, lane), k->msg[lane]) = k->request[lane];
    }
}

/* Test messages one by one. Those that carry sizes take several requests, one
 * after the other; those within the node take none; lanes may wait for the gate.
 * If all are in flight, one test in vain is enough for all messages of MPI of a
 * direction, unless it matters which ones have come. */
static int poll_each(rota_exec *x, const rota_step *step, bool *done)
{
    const rota_phase *const phase = step->phase;
    lanes *const k = step->own;
    bool in_vain[ROTA_N_DIRS] = {false, false};

    ROTA_TRY(fill(x, step));
    for (int lane = 0; lane < k->n; lane++) {
        const rota_dir dir = lane_dir(k, lane);
        while (k->msg[lane] != ROTA_NO_MSG) {
            const uint32_t m = k->msg[lane];
            const bool by_mpi = x->program.op[dir][m].via->needs_mpi;
            bool complete = false;
            if (!by_mpi || !in_vain[dir])
                ROTA_TRY(rota_message_test(x, dir, m, &complete));
            if (!complete) {
                in_vain[dir] =
                    in_vain[dir] || (by_mpi && phase->window == 0 && !k->ahead);
                break;
            }
            k->in_flight--;
            ROTA_TRY(refill(x, step, lane));
        }
    }
    *done = k->in_flight == 0 && k->next[ROTA_SEND] == phase[1].msg[ROTA_SEND];
    return MPI_SUCCESS;
}

static int complete(rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->program.op[dir][m].via->complete(x, dir, m);
}

static int poll(rota_exec *x, rota_step *step, bool *done)
{
    lanes *const k = step->own;

    if (!k->by_mpi)
        return poll_each(x, step, done);
    while (k->in_flight > 0) {
        int n = 0;
        const int err =
            rota_polling_testsome(k->n, k->request, &n, k->done, k->status);
        forget_requests(x, k, n);
        if (err != MPI_SUCCESS)
            return n > 0 ? first_error(k->status, n) : err;
        if (n == 0)
            return MPI_SUCCESS;
        x->moved = true;
        for (int i = 0; i < n; i++) {
            const int lane = k->done[i];
            k->in_flight--;
            ROTA_TRY(complete(x, lane_dir(k, lane), k->msg[lane]));
            ROTA_TRY(refill(x, step, lane));
        }
    }
    *done = true;
    return MPI_SUCCESS;
}

static void whom(const rota_exec *x, const rota_step *step, bool awaited[])
{
    const lanes *const k = step->own;

    for (int lane = 0; lane < k->n; lane++)
        if (k->msg[lane] != ROTA_NO_MSG)
            awaited
                [x->blocks.s->msgs[lane_dir(k, lane)].msg[k->msg[lane]].peer] =
                    true;
}

/* ---- making -------------------------------------------------------------- */

static void free_lanes(lanes *k)
{
    free(k->request);
    free(k->msg);
    free(k->done);
    free(k->status);
}

/* At most so many of each direction. */
static int make_lanes(lanes *k, const rota_phase *phase, uint32_t most)
{
    int lanes_of[ROTA_N_DIRS];

    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const uint32_t messages = phase[1].msg[dir] - phase->msg[dir];
        lanes_of[dir] = (int)(messages < most ? messages : most);
    }
    k->recvs = lanes_of[ROTA_RECV];
    k->n = lanes_of[ROTA_RECV] + lanes_of[ROTA_SEND];
    const size_t n = (size_t)k->n + 1;
    k->request = malloc(n * sizeof *k->request);
    k->msg = malloc(n * sizeof *k->msg);
    k->done = malloc(n * sizeof *k->done);
    k->status = malloc(n * sizeof *k->status);
    return k->request && k->msg && k->done && k->status
               ? MPI_SUCCESS
               : rota_fail_mem("messages in flight");
}

static int make(rota_exec *x, rota_step *step)
{
    const rota_phase *const phase = step->phase;
    lanes *const k = step->own = calloc(1, sizeof *k);

    (void)x;
    if (!k)
        return rota_fail_mem("messages in flight");
    k->sends = phase[1].msg[ROTA_SEND] - phase->msg[ROTA_SEND];
    return make_lanes(k, phase,
                      phase->window > 0 ? (uint32_t)phase->window : UINT32_MAX);
}

/* All receives are posted, and no send waits for a lane: that what is in flight is
 * limited works only where both ends of a message keep the order of the list. */
int rota_window_any_order(const rota_exec *x, const rota_step *step)
{
    const rota_phase *const phase = step->phase;
    const rota_msgs *const l = &x->blocks.s->msgs[ROTA_SEND];
    lanes *const k = step->own;
    const int P = x->blocks.s->P;

    free_lanes(k);
    ROTA_TRY(make_lanes(k, phase, UINT32_MAX));
    k->ahead = calloc((size_t)k->sends + 1, sizeof *k->ahead);
    k->before = malloc(((size_t)k->sends + 1) * sizeof *k->before);
    uint32_t *const last = malloc((size_t)P * sizeof *last);
    const bool made = last && k->ahead && k->before;
    if (made)
        rota_msgs_before(&l->msg[phase->msg[ROTA_SEND]], k->sends, P, last,
                         k->before);
    free(last);
    return made ? MPI_SUCCESS : rota_fail_mem("messages in any order");
}

static void release(rota_exec *x, rota_step *step)
{
    lanes *const k = step->own;

    (void)x;
    if (!k)
        return;
    free_lanes(k);
    free(k->ahead);
    free(k->before);
    free(k);
}

const rota_step_kind rota_step_window = {.one_by_one = true,
                                         .bind = make,
                                         .unbind = release,
                                         .enter = enter,
                                         .poll = poll,
                                         .whom = whom};
