#include "sim/traffic.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* ---- how many ranks stand for all ---------------------------------------- */

static void build(const sim_traffic *t, const rota_hints *hints, rota_kind kind,
                  int me, rota_sched *s, rota_choice *choice)
{
    if (!t->world) {
        inside_build_kind(hints, t->topo, kind, t->largest, me, s, choice);
        return;
    }
    if (kind != ROTA_FIXED)
        inside_die("neighbours: only plans for fixed counts are simulated");
    inside_build_among(hints, t->topo, &t->world->of[me],
                       &t->world->crossing[t->topo->node[me]], me, s, choice);
}

static bool same_phase(const rota_phase *a, const rota_phase *b)
{
    return a->msg[0] == b->msg[0] && a->msg[1] == b->msg[1] &&
           a->copy == b->copy && a->window == b->window &&
           a->native == b->native && a->sparse == b->sparse &&
           a->flow == b->flow;
}

static bool same_items(const rota_sched *a, const rota_sched *b, rota_dir dir,
                       int shift)
{
    const rota_msgs *const x = &a->msgs[dir], *const y = &b->msgs[dir];
    const rota_block P = (rota_block)a->P;

    if (x->n != y->n || x->n_items != y->n_items)
        return false;
    for (uint32_t m = 0; m < x->n; m++)
        if ((x->msg[m].peer + shift) % a->P != y->msg[m].peer ||
            x->msg[m].first != y->msg[m].first ||
            x->msg[m].handed != y->msg[m].handed)
            return false;
    for (uint32_t i = 0; i < x->n_items; i++) {
        const rota_block p = x->item[i], q = y->item[i];
        const bool user = p < 2 * P;
        if (user ? p / P * P + (p + (rota_block)shift) % P != q : p != q)
            return false;
    }
    return true;
}

/* Is the schedule of rank me that of the first of its kind? */
static bool is_shifted(const sim_traffic *t, const rota_hints *hints,
                       rota_kind kind, int me, int period)
{
    rota_choice choice;
    rota_sched a, b;

    build(t, hints, kind, me % period, &a, &choice);
    build(t, hints, kind, me, &b, &choice);
    bool same = a.n_phases == b.n_phases;
    for (uint32_t p = 0; same && p < a.n_phases; p++)
        same = same_phase(&a.phase[p], &b.phase[p]);
    for (int dir = 0; same && dir < ROTA_N_DIRS; dir++)
        same = same_items(&a, &b, (rota_dir)dir, me - me % period);
    rota_sched_free(&a);
    rota_sched_free(&b);
    return same;
}

static int find_period(const sim_traffic *t, const rota_hints *hints,
                       rota_kind kind)
{
    const int P = t->P, Q = rota_topo_largest_node(t->topo);
    const int periods[] = {1, Q};

    for (int i = 0; i < 2 && !t->world; i++) {
        const int n = periods[i];
        if (P % n == 0 && n < P && is_shifted(t, hints, kind, n, n) &&
            is_shifted(t, hints, kind, P / 2 + n / 2, n) &&
            is_shifted(t, hints, kind, P - 1, n))
            return n;
    }
    return P;
}

/* ---- which receive is of which send -------------------------------------- */

/* A send of a representative, by whom it is for. */
typedef struct order {
    int peer;
    uint32_t m;
    uint32_t taken; /* of the first one for a peer: how many have met theirs */
} order;

static int compare(const void *a, const void *b)
{
    const order *const x = a, *const y = b;

    if (x->peer != y->peer)
        return x->peer < y->peer ? -1 : 1;
    return (x->m > y->m) - (x->m < y->m);
}

static order *sort_sends(const rota_msgs *l)
{
    order *const send = inside_must(malloc((l->n + 1ul) * sizeof *send));

    for (uint32_t m = 0; m < l->n; m++)
        send[m] = (order){l->msg[m].peer, m, 0};
    qsort(send, l->n, sizeof *send, compare);
    send[l->n].peer = -1;
    return send;
}

