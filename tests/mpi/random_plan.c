/* random_plan.c - see random_plan.h. */
#define _GNU_SOURCE
#include "random_plan.h"
#include "algos/algo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GAP_BYTE = 0x3a, TAIL = 64 };

const char *const random_kind_name[RANDOM_KINDS] = {
    "fixed",  "uniform", "varying", "exchange", "types",
    "sparse", "units",   "reverse", "arrays"};

/* ---- what is drawn ------------------------------------------------------- */

uint64_t random_plan_choose(const random_plan *r, uint64_t i, uint64_t bound)
{
    return mix(r->seed, i) % bound;
}

static uint64_t draw(const random_plan *r, uint64_t i, uint64_t bound)
{
    return random_plan_choose(r, i, bound);
}

static bool varies(const random_plan *r)
{
    return r->kind == RANDOM_VARYING || r->kind == RANDOM_EXCHANGE ||
           r->kind == RANDOM_SPARSE;
}

/* What comes is collected by Rota. */
static bool finds(const random_plan *r)
{
    return r->kind == RANDOM_EXCHANGE || r->kind == RANDOM_SPARSE;
}

MPI_Count random_plan_count(const random_plan *r, int src, int dst)
{
    const uint64_t seed = varies(r) ? mix(r->seed, (uint64_t)r->run) : r->seed;
    const bool swap = r->in_place && src > dst;

    if (r->kind == RANDOM_UNIFORM)
        return (MPI_Count)r->largest;
    return (MPI_Count)pattern_bytes(r->pattern, seed, test_P, r->largest,
                                    swap ? dst : src, swap ? src : dst);
}

static size_t element(const random_plan *r)
{
    return (size_t)(r->layout.pieces * r->layout.piece_bytes);
}

/* Of the block from src to dst, at one of its ends. */
static const random_layout *layout_at(const random_plan *r, bool sends, int src,
                                      int dst)
{
    if (r->kind != RANDOM_TYPES)
        return &r->layout;
    const bool here = sends && !r->in_place;
    return &r->kept[mix(r->seed + here, (uint64_t)(src * RANDOM_RANKS + dst)) %
                    RANDOM_TYPES_KEPT];
}

/* Does a sparse exchange have it? Of those without bytes a few. */
static bool is_sent(const random_plan *r, int src, int dst)
{
    const uint64_t pair = (uint64_t)(src * RANDOM_RANKS + dst);

    return random_plan_count(r, src, dst) > 0 ||
           mix(mix(r->seed, (uint64_t)r->run), pair) % 16 == 0;
}

static bool above_bound(const random_plan *r, int src, int dst)
{
    return varies(r) &&
           (size_t)random_plan_count(r, src, dst) * element(r) > r->max_block;
}

/* Two ints, one place free behind each, or not behind the second one. */
static MPI_Datatype construct(uint64_t how)
{
    const int ones[] = {1, 1}, places[] = {0, 2}, two = 2;
    const int sizes[] = {2, 2}, subsizes[] = {2, 1}, starts[] = {0, 0};
    const int none[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK};
    const int usual[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    const int grid[] = {1, 2};
    const MPI_Aint bytes[] = {0, 8};
    const MPI_Datatype types[] = {MPI_INT, MPI_INT};
    MPI_Datatype made = MPI_DATATYPE_NULL;

    switch (how) {
    case 0:
        MPI_Type_vector(two, 1, 2, MPI_INT, &made);
        break;
    case 1:
        MPI_Type_create_hvector(two, 1, bytes[1], MPI_INT, &made);
        break;
    case 2:
        MPI_Type_indexed(two, ones, places, MPI_INT, &made);
        break;
    case 3:
        MPI_Type_create_hindexed(two, ones, bytes, MPI_INT, &made);
        break;
    case 4:
        MPI_Type_create_indexed_block(two, 1, places, MPI_INT, &made);
        break;
    case 5:
        MPI_Type_create_hindexed_block(two, 1, bytes, MPI_INT, &made);
        break;
    case 6:
        MPI_Type_create_struct(two, ones, bytes, types, &made);
        break;
    case 7:
        MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C,
                                 MPI_INT, &made);
        break;
    default:
        MPI_Type_create_darray(2, 0, 2, sizes, none, usual, grid, MPI_ORDER_C,
                               MPI_INT, &made);
    }
    return made;
}

