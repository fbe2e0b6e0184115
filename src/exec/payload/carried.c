/* carried.c - see carried.h. Also the payload of messages of MPI whose sizes both
 * ends know: values stand in front of the blocks.
 */
#include "exec/payload/carried.h"
#include "exec/memory/node.h"
#include "exec/payload/payload.h"

/* ---- making -------------------------------------------------------------- */

int rota_carried_make(const rota_reduction *what, int P, rota_carried **made)
{
    rota_carried *const c = *made = calloc(1, sizeof *c);

    if (!c)
        return rota_fail_mem("a reduction");
    c->what = *what;
    c->value = what->value == MPI_IN_PLACE ? what->result : what->value;
    c->step = (what->bytes + 7) / 8 * 8;
    for (int turn = 0; turn < 2; turn++) {
        c->at[turn] = calloc((size_t)P, sizeof *c->at[turn]);
        if (!c->at[turn])
            return rota_fail_mem("a reduction");
    }
    return MPI_SUCCESS;
}

void rota_carried_free(rota_carried *c)
{
    if (!c)
        return;
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        free(c->first[dir]);
        free(c->rank[dir]);
    }
    for (int turn = 0; turn < 2; turn++)
        free(c->at[turn]);
    free(c->goes_on);
    free(c->from);
    free(c->own);
    free(c);
}

/* List the ranks whose blocks message m has, at rank[n] and behind; seen: [P] the
 * last message with a rank's. Returns the new n. */
static uint32_t list_message(const rota_sched *s, rota_dir dir, uint32_t m,
                             const size_t label[], uint32_t seen[], int rank[],
                             uint32_t n)
{
    const rota_msgs *const l = &s->msgs[dir];

    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++) {
        const int q = label ? (int)(label[l->item[i]] / (size_t)s->P)
                      : dir == ROTA_SEND ? s->me
                                         : l->msg[m].peer;
        if (seen[q] == m + 1)
            continue;
        seen[q] = m + 1;
        if (rank)
            rank[n] = q;
        n++;
    }
    return n;
}

static int list(rota_carried *c, const rota_sched *s, rota_dir dir,
                const size_t label[], bool brings, uint32_t seen[])
{
    const uint32_t n = s->msgs[dir].n;

    c->first[dir] = calloc((size_t)n + 1, sizeof *c->first[dir]);
    if (!c->first[dir])
        return rota_fail_mem("which values messages bring");
    for (int twice = 0; twice < 2 && brings; twice++) {
        memset(seen, 0, (size_t)s->P * sizeof *seen);
        for (uint32_t m = 0; m < n; m++)
            c->first[dir][m + 1] = list_message(s, dir, m, label, seen,
                                                c->rank[dir], c->first[dir][m]);
        if (!c->rank[dir])
            c->rank[dir] =
                malloc((c->first[dir][n] + (size_t)1) * sizeof *c->rank[dir]);
        if (!c->rank[dir])
            return rota_fail_mem("which values messages bring");
    }
    return MPI_SUCCESS;
}

/* Which receives bring blocks for others? */
static int list_those_that_go_on(rota_carried *c, const rota_sched *s,
                                 const size_t label[])
{
    const rota_msgs *const l = &s->msgs[ROTA_RECV];

    c->goes_on = calloc((size_t)l->n + 1, sizeof *c->goes_on);
    if (!c->goes_on)
        return rota_fail_mem("which values messages bring");
    for (uint32_t m = 0; m < l->n && label; m++)
        for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
            if (label[l->item[i]] % (size_t)s->P != (size_t)s->me)
                c->goes_on[m] = true;
    return MPI_SUCCESS;
}

int rota_carried_list(rota_carried *c, const rota_sched *s,
                      const size_t label[], bool brings)
{
    uint32_t *const seen = malloc((size_t)s->P * sizeof *seen);
    int err = seen ? MPI_SUCCESS : rota_fail_mem("which values messages bring");

    for (int dir = 0; dir < ROTA_N_DIRS && err == MPI_SUCCESS; dir++)
        err = list(c, s, (rota_dir)dir, label, brings, seen);
    free(seen);
    return err == MPI_SUCCESS ? list_those_that_go_on(c, s, label) : err;
}

/* ---- where values are ---------------------------------------------------- */

static int make_tables(rota_carried *c, int P, int me)
{
    const size_t bytes = (size_t)P * c->step;

    if (!c->table[0])
        c->table[0] = c->own = calloc(2, bytes);
    if (!c->table[0])
        return rota_fail_mem("a reduction");
    c->table[1] = c->table[0] + bytes;
    for (int turn = 0; turn < 2; turn++)
        c->mine[turn] = c->table[turn] + rota_carried_place(c, me);
    return MPI_SUCCESS;
}

static const char *table_of(const rota_exec *x, uint32_t m)
{
    const int peer = x->blocks.s->msgs[ROTA_RECV].msg[m].peer;

    return x->carried->near[x->shared->of[peer]];
}

/* What ends here with receive m is read from its sender's table. */
static void find_at_end(const rota_exec *x, uint32_t m)
{
    rota_carried *const c = x->carried;

    for (uint32_t i = c->first[ROTA_RECV][m]; i < c->first[ROTA_RECV][m + 1];
         i++) {
        const int q = c->rank[ROTA_RECV][i];
        c->at[0][q] = table_of(x, m) + rota_carried_place(c, q);
        c->at[1][q] = c->at[0][q] + (c->table[1] - c->table[0]);
    }
}