/* The first of n to a peer, or NULL. */
static order *find_sends(order *send, uint32_t n, int peer)
{
    uint32_t lo = 0, hi = n;

    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (send[mid].peer < peer)
            lo = mid + 1;
        else
            hi = mid;
    }
    return send[lo].peer == peer ? &send[lo] : NULL;
}

/* Receive m of representative r. */
static void match(sim_traffic *t, int r, uint32_t m, order *const sends[])
{
    sim_rep *const rep = &t->rep[r];
    const int peer = rep->s.msgs[ROTA_RECV].msg[m].peer,
              other = peer % t->period;
    const int me = (int)(((int64_t)r - (peer - other) + t->P) % t->P);
    order *const first =
        find_sends(sends[other], t->rep[other].s.msgs[ROTA_SEND].n, me);

    if (!first || first[first->taken].peer != me)
        inside_die("no send for a receive of rank %d from %d", r, peer);
    const uint32_t sent = first[first->taken++].m;
    rep->partner[ROTA_RECV][m] = sent;
    t->rep[other].partner[ROTA_SEND][sent] = m;
}

static void match_all(sim_traffic *t)
{
    order **const sends =
        inside_must(malloc((size_t)t->period * sizeof *sends));

    for (int r = 0; r < t->period; r++)
        sends[r] = sort_sends(&t->rep[r].s.msgs[ROTA_SEND]);
    for (int r = 0; r < t->period; r++)
        for (uint32_t m = 0; m < t->rep[r].s.msgs[ROTA_RECV].n; m++)
            match(t, r, m, sends);
    for (int r = 0; r < t->period; r++)
        free(sends[r]);
    free(sends);
}

/* ---- following blocks ---------------------------------------------------- */

/* What writes each block of a representative: an item of its receives, or a copy.
 */
typedef struct writers {
    uint32_t *item, *copy; /* [n_blocks] or NONE */
    uint32_t *msg_of;      /* [items of receives] */
} writers;

static writers find_writers(const rota_sched *s)
{
    const rota_msgs *const l = &s->msgs[ROTA_RECV];
    const size_t blocks = s->n_blocks * sizeof(uint32_t);
    const writers w = {
        inside_must(malloc(blocks)), inside_must(malloc(blocks)),
        inside_must(malloc((l->n_items + 1ul) * sizeof(uint32_t)))};

    memset(w.item, 0xff, blocks);
    memset(w.copy, 0xff, blocks);
    for (uint32_t m = 0; m < l->n; m++)
        for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++) {
            w.item[l->item[i]] = i;
            w.msg_of[i] = m;
        }
    for (uint32_t c = 0; c < s->n_copies; c++)
        w.copy[s->copy[c].to] = c;
    return w;
}

static void free_writers(writers *w)
{
    free(w->item);
    free(w->copy);
    free(w->msg_of);
}

/* Back along its way to the send buffer that it comes from; labels of items that
 * are known already end that. */
static sim_label follow(const sim_traffic *t, const writers w[], int r,
                        rota_block b)
{
    int shift = 0;

    for (;;) {
        const sim_rep *const rep = &t->rep[r];
        if (b < (rota_block)rep->s.n_send)
            return sim_shifted(t, (sim_label){r, (int)b}, shift);
        const uint32_t i = w[r].item[b];
        if (i == NONE) {
            if (w[r].copy[b] == NONE)
                inside_die("rank %d has a block that nobody sends", r);
            b = rep->s.copy[w[r].copy[b]].from;
            continue;
        }
        const sim_label known = rep->label[i];
        if (known.from >= 0)
            return sim_shifted(t, known, shift);
        const uint32_t m = w[r].msg_of[i];
        const rota_msgs *const l = &rep->s.msgs[ROTA_RECV];
        const int peer = l->msg[m].peer, other = peer % t->period;
        const rota_msgs *const sends = &t->rep[other].s.msgs[ROTA_SEND];
        b = sends->item[sends->msg[rep->partner[ROTA_RECV][m]].first + i -
                        l->msg[m].first];
        shift = (int)(((int64_t)shift + peer - other) % t->P);
        r = other;
    }
}

