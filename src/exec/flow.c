/* flow.c - see flow.h.
 *
 * A send waits for the receives of its phase that bring its blocks, and for the
 * send before it to the same rank to be posted. A receive is posted at once but
 * tested when the one before it from the same rank is complete: where messages
 * tell sizes, what follows a header can only be posted in turn. How many
 * messages each waits for, and which wait for it, is found when the schedule is
 * bound; in a run each counts down.
 */
#include "exec/flow.h"
#include "exec/steps.h"

#include <stdlib.h>
#include <string.h>

#define NO_MSG UINT32_MAX

typedef struct open_msg {
    rota_dir dir;
    uint32_t m;
} open_msg;

struct rota_flow {
    uint32_t *wants[ROTA_N_DIRS]; /* [n messages] how many it waits for */
    uint32_t *next[ROTA_N_DIRS];  /* [n messages] with its peer, or NO_MSG */
    uint32_t *left;   /* [n sends] of wants, still to come in a run */
    uint32_t *end;    /* [n receives] of those in waiter that wait for each */
    uint32_t *waiter; /* sends, by the receive that they wait for */
    open_msg *open;   /* [most messages of a phase] to be tested */
    uint32_t n_open;
};

/* ---- who waits for whom ------------------------------------------------------ */

/* For binding only. */
typedef struct finder {
    uint32_t *from; /* [n_blocks] 1 + the receive that brings it, or 0 */
    uint32_t *seen; /* [n receives] 1 + the last send found to wait for it */
    uint32_t *last; /* [P] 1 + the last message with each peer */
} finder;

static void chain_peers(rota_exec *x, const rota_phase *phase, rota_dir dir,
                        uint32_t last[])
{
    const rota_msgs *const l = &x->s->msgs[dir];

    for (uint32_t m = phase->msg[dir]; m < phase[1].msg[dir]; m++) {
        uint32_t *const before = &last[l->msg[m].peer];
        x->flow->next[dir][m] = NO_MSG;
        if (*before > phase->msg[dir]) {
            x->flow->next[dir][*before - 1] = m;
            x->flow->wants[dir][m]++;
        }
        *before = m + 1;
    }
}

static void find_sources(const rota_sched *s, const rota_phase *phase,
                         uint32_t from[])
{
    const rota_msgs *const l = &s->msgs[ROTA_RECV];

    for (uint32_t m = phase->msg[ROTA_RECV]; m < phase[1].msg[ROTA_RECV]; m++)
        for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
            from[l->item[i]] = m + 1;
}

/* Add to end[r] the sends of the phase that wait for receive r, each once, and
 * enter them in waiter there if it is not NULL. */
static void find_waiters(const rota_sched *s, const rota_phase *phase,
                         const finder *k, uint32_t end[], uint32_t waiter[])
{
    const rota_msgs *const l = &s->msgs[ROTA_SEND];

    for (uint32_t m = phase->msg[ROTA_SEND]; m < phase[1].msg[ROTA_SEND]; m++)
        for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++) {
            const uint32_t from = k->from[l->item[i]];
            if (from <= phase->msg[ROTA_RECV] || k->seen[from - 1] == m + 1)
                continue;
            k->seen[from - 1] = m + 1;
            if (waiter)
                waiter[end[from - 1]] = m;
            end[from - 1]++;
        }
}

static uint32_t find_all_waiters(rota_exec *x, const finder *k)
{
    const uint32_t n_recvs = x->s->msgs[ROTA_RECV].n;
    struct rota_flow *const f = x->flow;
    uint32_t sum = 0;

    for (uint32_t p = 0; p < x->s->n_phases; p++)
        if (x->s->phase[p].flow)
            find_waiters(x->s, &x->s->phase[p], k, f->end, f->waiter);
    memset(k->seen, 0, n_recvs * sizeof *k->seen);
    for (uint32_t r = 0; r < n_recvs && !f->waiter; r++) {
        const uint32_t n = f->end[r];
        f->end[r] = sum; /* where the first will be entered */
        sum += n;
    }
    return sum;
}

static int find_waits(rota_exec *x, const finder *k)
{
    struct rota_flow *const f = x->flow;

    for (uint32_t p = 0; p < x->s->n_phases; p++) {
        const rota_phase *const phase = &x->s->phase[p];
        if (!phase->flow)
            continue;
        chain_peers(x, phase, ROTA_RECV, k->last);
        chain_peers(x, phase, ROTA_SEND, k->last + x->s->P);
        find_sources(x->s, phase, k->from);
    }
    const uint32_t n = find_all_waiters(x, k);
    f->waiter = malloc(((size_t)n + 1) * sizeof *f->waiter);
    if (!f->waiter)
        return rota_fail_mem("who waits for whom");
    find_all_waiters(x, k);
    for (uint32_t i = 0; i < n; i++)
        f->wants[ROTA_SEND][f->waiter[i]]++;
    return MPI_SUCCESS;
}

/* ---- binding ----------------------------------------------------------------- */