/* Of that, by every constructor, some of which take the others' types. Two of
 * them may be one. */
static random_layout make_holes(const random_plan *r, uint64_t salt,
                                bool doubled)
{
    enum { CONSTRUCTORS = 9 };
    random_layout l = {MPI_DATATYPE_NULL, 2, 4, 8, 16};
    MPI_Datatype inner = construct(draw(r, salt, CONSTRUCTORS)), outer;

    if (draw(r, salt + 1, 2)) {
        MPI_Type_dup(inner, &outer);
        MPI_Type_free(&inner);
        inner = outer;
    }
    MPI_Type_create_resized(inner, 0, l.extent, &outer);
    MPI_Type_free(&inner);
    if (doubled) {
        l.pieces = 4;
        l.extent *= 2;
        MPI_Type_contiguous(2, outer, &l.type);
        MPI_Type_free(&outer);
    } else {
        l.type = outer;
    }
    MPI_Type_commit(&l.type);
    return l;
}

/* n bytes end to end. */
static random_layout plain_layout(MPI_Datatype type, int n)
{
    return (random_layout){type, 1, n, n, n};
}

/* Most are end to end; a unit and an element of an array always are. */
static random_layout draw_layout(const random_plan *r)
{
    const bool plain = r->kind == RANDOM_UNITS || r->kind == RANDOM_ARRAYS;

    switch (draw(r, 1, 4)) {
    case 0:
        return plain_layout(MPI_DOUBLE, 8);
    case 1:
        if (!plain)
            return make_holes(r, 21, draw(r, 23, 2));
        return plain_layout(MPI_INT, 4);
    default:
        return plain_layout(MPI_BYTE, 1);
    }
}

/* ---- units --------------------------------------------------------------- */

enum { LARGEST_UNIT = 64 };

/* The unit of the next run: so many of some type. The first start has that of the
 * type that the plan was made with. */
static int unit_of_run(const random_plan *r, MPI_Datatype *type)
{
    static const int most[] = {LARGEST_UNIT, LARGEST_UNIT / 4,
                               LARGEST_UNIT / 8};
    const MPI_Datatype types[] = {MPI_CHAR, MPI_FLOAT, MPI_DOUBLE};
    const uint64_t chance = mix(r->seed, 100 + (uint64_t)r->run);
    const int i = (int)(chance % 3);

    *type = types[i];
    return 1 + (int)(chance / 3 % (uint64_t)most[i]);
}

static void set_layout_of_run(random_plan *r)
{
    MPI_Datatype type;
    int bytes, n;

    if (r->kind != RANDOM_UNITS || r->run == 0)
        return;
    n = unit_of_run(r, &type);
    MPI_Type_size(type, &bytes);
    r->layout = plain_layout(r->layout.type, n * bytes);
}

/* Of a plan that is inactive. Memory is for the largest unit. */
static void set_unit(random_plan *r)
{
    MPI_Datatype type;

    if (r->kind != RANDOM_UNITS || r->active || r->run == 0)
        return;
    const int n = unit_of_run(r, &type);
    MUST(rota_plan_set_unit(r->plan, type, n));
    MUST(rota_plan_set_buffers(r->plan, r->args.sendbuf, r->args.recvbuf));
}

/* Each block has one of these at each end, whose data are the same. */
static void draw_types(random_plan *r)
{
    r->layout = r->kept[0] = (random_layout){MPI_DATATYPE_NULL, 1, 8, 8, 8};
    MPI_Type_contiguous(2, MPI_INT, &r->kept[0].type);
    MPI_Type_commit(&r->kept[0].type);
    r->kept[1] = make_holes(r, 24, false);
    r->kept[2] = make_holes(r, 26, false);
    r->args.sendtypes = calloc(RANDOM_RANKS, sizeof(MPI_Datatype));
    r->args.recvtypes = calloc(RANDOM_RANKS, sizeof(MPI_Datatype));
}