/* Is it the block that rank r expects as its i-th? */
static bool is_right(const sim_traffic *t, sim_label l, int r, int i)
{
    if (!t->world)
        return l.from == i && l.to == r;
    return t->world->of[r].from[i] == l.from &&
           t->world->of[l.from].to[l.to] == r &&
           sim_world_bytes(t->world, 1, r, i) ==
               sim_world_bytes(t->world, 0, l.from, l.to);
}

static void label_rep(sim_traffic *t, const writers w[], int r)
{
    sim_rep *const rep = &t->rep[r];
    const rota_msgs *const l = &rep->s.msgs[ROTA_RECV];

    for (uint32_t i = 0; i < l->n_items; i++) {
        const rota_block b = l->item[i];
        const bool lands = rota_block_arrives(&rep->s, b);
        rep->label[i] = follow(t, w, r, b);
        rep->mark[i] =
            (uint8_t)((lands ? SIM_LANDS : 0) |
                      (rota_block_is_padded(&rep->s, b) ? SIM_PADDED : 0));
        if (lands &&
            !is_right(t, rep->label[i], r, (int)b - (int)rep->s.n_send))
            inside_die("rank %d would get a wrong block", r);
    }
    for (uint32_t c = 0; c < rep->s.n_copies; c++)
        rep->copied[c] = follow(t, w, r, rep->s.copy[c].from);
}

static void label_all(sim_traffic *t)
{
    writers *const w = inside_must(malloc((size_t)t->period * sizeof *w));

    for (int r = 0; r < t->period; r++) {
        sim_rep *const rep = &t->rep[r];
        const size_t n = rep->s.msgs[ROTA_RECV].n_items + 1ul;
        w[r] = find_writers(&rep->s);
        rep->label = inside_must(malloc(n * sizeof *rep->label));
        memset(rep->label, 0xff, n * sizeof *rep->label); /* -1: not known */
        rep->mark = inside_must(malloc(n));
        rep->copied =
            inside_must(malloc((rep->s.n_copies + 1ul) * sizeof *rep->copied));
    }
    for (int r = 0; r < t->period; r++)
        label_rep(t, w, r);
    for (int r = 0; r < t->period; r++)
        free_writers(&w[r]);
    free(w);
}

/* ---- what lies end to end ------------------------------------------------ */

typedef struct places {
    size_t *bytes;
    ptrdiff_t *offset;
} places;

/* Of the i-th block that rank r sends, or receives. */
static size_t user_bytes(const sim_traffic *t, int side, int r, int i)
{
    if (t->world)
        return sim_world_bytes(t->world, side, r, i);
    return side ? sim_block(t, i, r) : sim_block(t, r, i);
}

static void lay_out_user(const sim_traffic *t, int r, places *k)
{
    const rota_sched *const s = &t->rep[r].s;

    for (int side = 0; side < 2; side++) {
        ptrdiff_t end = 0;
        for (int i = 0; i < (side ? s->n_recv : s->n_send); i++) {
            const int b = side * s->n_send + i;
            k->bytes[b] = user_bytes(t, side, r, i);
            k->offset[b] = end;
            end += (ptrdiff_t)k->bytes[b] + t->gaps;
        }
    }
}

/* Blocks without bytes are none. */
static bool is_apart(const rota_sched *s, const places *k, rota_dir dir,
                     uint32_t m)
{
    const rota_msgs *const l = &s->msgs[dir];
    bool any = false;
    rota_block before = 0;

    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++) {
        const rota_block b = l->item[i];
        if (k->bytes[b] == 0)
            continue;
        if (any &&
            (rota_block_region(s, b) != rota_block_region(s, before) ||
             k->offset[b] != k->offset[before] + (ptrdiff_t)k->bytes[before]))
            return true;
        any = true;
        before = b;
    }
    return false;
}

