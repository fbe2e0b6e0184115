/* flow.c - flow phases: a send is posted as soon as what it passes on has
 * arrived.
 *
 * A send waits for the receives of its phase that bring its blocks, and for the
 * previous send to the same rank to be posted. A receive is posted at once, but
 * tested only when the previous one from the same rank is complete: where
 * messages carry sizes, what follows a header must be posted in turn. Binding
 * finds how many others each message waits for, and which ones wait for it. A
 * run counts down.
 *
 * Copies are made in groups. A send waits for the groups that write its blocks;
 * groups that read what a receive brings wait for it. Copies, messages handed over
 * by a copy of this rank, and sends that stand behind these as the phase is entered
 * are jobs, done one after the other while other messages are under way. Others wait
 * for what this rank gives, nobody for what it takes: as long as there are jobs, only
 * those messages are tested that a send waits for, and those of MPI, which may need
 * it to go on.
 *
 * Messages are numbered here from the first one of the phase and direction.
 */
#include "exec/move/blocks.h"
#include "exec/payload/carried.h"
#include "exec/step/steps.h"

#include <stdlib.h>
#include <string.h>

typedef struct open_msg {
    rota_dir dir;
    uint32_t m;
} open_msg;

/* When open messages are tested. */
typedef enum open_when { AMONG_JOBS, AFTER_JOBS, N_WHEN } open_when;

typedef struct flow {
    uint32_t n[ROTA_N_DIRS];      /* number of messages */
    uint32_t *wants[ROTA_N_DIRS]; /* [n] how many others each waits for */
    uint32_t *next[ROTA_N_DIRS];  /* [n] next with its peer, or ROTA_NO_MSG */
    uint32_t *left;   /* [n sends] how many of these are still to come */
    uint32_t *end;    /* [n receives] end of each receive's part of waiter */
    uint32_t *waiter; /* sends that wait for receives, by receive */
    bool *awaited; /* [n receives] a send waits for it, or for a later one from
                         its peer */
    open_msg *open[N_WHEN]; /* [n receives + n sends] messages to be tested */
    uint32_t n_open[N_WHEN];
    uint32_t *held; /* [n sends] sends that wait for memory */
    uint32_t n_held;
    rota_group *group; /* [n_groups] groups of copies */
    uint32_t n_groups;
    uint32_t *behind;            /* [n_groups] next group of the same message */
    uint32_t *head[ROTA_N_DIRS]; /* [n] its first group, or ROTA_NO_MSG */
    /* [n sends + n_groups] queue: m for a send that waits for its turn, n sends +
     * g for group g; job[done] is the next. */
    uint32_t *job;
    uint32_t n_jobs, done;
    uint32_t *numbers; /* memory of all arrays of numbers but waiter */
} flow;

/* ---- who waits for whom -------------------------------------------------- */

/* Working memory of binding. */
typedef struct finder {
    const rota_sched *s;
    const rota_phase *phase;
    /* [n_blocks] 1 + the message with the block, or 0. */
    uint32_t *in[ROTA_N_DIRS];
    uint32_t *seen; /* [n receives] 1 + the last send found to wait for it */
    uint32_t *last; /* [P] working memory of rota_msgs_chain */
} finder;

/* Message m of the phase, in the schedule. */
static const rota_msg *msg_of(const finder *k, rota_dir dir, uint32_t m)
{
    return &k->s->msgs[dir].msg[k->phase->msg[dir] + m];
}

static void find_messages(const flow *f, const finder *k, rota_dir dir)
{
    const rota_block *const item = k->s->msgs[dir].item;

    for (uint32_t m = 0; m < f->n[dir]; m++) {
        const rota_msg *const msg = msg_of(k, dir, m);
        for (uint32_t i = msg[0].first; i < msg[1].first; i++)
            k->in[dir][item[i]] = m + 1;
    }
}

/* Find the groups of copies, and list those of each message in order. */
static void find_groups(flow *f, const finder *k, const rota_step *step)
{
    f->n_groups = rota_flow_groups(step->copy, step->n_copies, k->in, f->group);
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; m < f->n[dir]; m++)
            f->head[dir][m] = ROTA_NO_MSG;
    for (uint32_t g = f->n_groups; g-- > 0;) {
        const rota_group *const group = &f->group[g];
        if (group->m == ROTA_NO_MSG)
            continue;
        f->behind[g] = f->head[group->dir][group->m];
        f->head[group->dir][group->m] = g;
        if (group->dir == ROTA_SEND)
            f->wants[ROTA_SEND][group->m]++;
    }
}

/* Count in end[r] the sends that wait for receive r, each once. If waiter is
 * not NULL, end[r] is where to write them. */