static void free_types(random_plan *r)
{
    if (r->kind == RANDOM_TYPES)
        for (int i = 0; i < RANDOM_TYPES_KEPT; i++)
            MPI_Type_free(&r->kept[i].type);
    else if (r->layout.pieces > 1)
        MPI_Type_free(&r->layout.type);
    free(r->args.sendtypes);
    free(r->args.recvtypes);
}

static void add_hint(random_plan *r, const char *key, const char *value)
{
    r->key[r->n_hints] = key;
    snprintf(r->value[r->n_hints++], sizeof r->value[0], "%s", value);
}

/* Half the plans go as they like. */
static void draw_hints(random_plan *r)
{
    static const char *const number[] = {"rota_radix", "rota_batch",
                                         "rota_leaders", "rota_node_size"};
    static const char *const metadata[] = {"once", "fused", "two_phase",
                                           "combined"};
    static const char *const intranode[] = {"auto", "shm", "cma", "p2p"};
    const rota_algo *const *const table =
        r->neighbors ? rota_neighbor_table : rota_algo_table;
    uint64_t n_algos = 0;
    char text[20];

    while (table[n_algos])
        n_algos++;
    if (r->kind == RANDOM_UNITS) {
        snprintf(text, sizeof text, "%d", LARGEST_UNIT);
        add_hint(r, "rota_largest_unit", text);
    }
    if (draw(r, 2, 2))
        return;
    r->may_refuse = true;
    add_hint(r, "rota_algorithm", table[draw(r, 3, n_algos)]->name);
    if (draw(r, 4, 2)) {
        snprintf(text, sizeof text, "%d",
                 2 + (int)draw(r, 5, draw(r, 6, 4) ? 6 : 1 << 19));
        add_hint(r, number[draw(r, 7, 4)], text);
    }
    if (draw(r, 8, 4) == 0)
        add_hint(r, "rota_metadata", metadata[draw(r, 9, 4)]);
    if (draw(r, 10, 2))
        add_hint(r, "rota_intranode", intranode[draw(r, 11, 4)]);
    if (draw(r, 20, 2))
        add_hint(r, "rota_progress", "thread");
}

/* Many ranks have small blocks: all of them are on one machine. */
static void draw_sizes(random_plan *r)
{
    static const size_t largest[] = {1, 3, 8, 60, 500, 2000, 9000, 70000};
    const bool small =
        test_P > 12 || r->kind == RANDOM_UNITS || r->kind == RANDOM_ARRAYS;

    r->pattern = (pattern)draw(r, 12, N_PATTERNS);
    r->largest =
        largest[draw(r, 13, small || r->pattern == HUGE_SINGLE ? 6 : 8)];
    r->max_block = ROTA_UNBOUNDED;
    if (varies(r) && r->kind != RANDOM_SPARSE && draw(r, 14, 2))
        r->max_block = r->largest * element(r) * (draw(r, 15, 2) ? 64 : 1) /
                       (draw(r, 16, 4) == 0 ? 2 : 1);
}

static void make_info(random_plan *r)
{
    r->args.info = MPI_INFO_NULL;
    if (r->n_hints > 0)
        MPI_Info_create(&r->args.info);
    for (int i = 0; i < r->n_hints; i++)
        MPI_Info_set(r->args.info, r->key[i], r->value[i]);
}

static void draw_kind(random_plan *r, MPI_Comm comm, const random_graph *graph)
{
    enum { FIRST_FOUR = 4 };

    r->kind = (random_kind)draw(r, 0, graph ? RANDOM_KINDS : FIRST_FOUR);
    r->neighbors = graph && r->kind != RANDOM_SPARSE &&
                   r->kind != RANDOM_ARRAYS && draw(r, 28, 3) == 0;
    r->comm = r->neighbors ? graph->comm : comm;
    if (r->kind == RANDOM_REVERSE)
        r->op = (random_op)draw(r, 41, RANDOM_OPS);
    if (r->neighbors) {
        const bool back = r->kind == RANDOM_REVERSE;
        r->graph = draw(r, 40, 2) ? graph->graph : NULL;
        r->to = back ? graph->from : graph->to;
        r->from = back ? graph->to : graph->from;
        return;
    }
    r->to.n = r->from.n = test_P;
    for (int q = 0; q < test_P; q++)
        r->to.rank[q] = r->from.rank[q] = q;
}