/* Blocks that leave have the sizes of what came. */
static void place_rep(sim_traffic *t, int r)
{
    sim_rep *const rep = &t->rep[r];
    const rota_sched *const s = &rep->s;
    const rota_msgs *const recvs = &s->msgs[ROTA_RECV];
    places k = {inside_must(calloc(s->n_blocks, sizeof *k.bytes)),
                inside_must(calloc(s->n_blocks, sizeof *k.offset))};
    rota_scratch scratch;

    for (uint32_t i = 0; i < recvs->n_items; i++)
        k.bytes[recvs->item[i]] =
            sim_block(t, rep->label[i].from, rep->label[i].to);
    for (uint32_t c = 0; c < s->n_copies; c++)
        k.bytes[s->copy[c].to] =
            sim_block(t, rep->copied[c].from, rep->copied[c].to);
    lay_out_user(t, r, &k);
    rota_sched_pad(s, t->largest, k.bytes);
    if (rota_sched_place(s, k.bytes, k.offset, &scratch) != MPI_SUCCESS)
        inside_die("%s", rota_fail_text());
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const uint32_t n = s->msgs[dir].n;
        rep->apart[dir] = inside_must(malloc(n + 1ul));
        for (uint32_t m = 0; m < n; m++)
            rep->apart[dir][m] = is_apart(s, &k, (rota_dir)dir, m);
    }
    free(k.bytes);
    free(k.offset);
}

/* ---- all together -------------------------------------------------------- */

static void number_phases(sim_rep *rep)
{
    const rota_sched *const s = &rep->s;

    for (uint32_t p = 0; p < s->n_phases; p++)
        for (uint32_t m = s->phase[p].msg[ROTA_RECV];
             m < s->phase[p + 1].msg[ROTA_RECV]; m++)
            rep->phase_of[m] = p;
}

static void make_table(sim_traffic *t, const rota_choice *choice);

void sim_traffic_init(sim_traffic *t, const rota_hints *hints, rota_kind kind,
                      rota_choice *choice)
{
    t->P = t->topo->P;
    t->period = find_period(t, hints, kind);
    t->rep = inside_must(calloc((size_t)t->period, sizeof *t->rep));
    for (int r = 0; r < t->period; r++) {
        sim_rep *const rep = &t->rep[r];
        build(t, hints, kind, r, &rep->s, choice);
        for (int dir = 0; dir < ROTA_N_DIRS; dir++)
            rep->partner[dir] = inside_must(
                malloc((rep->s.msgs[dir].n + 1ul) * sizeof(uint32_t)));
        rep->phase_of = inside_must(
            malloc((rep->s.msgs[ROTA_RECV].n + 1ul) * sizeof(uint32_t)));
        number_phases(rep);
    }
    match_all(t);
    label_all(t);
    for (int r = 0; r < t->period; r++)
        if (choice->algo->sizes != ROTA_SIZES_STATED)
            place_rep(t, r);
    for (int r = 0; r < t->period; r++)
        t->rep[r].sum = inside_must(
            calloc(t->rep[r].s.msgs[ROTA_RECV].n + 1ul, sizeof *t->rep[r].sum));
    make_table(t, choice);
}

void sim_traffic_free(sim_traffic *t)
{
    for (int r = 0; r < t->period; r++) {
        sim_rep *const rep = &t->rep[r];
        const uint32_t n = rep->s.msgs[ROTA_RECV].n;
        rota_sched_free(&rep->s);
        for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
            free(rep->partner[dir]);
            free(rep->apart[dir]);
        }
        free(rep->phase_of);
        free(rep->label);
        free(rep->mark);
        free(rep->copied);
        for (uint32_t m = 0; m < n; m++)
            free(rep->sum[m]);
        free(rep->sum);
    }
    free(t->rep);
    free(t->table);
    free(t->any);
    free(t->received);
    t->rep = NULL;
    t->table = NULL;
    t->any = NULL;
    t->received = NULL;
}