static void find_waiters(flow *f, const finder *k)
{
    const rota_block *const item = k->s->msgs[ROTA_SEND].item;

    memset(k->seen, 0, f->n[ROTA_RECV] * sizeof *k->seen);
    for (uint32_t m = 0; m < f->n[ROTA_SEND]; m++) {
        const rota_msg *const msg = msg_of(k, ROTA_SEND, m);
        for (uint32_t i = msg[0].first; i < msg[1].first; i++) {
            const uint32_t from = k->in[ROTA_RECV][item[i]];
            if (from == 0 || k->seen[from - 1] == m + 1)
                continue;
            k->seen[from - 1] = m + 1;
            if (f->waiter)
                f->waiter[f->end[from - 1]] = m;
            f->end[from - 1]++;
        }
    }
}

/* Where the sends that wait for receive m begin in waiter; they end at end[m]. */
static uint32_t first_waiter(const flow *f, uint32_t m)
{
    return m > 0 ? f->end[m - 1] : 0;
}

/* Turn counts in end into starting places in waiter. Returns their sum. */
static uint32_t place_waiters(flow *f)
{
    uint32_t sum = 0;

    for (uint32_t r = 0; r < f->n[ROTA_RECV]; r++) {
        const uint32_t n = f->end[r];
        f->end[r] = sum;
        sum += n;
    }
    return sum;
}

static int find_waits(flow *f, const finder *k, const rota_step *step)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        rota_msgs_chain(msg_of(k, (rota_dir)dir, 0), f->n[dir], k->s->P,
                        k->last, f->next[dir], f->wants[dir]);
        find_messages(f, k, (rota_dir)dir);
    }
    find_groups(f, k, step);
    find_waiters(f, k);
    const uint32_t n = place_waiters(f);
    f->waiter = malloc(((size_t)n + 1) * sizeof *f->waiter);
    if (!f->waiter)
        return rota_fail_mem("who waits for whom");
    find_waiters(f, k);
    for (uint32_t i = 0; i < n; i++)
        f->wants[ROTA_SEND][f->waiter[i]]++;
    for (uint32_t m = f->n[ROTA_RECV]; m-- > 0;) {
        const uint32_t next = f->next[ROTA_RECV][m];
        f->awaited[m] = f->end[m] > first_waiter(f, m) ||
                        (next != ROTA_NO_MSG && f->awaited[next]);
    }
    return MPI_SUCCESS;
}

/* ---- binding ------------------------------------------------------------- */

/* The next n numbers of *at. */
static uint32_t *take(uint32_t **at, size_t n)
{
    uint32_t *const taken = *at;

    *at += n;
    return taken;
}

static int make_lists(flow *f, size_t copies)
{
    const size_t recvs = f->n[ROTA_RECV], sends = f->n[ROTA_SEND];

    f->open[AMONG_JOBS] =
        malloc(N_WHEN * (recvs + sends + 1) * sizeof *f->open[AMONG_JOBS]);
    f->awaited = malloc((recvs + 1) * sizeof *f->awaited);
    f->group = malloc((copies + 1) * sizeof *f->group);
    f->numbers =
        calloc(4 * recvs + 6 * sends + 2 * copies + 1, sizeof *f->numbers);
    if (!f->open[AMONG_JOBS] || !f->awaited || !f->group || !f->numbers)
        return rota_fail_mem("who waits for whom");
    f->open[AFTER_JOBS] = f->open[AMONG_JOBS] + recvs + sends;
    uint32_t *at = f->numbers;
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        f->wants[dir] = take(&at, f->n[dir]);
        f->next[dir] = take(&at, f->n[dir]);
        f->head[dir] = take(&at, f->n[dir]);
    }
    f->left = take(&at, sends);
    f->end = take(&at, recvs);
    f->held = take(&at, sends);
    f->behind = take(&at, copies);
    f->job = take(&at, sends + copies);
    return MPI_SUCCESS;
}

static int bind(rota_exec *x, rota_step *step)
{
    const rota_sched *const s = x->blocks.s;
    const rota_phase *const phase = step->phase;
    flow *const f = step->own = calloc(1, sizeof *f);

    if (!f)
        return rota_fail_mem("who waits for whom");
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        f->n[dir] = phase[1].msg[dir] - phase->msg[dir];
    ROTA_TRY(make_lists(f, step->n_copies));
    uint32_t *const numbers =
        calloc(2 * (size_t)s->n_blocks + f->n[ROTA_RECV] + (size_t)s->P,
               sizeof *numbers);
    if (!numbers)
        return rota_fail_mem("who waits for whom");
    uint32_t *at = numbers;
    const finder k = {
        .s = s,
        .phase = phase,
        .in = {take(&at, s->n_blocks), take(&at, s->n_blocks)},
        .seen = take(&at, f->n[ROTA_RECV]),
        .last = take(&at, (size_t)s->P),
    };
    const int err = find_waits(f, &k, step);
    free(numbers);
    return err;
}