/* Room for the largest unit. */
static void make_largest(random_plan *r)
{
    const random_layout first = r->layout;

    if (r->kind != RANDOM_UNITS)
        return;
    r->layout = plain_layout(first.type, LARGEST_UNIT);
    random_plan_fill(r);
    r->layout = first;
}

static void make_shared(random_plan *r)
{
    free(r->send.data);
    free(r->recv.data);
    MUST(rota_mem_alloc(r->send.size, r->comm, MPI_INFO_NULL, &r->send.data));
    MUST(rota_mem_alloc(r->recv.size, r->comm, MPI_INFO_NULL, &r->recv.data));
}

void random_plan_draw(random_plan *r, uint64_t seed, MPI_Comm comm,
                      const random_graph *graph)
{
    *r = (random_plan){.seed = seed};
    draw_kind(r, comm, graph);
    if (r->kind == RANDOM_TYPES)
        draw_types(r);
    else
        r->layout = draw_layout(r);
    draw_hints(r);
    draw_sizes(r);
    r->large = draw(r, 17, 2);
    r->in_place = !finds(r) && !r->neighbors && r->kind != RANDOM_REVERSE &&
                  r->kind != RANDOM_ARRAYS && draw(r, 18, 8) == 0;
    r->collects = finds(r) && graph && draw(r, 29, 3) == 0;
    r->asks = graph && draw(r, 42, 3) == 0;
    r->request = MPI_REQUEST_NULL;
    r->args.sendcounts = calloc(RANDOM_RANKS, sizeof(MPI_Count));
    r->args.sdispls = calloc(RANDOM_RANKS, sizeof(MPI_Aint));
    r->args.recvcounts = calloc(RANDOM_RANKS, sizeof(MPI_Count));
    r->args.rdispls = calloc(RANDOM_RANKS, sizeof(MPI_Aint));
    r->args.sendtype = r->args.recvtype = r->layout.type;
    r->args.max_block = r->max_block;
    r->args.plan = &r->plan;
    make_info(r);
    if (r->kind == RANDOM_ARRAYS)
        random_arrays_draw(r);
    if (varies(r) || r->kind == RANDOM_ARRAYS)
        return;
    r->shared = draw(r, 19, 4) == 0;
    make_largest(r);
    random_plan_fill(r); /* sizes, for good */
    if (!r->shared)
        return;
    make_shared(r);
    random_plan_fill(r);
}

/* ---- graphs -------------------------------------------------------------- */

/* On average three from each rank; a rank in eight has none. */
static bool is_edge(uint64_t seed, int src, int dst)
{
    const uint64_t pair = (uint64_t)(src * RANDOM_RANKS + dst);

    return mix(seed, 1000 + (uint64_t)src) % 8 > 0 &&
           mix(seed + 1, pair) % (uint64_t)test_P < 4;
}

/* Lists are in an order of each rank's own. */
void random_graph_make(random_graph *g, uint64_t seed, MPI_Comm comm)
{
    *g = (random_graph){.comm = MPI_COMM_NULL};
    for (int k = 0; k < test_P; k++) {
        const int d = (k + test_me) % test_P, s = (2 * test_P - k) % test_P;
        if (is_edge(seed, test_me, d))
            g->to.rank[g->to.n++] = d;
        if (is_edge(seed, s, test_me))
            g->from.rank[g->from.n++] = s;
    }
    MUST(MPI_Dist_graph_create_adjacent(
        comm, g->from.n, g->from.rank, MPI_UNWEIGHTED, g->to.n, g->to.rank,
        MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &g->comm));
    MUST(rota_graph_create_adjacent(comm, g->from.n, g->from.rank, g->to.n,
                                    g->to.rank, MPI_INFO_NULL, &g->graph));
}

/* ---- buffers ------------------------------------------------------------- */

static void drop_mapping(random_memory *m)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (m->mapped) {
        munmap(m->data, (m->size + page - 1) / page * page);
        m->data = NULL;
    }
    m->mapped = false;
}

static void make_room(random_memory *m, size_t size)
{
    if (size <= m->size)
        return;
    drop_mapping(m);
    m->data = realloc(m->data, size);
    m->wanted = realloc(m->wanted, size);
    if (!m->data || !m->wanted)
        MPI_Abort(MPI_COMM_WORLD, 1);
    m->size = size;
}