size_t sim_block(const sim_traffic *t, int from, int to)
{
    if (t->world)
        return sim_world_bytes(t->world, 0, from, to);
    return t->dist ? dist_bytes(t->dist, t->largest, t->P, t->seed, from, to, 0)
                   : t->largest;
}

double sim_received(const sim_traffic *t, int rank)
{
    double bytes = 0;

    if (t->received)
        return t->received[rank];
    for (int from = 0; from < t->P; from++)
        bytes += (double)sim_block(t, from, rank);
    return bytes;
}

/* ---- what messages add up to --------------------------------------------- */

/* Blocks are added up for all ranks that a representative stands for at once:
 * those of one place in its messages lie end to end in the table. */
#define DEFINE_ADD(type)                                                       \
    static void add_##type(const type row[], uint32_t from, uint32_t n,        \
                           uint32_t bytes[], uint32_t filled[])                \
    {                                                                          \
        for (uint32_t i = 0; i < n - from; i++) {                              \
            bytes[i] += row[from + i];                                         \
            filled[i] += row[from + i] > 0;                                    \
        }                                                                      \
        for (uint32_t i = 0; i < from; i++) {                                  \
            bytes[n - from + i] += row[i];                                     \
            filled[n - from + i] += row[i] > 0;                                \
        }                                                                      \
    }
DEFINE_ADD(uint8_t)
DEFINE_ADD(uint16_t)
DEFINE_ADD(uint32_t)

static void add_block(const sim_traffic *t, sim_label l, uint32_t bytes[],
                      uint32_t filled[])
{
    const size_t P = (size_t)t->P, G = (size_t)t->period, N = P / G;
    const size_t distance = (size_t)((l.to - l.from + t->P) % t->P);
    const size_t row = distance * P + (size_t)l.from % G * N;
    const uint32_t from = (uint32_t)((size_t)l.from / G), n = (uint32_t)N;

    if (!t->any[row / N])
        return;
    if (t->width == 1)
        add_uint8_t((const uint8_t *)t->table + row, from, n, bytes, filled);
    else if (t->width == 2)
        add_uint16_t((const uint16_t *)t->table + row, from, n, bytes, filled);
    else
        add_uint32_t((const uint32_t *)t->table + row, from, n, bytes, filled);
}

static void put(const sim_traffic *t, size_t at, size_t bytes)
{
    if (t->width == 1)
        ((uint8_t *)t->table)[at] = (uint8_t)bytes;
    else if (t->width == 2)
        ((uint16_t *)t->table)[at] = (uint16_t)bytes;
    else
        ((uint32_t *)t->table)[at] = (uint32_t)bytes;
}

/* The place of a size in the table. */
static size_t place_of(const sim_traffic *t, size_t from, size_t to)
{
    const size_t P = (size_t)t->P, G = (size_t)t->period;
    const size_t distance = to < from ? to + P - from : to - from;

    return distance * P + from % G * (P / G) + from / G;
}

static void fill(sim_traffic *t, size_t from, size_t to, size_t bytes)
{
    if (bytes == 0)
        return;
    const size_t place = place_of(t, from, to);
    put(t, place, bytes);
    t->any[place / (size_t)(t->P / t->period)] = true;
    t->received[to] += (double)bytes;
}

/* Most blocks of a recording have no bytes, and looking each up takes long. */
static void fill_recorded(sim_traffic *t)
{
    const size_t P = (size_t)t->P;
    size_t *const row = inside_must(malloc(P * sizeof *row));

    for (size_t from = 0; from < P; from++) {
        recording_row(t->dist->recorded, t->dist->first, (int)from, row);
        for (size_t to = 0; to < P; to++)
            fill(t, from, to, row[to]);
    }
    free(row);
}

static bool is_recorded(const sim_traffic *t)
{
    return t->dist && t->dist->type == DIST_RECORDED && t->dist->one;
}

/* Do sums of what is in a message fit into 32 bits? Of a recording no message has
 * more than the whole exchange; its largest block may be far larger than others. */