static void unbind(rota_exec *x, rota_step *step)
{
    flow *const f = step->own;

    (void)x;
    if (!f)
        return;
    free(f->numbers);
    free(f->waiter);
    free(f->awaited);
    free(f->open[AMONG_JOBS]);
    free(f->group);
    free(f);
}

/* ---- a run --------------------------------------------------------------- */

static void open_message(const rota_exec *x, const rota_step *step,
                         rota_dir dir, uint32_t m)
{
    flow *const f = step->own;
    const rota_path *const via =
        x->program.op[dir][step->phase->msg[dir] + m].via;
    const open_when when = via->needs_mpi || (dir == ROTA_RECV && f->awaited[m])
                               ? AMONG_JOBS
                               : AFTER_JOBS;

    f->open[when][f->n_open[when]++] = (open_msg){dir, m};
}

static void add_job(flow *f, uint32_t job)
{
    f->job[f->n_jobs++] = job;
}

/* Does this rank hand over send m by copying it? */
static bool is_given(const rota_exec *x, const rota_step *step, uint32_t m)
{
    m += step->phase->msg[ROTA_SEND];
    return x->blocks.s->msgs[ROTA_SEND].msg[m].handed &&
           !rota_msg_lends(x->blocks.s, ROTA_SEND, m) &&
           rota_message_is_handed(x, ROTA_SEND, m);
}

static int make_room(rota_exec *x, uint32_t m)
{
    const rota_payload *const has = x->program.op[ROTA_SEND][m].payload;

    return has->room ? has->room(x, m) : MPI_SUCCESS;
}

/* Post send m, which waits for nothing any more. *next: the next send to the
 * same peer, if it too waits for nothing now; else ROTA_NO_MSG. */
static int post_send(rota_exec *x, const rota_step *step, uint32_t m,
                     uint32_t *next)
{
    flow *const f = step->own;
    const uint32_t behind = f->next[ROTA_SEND][m];
    int err = make_room(x, step->phase->msg[ROTA_SEND] + m);

    *next = ROTA_NO_MSG;
    if (rota_status_postpone(&x->status, &err)) {
        f->held[f->n_held++] = m;
        return MPI_SUCCESS;
    }
    ROTA_TRY(err);
    open_message(x, step, ROTA_SEND, m);
    ROTA_TRY(rota_message_post(x, ROTA_SEND, step->phase->msg[ROTA_SEND] + m));
    if (behind != ROTA_NO_MSG && --f->left[behind] == 0)
        *next = behind;
    return MPI_SUCCESS;
}

/* Post send m, and then those behind it for the same peer. */
static int post_sends(rota_exec *x, const rota_step *step, uint32_t m)
{
    do
        ROTA_TRY(post_send(x, step, m, &m));
    while (m != ROTA_NO_MSG && !is_given(x, step, m));
    if (m != ROTA_NO_MSG)
        add_job(step->own, m);
    return MPI_SUCCESS;
}

/* Send m waits for nothing any more: post it or, if it takes a copy, queue a
 * job. */
static int release_send(rota_exec *x, const rota_step *step, uint32_t m)
{
    if (!is_given(x, step, m))
        return post_sends(x, step, m);
    add_job(step->own, m);
    return MPI_SUCCESS;
}

/* Queue the groups of message m. */
static void add_groups(flow *f, rota_dir dir, uint32_t m)
{
    for (uint32_t g = f->head[dir][m]; g != ROTA_NO_MSG; g = f->behind[g])
        add_job(f, f->n[ROTA_SEND] + g);
}

static int copy_group(rota_exec *x, const rota_step *step, uint32_t g,
                      size_t *bytes)
{
    flow *const f = step->own;
    const rota_group *const group = &f->group[g];

    for (uint32_t i = group->first; i < group->end; i++)
        *bytes += rota_copy_bytes(x->blocks.s, &step->copy[i], x->blocks.bytes);
    ROTA_TRY(rota_step_copy(x, step, group->first, group->end));
    return group->dir == ROTA_SEND && group->m != ROTA_NO_MSG &&
                   --f->left[group->m] == 0
               ? release_send(x, step, group->m)
               : MPI_SUCCESS;
}

/* Do jobs for about a microsecond, so that messages are tested in between. */
static int do_some(rota_exec *x, const rota_step *step)
{
    flow *const f = step->own;
    size_t bytes = 0;

    while (f->done < f->n_jobs && bytes < ROTA_FLOW_COPIES) {
        const uint32_t job = f->job[f->done++];
        if (job >= f->n[ROTA_SEND]) {
            ROTA_TRY(copy_group(x, step, job - f->n[ROTA_SEND], &bytes));
            continue;
        }
        bytes += rota_message_bytes(&x->blocks, ROTA_SEND,
                                    step->phase->msg[ROTA_SEND] + job);
        ROTA_TRY(post_sends(x, step, job));
    }
    return MPI_SUCCESS;
}