int rota_carried_bind(rota_exec *x)
{
    rota_carried *const c = x->carried;
    const rota_sched *const s = x->blocks.s;
    const uint32_t n = s->msgs[ROTA_RECV].n;

    ROTA_TRY(make_tables(c, s->P, s->me));
    c->from = calloc((size_t)n + 1, sizeof *c->from);
    if (!c->from)
        return rota_fail_mem("a reduction");
    for (int q = 0; q < s->P; q++)
        for (int turn = 0; turn < 2; turn++)
            c->at[turn][q] = c->table[turn] + rota_carried_place(c, q);
    for (uint32_t m = 0; m < n; m++) {
        if (x->program.op[ROTA_RECV][m].via->needs_mpi)
            continue;
        if (c->goes_on[m])
            c->from[m] = table_of(x, m);
        else
            find_at_end(x, m);
    }
    return MPI_SUCCESS;
}

/* ---- a run --------------------------------------------------------------- */

static char *value_of(const rota_carried *c, int rank)
{
    return c->table[c->starts & 1] + rota_carried_place(c, rank);
}

void rota_carried_put(const rota_exec *x, uint32_t m, char *to)
{
    const rota_carried *const c = x->carried;

    for (uint32_t i = c->first[ROTA_SEND][m]; i < c->first[ROTA_SEND][m + 1];
         i++, to += c->step)
        memcpy(to, value_of(c, c->rank[ROTA_SEND][i]), c->step);
}

void rota_carried_get(const rota_exec *x, uint32_t m, const char *from)
{
    const rota_carried *const c = x->carried;

    for (uint32_t i = c->first[ROTA_RECV][m]; i < c->first[ROTA_RECV][m + 1];
         i++, from += c->step)
        memcpy(value_of(c, c->rank[ROTA_RECV][i]), from, c->step);
}

void rota_carried_take(const rota_exec *x, uint32_t m)
{
    const rota_carried *const c = x->carried;

    if (!c->from[m])
        return;
    const char *const from = rota_carried_turn(c, x->blocks.s->P, c->from[m]);
    for (uint32_t i = c->first[ROTA_RECV][m]; i < c->first[ROTA_RECV][m + 1];
         i++) {
        const int q = c->rank[ROTA_RECV][i];
        memcpy(value_of(c, q), from + rota_carried_place(c, q), c->step);
    }
}

ROTA_RARE static int stock_all(rota_exec *x)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; m < x->blocks.s->msgs[dir].n; m++)
            if (x->program.op[dir][m].payload->stock)
                ROTA_TRY(
                    x->program.op[dir][m].payload->stock(x, (rota_dir)dir, m));
    return MPI_SUCCESS;
}

int rota_carried_begin(rota_exec *x)
{
    rota_carried *const c = x->carried;

    if (c->stocks)
        ROTA_TRY(stock_all(x));
    char *const to = c->mine[++c->starts & 1];
    if (c->what.bytes == 8) /* one instruction, and not a call */
        memcpy(to, c->value, 8);
    else
        memcpy(to, c->value, c->what.bytes);
    return MPI_SUCCESS;
}

int rota_carried_end(const rota_exec *x)
{
    const rota_carried *const c = x->carried;

    return c->what.combine(&c->what, c->at[c->starts & 1], x->blocks.s->P);
}

/* ---- the payload --------------------------------------------------------- */

static bool takes(const rota_exec *x, const rota_makeup *k)
{
    return x->carried && k->via->needs_mpi && !k->handed;
}

static int bind(rota_exec *x, rota_dir dir, uint32_t m)
{
    (void)dir;
    (void)m;
    x->carried->stocks = true;
    return MPI_SUCCESS;
}

static size_t all_bytes(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return rota_carried_bytes(x, dir, m) +
           rota_message_bytes(&x->blocks, dir, m);
}

static int stock(rota_exec *x, rota_dir dir, uint32_t m)
{
    rota_op *const op = &x->program.op[dir][m];

    return rota_grow(&op->memory, &op->room, all_bytes(x, dir, m),
                     "a message with values");
}

static int begin(rota_exec *x, rota_dir dir, uint32_t m, rota_data *d)
{
    d->bytes = all_bytes(x, dir, m);
    d->body = x->program.op[dir][m].memory;
    return MPI_SUCCESS;
}

static int hold(rota_exec *x, uint32_t m, rota_data *d)
{
    rota_carried_put(x, m, d->body);
    return rota_message_pack(&x->blocks, m,
                             d->body + rota_carried_bytes(x, ROTA_SEND, m));
}

static int finish(rota_exec *x, uint32_t m, rota_data *d)
{
    rota_carried_get(x, m, d->body);
    return rota_message_unpack(&x->blocks, m,
                               d->body + rota_carried_bytes(x, ROTA_RECV, m));
}

static rota_mpi_buffer as_mpi(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return (rota_mpi_buffer){x->program.op[dir][m].memory, all_bytes(x, dir, m),
                             MPI_BYTE};
}

const rota_payload rota_payload_carrying = {.takes = takes,
                                            .bind = bind,
                                            .unbind = rota_payload_unbind,
                                            .stock = stock,
                                            .begin = begin,
                                            .hold = hold,
                                            .finish = finish,
                                            .as_mpi = as_mpi};