static bool sums_fit(const sim_traffic *t, const rota_choice *choice)
{
    if (t->largest <= UINT32_MAX / (size_t)t->P)
        return true;
    return is_recorded(t) && choice->algo->sizes != ROTA_SIZES_PADDED &&
           recording_total(t->dist->recorded, t->dist->first) <= UINT32_MAX;
}

/* Nothing is gained where every message is one block. */
static void make_table(sim_traffic *t, const rota_choice *choice)
{
    const size_t P = (size_t)t->P;

    if (choice->algo->sizes == ROTA_SIZES_STATED || t->period == t->P ||
        !sums_fit(t, choice) || P > 1 << 15)
        return;
    t->width = t->largest <= UINT8_MAX ? 1 : t->largest <= UINT16_MAX ? 2 : 4;
    t->table = inside_must(calloc(P * P, (size_t)t->width));
    t->any = inside_must(calloc(P * (size_t)t->period, sizeof *t->any));
    t->received = inside_must(calloc(P, sizeof *t->received));
    if (is_recorded(t)) {
        fill_recorded(t);
        return;
    }
    for (size_t d = 0; d < P; d++)
        for (size_t from = 0; from < P; from++) {
            const size_t to = from + d < P ? from + d : from + d - P;
            fill(t, from, to, sim_block(t, (int)from, (int)to));
        }
}

static sim_sum *add_up(const sim_traffic *t, const sim_rep *rep, uint32_t m)
{
    const rota_msg *const msg = &rep->s.msgs[ROTA_RECV].msg[m];
    const size_t N = (size_t)(t->P / t->period);
    sim_sum *const sum = inside_must(malloc(N * sizeof *sum));
    uint32_t *const all = inside_must(calloc(4 * N, sizeof *all));
    uint32_t padding = 0;

    for (uint32_t i = msg[0].first; i < msg[1].first; i++) {
        const size_t lands = rep->mark[i] & SIM_LANDS ? 2 * N : 0;
        if (rep->mark[i] & SIM_PADDED)
            padding++;
        else
            add_block(t, rep->label[i], all + lands, all + lands + N);
    }
    for (size_t k = 0; k < N; k++)
        sum[k] = (sim_sum){
            .bytes = all[k] + all[2 * N + k] + padding * (uint32_t)t->largest,
            .lands = all[2 * N + k],
            .n = all[N + k] + all[3 * N + k] + (t->largest ? padding : 0),
            .n_land = all[3 * N + k]};
    free(all);
    return sum;
}

static sim_size draw_up(const sim_traffic *t, int rank, uint32_t m)
{
    const sim_rep *const rep = sim_rep_of(t, rank);
    const rota_msg *const msg = &rep->s.msgs[ROTA_RECV].msg[m];
    const int shift = rank - rank % t->period;
    sim_size size = {0};

    for (uint32_t i = msg[0].first; i < msg[1].first; i++) {
        const sim_label l = sim_shifted(t, rep->label[i], shift);
        const size_t bytes =
            rep->mark[i] & SIM_PADDED ? t->largest : sim_block(t, l.from, l.to);
        size.bytes += (double)bytes;
        size.n += bytes > 0;
        if (rep->mark[i] & SIM_LANDS) {
            size.lands += (double)bytes;
            size.n_land += bytes > 0;
        }
    }
    return size;
}

sim_size sim_message(sim_traffic *t, int rank, uint32_t m)
{
    sim_rep *const rep = &t->rep[rank % t->period];
    const rota_msg *const msg = &rep->s.msgs[ROTA_RECV].msg[m];

    if (!t->table || msg[1].first - msg[0].first == 1)
        return draw_up(t, rank, m);
    if (!rep->sum[m])
        rep->sum[m] = add_up(t, rep, m);
    const sim_sum *const s = &rep->sum[m][rank / t->period];
    return (sim_size){s->bytes, s->lands, s->n, s->n_land};
}