static int make_lists(struct rota_flow *f, const rota_sched *s)
{
    const size_t n_recvs = s->msgs[ROTA_RECV].n;
    const size_t n_open = n_recvs + s->msgs[ROTA_SEND].n;
    bool good = true;

    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const size_t n = (size_t)s->msgs[dir].n + 1;
        f->wants[dir] = calloc(n, sizeof *f->wants[dir]);
        f->next[dir] = malloc(n * sizeof *f->next[dir]);
        good = good && f->wants[dir] && f->next[dir];
    }
    f->left = malloc(((size_t)s->msgs[ROTA_SEND].n + 1) * sizeof *f->left);
    f->end = calloc(n_recvs + 1, sizeof *f->end);
    f->open = malloc((n_open + 1) * sizeof *f->open);
    return good && f->left && f->end && f->open
               ? MPI_SUCCESS
               : rota_fail_mem("who waits for whom");
}

int rota_flow_bind(rota_exec *x)
{
    const rota_sched *const s = x->s;
    finder k = {
        .from = calloc(s->n_blocks, sizeof *k.from),
        .seen = calloc((size_t)s->msgs[ROTA_RECV].n + 1, sizeof *k.seen),
        .last = calloc(2 * (size_t)s->P, sizeof *k.last),
    };
    int err = MPI_SUCCESS;

    x->flow = calloc(1, sizeof *x->flow);
    if (!x->flow || !k.from || !k.seen || !k.last)
        err = rota_fail_mem("who waits for whom");
    if (err == MPI_SUCCESS)
        err = make_lists(x->flow, s);
    if (err == MPI_SUCCESS)
        err = find_waits(x, &k);
    free(k.from);
    free(k.seen);
    free(k.last);
    return err;
}

void rota_flow_unbind(rota_exec *x)
{
    struct rota_flow *const f = x->flow;

    if (!f)
        return;
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        free(f->wants[dir]);
        free(f->next[dir]);
    }
    free(f->left);
    free(f->end);
    free(f->waiter);
    free(f->open);
    free(f);
    x->flow = NULL;
}

/* ---- a run ------------------------------------------------------------------- */

static void open_message(struct rota_flow *f, rota_dir dir, uint32_t m)
{
    f->open[f->n_open++] = (open_msg){dir, m};
}

/* Send m waits for nothing any more, and then perhaps nor do those behind it.
 */
static int post_sends(rota_exec *x, uint32_t m)
{
    struct rota_flow *const f = x->flow;

    do {
        open_message(f, ROTA_SEND, m);
        ROTA_TRY(rota_message_post(x, ROTA_SEND, m));
        m = f->next[ROTA_SEND][m];
    } while (m != NO_MSG && --f->left[m] == 0);
    return MPI_SUCCESS;
}

/* Receive m is complete. */
static int go_on(rota_exec *x, uint32_t m)
{
    struct rota_flow *const f = x->flow;
    const uint32_t next = f->next[ROTA_RECV][m];

    if (next != NO_MSG)
        open_message(f, ROTA_RECV, next);
    for (uint32_t i = m > 0 ? f->end[m - 1] : 0; i < f->end[m]; i++)
        if (--f->left[f->waiter[i]] == 0)
            ROTA_TRY(post_sends(x, f->waiter[i]));
    return MPI_SUCCESS;
}

static int enter(rota_exec *x, rota_step *step)
{
    const rota_phase *const phase = step->phase;
    struct rota_flow *const f = x->flow;
    const uint32_t *const begin = phase->msg, *const end = phase[1].msg;

    f->n_open = 0;
    for (uint32_t m = begin[ROTA_RECV]; m < end[ROTA_RECV]; m++) {
        ROTA_TRY(rota_message_post(x, ROTA_RECV, m));
        if (f->wants[ROTA_RECV][m] == 0)
            open_message(f, ROTA_RECV, m);
    }
    for (uint32_t m = begin[ROTA_SEND]; m < end[ROTA_SEND]; m++)
        f->left[m] = f->wants[ROTA_SEND][m];
    for (uint32_t m = begin[ROTA_SEND]; m < end[ROTA_SEND]; m++)
        if (f->wants[ROTA_SEND][m] == 0)
            ROTA_TRY(post_sends(x, m));
    return rota_step_copies(x, step);
}

static int poll(rota_exec *x, rota_step *step, bool *done)
{
    struct rota_flow *const f = x->flow;

    (void)step;
    for (uint32_t i = 0; i < f->n_open;) {
        const open_msg o = f->open[i];
        bool complete = false;
        ROTA_TRY(rota_message_test(x, o.dir, o.m, &complete));
        if (!complete) {
            i++;
            continue;
        }
        f->open[i] = f->open[--f->n_open];
        if (o.dir == ROTA_RECV)
            ROTA_TRY(go_on(x, o.m));
    }
    *done = f->n_open == 0;
    return MPI_SUCCESS;
}

const rota_step_kind rota_step_flow = {
    .one_by_one = true, .enter = enter, .poll = poll};