/* What a displacement of one is, in bytes. */
static int unit(const random_plan *r)
{
    return r->kind == RANDOM_TYPES ? 1 : r->layout.extent;
}

/* Blocks one after the other, with gaps unless they are all alike. Returns
 * bytes. */
static size_t lay_out(const random_plan *r, bool sends, MPI_Count count[],
                      MPI_Aint displ[])
{
    const random_peers *const peers = sends ? &r->to : &r->from;
    const int gap = r->kind == RANDOM_TYPES ? 16 : 1;
    MPI_Aint at = 0;

    for (int k = 0; k < peers->n; k++) {
        const int q = peers->rank[k], src = sends ? test_me : q,
                  dst = sends ? q : test_me;
        count[k] = random_plan_count(r, src, dst);
        displ[k] = at;
        at += (MPI_Aint)count[k] *
              (layout_at(r, sends, src, dst)->extent / unit(r));
        if (r->kind != RANDOM_UNIFORM)
            at += gap * (MPI_Aint)draw(r, 40 + (uint64_t)(q + test_me), 3);
    }
    return (size_t)at * (size_t)unit(r) + TAIL;
}

/* What a byte of a block is once it has come. */
static unsigned char combined(const random_plan *r, unsigned char there,
                              unsigned char came)
{
    if (r->kind != RANDOM_REVERSE)
        return came;
    switch (r->op) {
    case RANDOM_XOR:
        return there ^ came;
    case RANDOM_SUM:
        return (unsigned char)(there + came);
    case RANDOM_OWN:
        return (unsigned char)(3 * there + came);
    default:
        return came;
    }
}

static void put_block(const random_plan *r, bool sends, unsigned char *at,
                      int src, int dst)
{
    const random_layout *const l = r->in_place && sends
                                       ? layout_at(r, false, dst, src)
                                       : layout_at(r, sends, src, dst);
    const MPI_Count n = random_plan_count(r, src, dst);
    size_t i = 0;

    for (MPI_Count e = 0; e < n; e++, at += l->extent)
        for (int k = 0; k < l->pieces; k++)
            for (int b = 0; b < l->piece_bytes; b++) {
                unsigned char *const to = &at[k * l->stride + b];
                const unsigned char is = payload(src, dst, i++, r->run);
                *to = sends ? is : combined(r, *to, is);
            }
}

static void fill_data(random_plan *r)
{
    const random_args *const a = &r->args;
    random_memory *const out = r->in_place ? &r->recv : &r->send;
    const MPI_Aint *const out_at = r->in_place ? a->rdispls : a->sdispls;

    memset(r->send.data, GAP_BYTE, r->send.size);
    memset(r->recv.data, GAP_BYTE + 1, r->recv.size);
    memset(r->recv.wanted, GAP_BYTE + 1, r->recv.size);
    for (int k = 0; k < r->to.n; k++)
        put_block(r, true, out->data + out_at[k] * unit(r), test_me,
                  r->to.rank[k]);
    memcpy(r->send.wanted, r->send.data, r->send.size);
    for (int k = 0; k < r->from.n && !finds(r); k++) {
        const int q = r->from.rank[k];
        unsigned char *const at = r->recv.wanted + a->rdispls[k] * unit(r);
        if (!above_bound(r, q, test_me))
            put_block(r, false, at, q, test_me);
        else if (r->in_place) /* what was to be sent stays */
            put_block(r, true, at, test_me, q);
    }
}

/* Who has a block in this run, from the rank after this one on. */
static void draw_partners(random_plan *r)
{
    r->to.n = r->from.n = 0;
    for (int k = 0; k < test_P; k++) {
        const int d = (test_me + k) % test_P;
        if (is_sent(r, test_me, d))
            r->to.rank[r->to.n++] = d;
        if (is_sent(r, k, test_me))
            r->from.rank[r->from.n++] = k;
    }
}