static int post_held(rota_exec *x, const rota_step *step)
{
    flow *const f = step->own;
    const uint32_t n = f->n_held;

    f->n_held = 0; /* post_sends adds those that must wait again */
    for (uint32_t i = 0; i < n; i++)
        ROTA_TRY(post_sends(x, step, f->held[i]));
    return MPI_SUCCESS;
}

/* Receive m is complete: release what waited for it. */
static int go_on(rota_exec *x, const rota_step *step, uint32_t m)
{
    flow *const f = step->own;
    const uint32_t next = f->next[ROTA_RECV][m];

    if (x->carried)
        rota_carried_take(x, step->phase->msg[ROTA_RECV] + m);
    if (next != ROTA_NO_MSG)
        open_message(x, step, ROTA_RECV, next);
    add_groups(f, ROTA_RECV, m);
    for (uint32_t i = first_waiter(f, m); i < f->end[m]; i++)
        if (--f->left[f->waiter[i]] == 0)
            ROTA_TRY(release_send(x, step, f->waiter[i]));
    return MPI_SUCCESS;
}

static int enter(rota_exec *x, rota_step *step)
{
    const uint32_t *const first = step->phase->msg;
    flow *const f = step->own;

    f->n_open[AMONG_JOBS] = f->n_open[AFTER_JOBS] = 0;
    f->n_held = f->n_jobs = f->done = 0;
    for (uint32_t m = 0; m < f->n[ROTA_RECV]; m++) {
        ROTA_TRY(rota_message_post(x, ROTA_RECV, first[ROTA_RECV] + m));
        if (f->wants[ROTA_RECV][m] == 0)
            open_message(x, step, ROTA_RECV, m);
    }
    memcpy(f->left, f->wants[ROTA_SEND], f->n[ROTA_SEND] * sizeof *f->left);
    /* Post in list order, in which builders spread the sends over the peers; what
     * stands behind a job waits for its turn, too. The next send to the same peer,
     * even if it waits for nothing now, is posted in its own turn. */
    for (uint32_t m = 0, next; m < f->n[ROTA_SEND]; m++) {
        add_groups(f, ROTA_SEND, m);
        if (f->left[m] > 0)
            continue;
        if (is_given(x, step, m) || f->n_jobs > 0)
            add_job(f, m);
        else
            ROTA_TRY(post_send(x, step, m, &next));
    }
    for (uint32_t g = 0; g < f->n_groups; g++)
        if (f->group[g].m == ROTA_NO_MSG)
            add_job(f, f->n[ROTA_SEND] + g);
    return MPI_SUCCESS;
}

static int test_open(rota_exec *x, const rota_step *step, open_when when)
{
    const uint32_t *const first = step->phase->msg;
    flow *const f = step->own;
    open_msg *const open = f->open[when];

    for (uint32_t i = 0; i < f->n_open[when];) {
        const open_msg o = open[i];
        bool complete = false;
        ROTA_TRY(rota_message_test(x, o.dir, first[o.dir] + o.m, &complete));
        if (!complete) {
            i++;
            continue;
        }
        open[i] = open[--f->n_open[when]];
        if (o.dir == ROTA_RECV)
            ROTA_TRY(go_on(x, step, o.m));
    }
    return MPI_SUCCESS;
}

static int poll(rota_exec *x, rota_step *step, bool *done)
{
    const flow *const f = step->own;

    ROTA_TRY(post_held(x, step));
    do {
        ROTA_TRY(do_some(x, step));
        ROTA_TRY(test_open(x, step, AMONG_JOBS));
        if (f->done == f->n_jobs)
            ROTA_TRY(test_open(x, step, AFTER_JOBS));
    } while (f->done < f->n_jobs);
    *done = f->n_open[AMONG_JOBS] == 0 && f->n_open[AFTER_JOBS] == 0 &&
            f->n_held == 0;
    return MPI_SUCCESS;
}

static void whom(const rota_exec *x, const rota_step *step, bool awaited[])
{
    const flow *const f = step->own;

    for (int when = 0; when < N_WHEN; when++)
        for (uint32_t i = 0; i < f->n_open[when]; i++) {
            const rota_dir dir = f->open[when][i].dir;
            const uint32_t m = step->phase->msg[dir] + f->open[when][i].m;
            awaited[x->blocks.s->msgs[dir].msg[m].peer] = true;
        }
}

const rota_step_kind rota_step_flow = {.one_by_one = true,
                                       .bind = bind,
                                       .unbind = unbind,
                                       .enter = enter,
                                       .poll = poll,
                                       .whom = whom};