void random_plan_fill(random_plan *r)
{
    random_args *const a = &r->args;

    if (r->kind == RANDOM_ARRAYS) {
        random_arrays_fill(r);
        return;
    }
    if (r->kind == RANDOM_SPARSE)
        draw_partners(r);
    set_layout_of_run(r);
    make_room(&r->send, lay_out(r, true, a->sendcounts, a->sdispls));
    make_room(&r->recv, lay_out(r, false, a->recvcounts, a->rdispls));
    if (r->kind == RANDOM_UNIFORM) /* also without neighbours */
        a->sendcounts[0] = a->recvcounts[0] = (MPI_Count)r->largest;
    for (int k = 0; k < r->to.n && a->sendtypes; k++)
        a->sendtypes[k] = layout_at(r, true, test_me, r->to.rank[k])->type;
    for (int k = 0; k < r->from.n && a->recvtypes; k++)
        a->recvtypes[k] = layout_at(r, false, r->from.rank[k], test_me)->type;
    a->sendbuf = r->in_place ? MPI_IN_PLACE : r->send.data;
    a->recvbuf = r->recv.data;
    fill_data(r);
}

/* ---- memory that changes ------------------------------------------------- */

/* Other memory, or other pages at the same address. */
static void renew(random_memory *m, uint64_t chance)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t room = (m->size + page - 1) / page * page;
    unsigned char *const before = m->data;

    if (!m->mapped || chance % 2) {
        m->data = chance % 4 < 2 ? malloc(room)
                                 : mmap(NULL, room, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(m->data, before, m->size);
        if (m->mapped)
            munmap(before, room);
        else
            free(before);
        m->mapped = chance % 4 >= 2;
        return;
    }
    unsigned char *const kept = malloc(room);
    memcpy(kept, before, m->size);
    munmap(before, room);
    if (mmap(before, room, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memcpy(before, kept, m->size);
    free(kept);
}

/* On this rank alone. */
static void renew_buffers(random_plan *r)
{
    random_args *const a = &r->args;
    const uint64_t chance =
        mix(r->seed + (uint64_t)test_me, (uint64_t)r->run) >> 8;

    if (!r->renews || r->active || r->shared || chance % 4 == 0 ||
        r->kind == RANDOM_ARRAYS)
        return;
    renew(&r->send, chance / 4);
    renew(&r->recv, chance / 64);
    a->sendbuf = r->in_place ? MPI_IN_PLACE : r->send.data;
    a->recvbuf = r->recv.data;
    if (!varies(r))
        MUST(rota_plan_set_buffers(r->plan, a->sendbuf, a->recvbuf));
}

static bool any_above_bound(const random_plan *r)
{
    bool above = false;

    for (int k = 0; k < r->from.n; k++)
        above = above || above_bound(r, r->from.rank[k], test_me);
    for (int k = 0; k < r->to.n; k++)
        above = above || above_bound(r, test_me, r->to.rank[k]);
    return above;
}

/* Errors of blocks above a bound are looked for without requests. */
static bool wants_request(const random_plan *r)
{
    return r->asks && !r->active && !any_above_bound(r) &&
           mix(r->seed + (uint64_t)test_me, (uint64_t)r->run) % 2;
}

int random_plan_start(random_plan *r)
{
    const bool asks = wants_request(r);

    renew_buffers(r);
    set_unit(r);
    if (r->collects && !r->active)
        MUST(rota_exchange_set_buffer(r->plan, r->recv.data, r->recv.size));
    const bool at_once = asks && !varies(r) && r->kind != RANDOM_ARRAYS;
    const int err = at_once ? rota_start_request(r->plan, &r->request)
                            : random_plan_call_start(r);
    if (asks && !at_once && err == MPI_SUCCESS)
        MUST(rota_get_request(r->plan, &r->request));
    r->active = r->active || err == MPI_SUCCESS;
    return err;
}

/* ---- the end of a run ---------------------------------------------------- */

size_t random_plan_count_bad(const random_plan *r, const unsigned char *at,
                             int src, MPI_Count n)
{
    const random_layout *const l = &r->layout;
    size_t i = 0, bad = 0;

    for (MPI_Count e = 0; e < n; e++, at += l->extent)
        for (int k = 0; k < l->pieces; k++)
            for (int b = 0; b < l->piece_bytes; b++)
                bad +=
                    at[k * l->stride + b] != payload(src, test_me, i++, r->run);
    return bad;
}

static void check_found(const random_plan *r, const random_found *f)
{
    const unsigned char *const data = f->data;
    MPI_Aint at = 0;

    CHECK(f->n == r->from.n);
    CHECK(!r->collects || !f->data || f->data == r->recv.data);
    for (int k = 0; k < r->from.n && f->n == r->from.n; k++) {
        const int q = r->from.rank[k];
        const MPI_Count n =
            above_bound(r, q, test_me) ? 0 : random_plan_count(r, q, test_me);
        CHECK(f->source[k] == q && f->count[k] == n && f->displ[k] == at);
        if (n > 0 && f->count[k] == n)
            CHECK(random_plan_count_bad(
                      r, data + f->displ[k] * r->layout.extent, q, n) == 0);
        at += (MPI_Aint)n;
    }
}

static int wait_and_look(random_plan *r)
{
    random_found found = {.n = -1};
    const int err = random_plan_call_wait(r, &found);
    int class = MPI_ERR_TRUNCATE;

    if (err != MPI_SUCCESS)
        rota_error_class(err, &class);
    if (finds(r) && class == MPI_ERR_TRUNCATE) /* all else is delivered */
        check_found(r, &found);
    return err;
}

static void finish(random_plan *r, int err)
{
    if (any_above_bound(r))
        MUST_FAIL(err, MPI_ERR_TRUNCATE, "");
    else
        MUST(err);
    if (!finds(r) && r->recv.size > 0)
        CHECK(memcmp(r->recv.data, r->recv.wanted, r->recv.size) == 0);
    if (r->send.size > 0)
        CHECK(memcmp(r->send.data, r->send.wanted, r->send.size) == 0);
    r->active = false;
    r->run++;
}

void random_plan_wait(random_plan *r)
{
    if (r->request != MPI_REQUEST_NULL)
        MUST(MPI_Wait(&r->request, MPI_STATUS_IGNORE));
    finish(r, wait_and_look(r));
}

/* The run is over when its request is. */
static bool test_request(random_plan *r)
{
    int done = 0;

    MUST(MPI_Test(&r->request, &done, MPI_STATUS_IGNORE));
    if (done)
        finish(r, wait_and_look(r));
    return !r->active;
}

bool random_plan_test(random_plan *r)
{
    int done = 0;

    if (r->request != MPI_REQUEST_NULL)
        return test_request(r);
    const int err = rota_test(r->plan, &done);
    if (finds(r) || r->kind == RANDOM_ARRAYS) {
        MUST(err);
        if (done)
            random_plan_wait(r);
    } else if (done || err != MPI_SUCCESS) {
        finish(r, err);
    }
    return !r->active;
}

/* ---- the end ------------------------------------------------------------- */

void random_plan_free(random_plan *r)
{
    MUST(rota_plan_free(&r->plan));
    MUST(rota_plan_free(&r->forward));
    random_arrays_free(r);
    if (r->shared) {
        MUST(rota_mem_free(&r->send.data));
        MUST(rota_mem_free(&r->recv.data));
    }
    drop_mapping(&r->send);
    drop_mapping(&r->recv);
    free(r->send.data);
    free(r->recv.data);
    free(r->send.wanted);
    free(r->recv.wanted);
    free(r->args.sendcounts);
    free(r->args.sdispls);
    free(r->args.recvcounts);
    free(r->args.rdispls);
    if (r->args.info != MPI_INFO_NULL)
        MPI_Info_free(&r->args.info);
    free_types(r);
    *r = (random_plan){0};
}

void random_plan_print(const random_plan *r, char *text, size_t size)
{
    int n = snprintf(text, size, "%s%s%s%s%s, %s to %zu elements of %zu bytes",
                     random_kind_name[r->kind],
                     r->graph       ? ", graph"
                     : r->neighbors ? ", neighbours"
                                    : "",
                     r->large ? ", _c" : "", r->in_place ? ", in place" : "",
                     r->shared ? ", rota_mem_alloc" : "",
                     pattern_name[r->pattern], r->largest, element(r));

    for (int i = 0; i < r->n_hints && n >= 0 && (size_t)n < size; i++)
        n += snprintf(text + n, size - (size_t)n, ", %s = %s", r->key[i],
                      r->value[i]);
}
