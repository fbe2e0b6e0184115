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

static const char *const kind_name[RANDOM_KINDS] = {"fixed", "uniform",
                                                    "varying", "exchange"};

/* ---- what is drawn ------------------------------------------------------------ */

/* The i-th draw of a plan, below bound. */
static uint64_t draw(const random_plan *r, uint64_t i, uint64_t bound)
{
    return mix(r->seed, i) % bound;
}

static bool varies(const random_plan *r)
{
    return r->kind == RANDOM_VARYING || r->kind == RANDOM_EXCHANGE;
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

/* Of that, by every constructor, some of which take the others' types. */
static random_layout make_holes(const random_plan *r)
{
    enum { CONSTRUCTORS = 9 };
    random_layout l = {MPI_DATATYPE_NULL, 2, 4, 8, 16};
    MPI_Datatype inner = construct(draw(r, 21, CONSTRUCTORS)), outer;

    if (draw(r, 22, 2)) {
        MPI_Type_dup(inner, &outer);
        MPI_Type_free(&inner);
        inner = outer;
    }
    MPI_Type_create_resized(inner, 0, l.extent, &outer);
    MPI_Type_free(&inner);
    if (draw(r, 23, 2)) { /* two of them are one */
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

/* Most are end to end. */
static random_layout draw_layout(const random_plan *r)
{
    switch (draw(r, 1, 4)) {
    case 0:
        return (random_layout){MPI_DOUBLE, 1, 8, 8, 8};
    case 1:
        return make_holes(r);
    default:
        return (random_layout){MPI_BYTE, 1, 1, 1, 1};
    }
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
    uint64_t n_algos = 0;
    char text[20];

    while (rota_algo_table[n_algos])
        n_algos++;
    if (draw(r, 2, 2))
        return;
    r->may_refuse = true;
    add_hint(r, "rota_algorithm", rota_algo_table[draw(r, 3, n_algos)]->name);
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

static void draw_sizes(random_plan *r)
{
    static const size_t largest[] = {1, 3, 8, 60, 500, 2000, 9000, 70000};

    r->pattern = (pattern)draw(r, 12, N_PATTERNS);
    r->largest = largest[draw(r, 13, r->pattern == HUGE_SINGLE ? 6 : 8)];
    r->max_block = ROTA_UNBOUNDED;
    if (varies(r) && draw(r, 14, 2))
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

void random_plan_draw(random_plan *r, uint64_t seed, MPI_Comm comm)
{
    const size_t P = (size_t)test_P;

    *r = (random_plan){.seed = seed};
    r->kind = (random_kind)draw(r, 0, RANDOM_KINDS);
    r->layout = draw_layout(r);
    draw_hints(r);
    draw_sizes(r);
    r->large = draw(r, 17, 2);
    r->in_place = r->kind != RANDOM_EXCHANGE && draw(r, 18, 8) == 0;
    r->args = (random_args){.sendcounts = calloc(P, sizeof(MPI_Count)),
                            .sdispls = calloc(P, sizeof(MPI_Aint)),
                            .sendtype = r->layout.type,
                            .recvcounts = calloc(P, sizeof(MPI_Count)),
                            .rdispls = calloc(P, sizeof(MPI_Aint)),
                            .recvtype = r->layout.type,
                            .max_block = r->max_block,
                            .plan = &r->plan};
    make_info(r);
    if (varies(r))
        return;
    r->shared = draw(r, 19, 4) == 0;
    random_plan_fill(r); /* sizes, for good */
    if (!r->shared)
        return;
    free(r->send.data);
    free(r->recv.data);
    MUST(rota_mem_alloc(r->send.size, comm, MPI_INFO_NULL, &r->send.data));
    MUST(rota_mem_alloc(r->recv.size, comm, MPI_INFO_NULL, &r->recv.data));
    random_plan_fill(r);
}

/* ---- buffers ------------------------------------------------------------------- */

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

/* Blocks one after the other, with gaps unless they are all alike. Returns
 * bytes. */
static size_t lay_out(const random_plan *r, const MPI_Count count[],
                      MPI_Aint displ[])
{
    MPI_Aint at = 0;

    for (int q = 0; q < test_P; q++) {
        displ[q] = at;
        at += (MPI_Aint)count[q];
        if (r->kind != RANDOM_UNIFORM)
            at += (MPI_Aint)draw(r, 40 + (uint64_t)(q + test_me), 3);
    }
    return (size_t)at * (size_t)r->layout.extent + TAIL;
}

static void put_block(const random_plan *r, unsigned char *at, int src, int dst)
{
    const random_layout *const l = &r->layout;
    const MPI_Count n = random_plan_count(r, src, dst);
    size_t i = 0;

    for (MPI_Count e = 0; e < n; e++, at += l->extent)
        for (int k = 0; k < l->pieces; k++)
            for (int b = 0; b < l->piece_bytes; b++)
                at[k * l->stride + b] = payload(src, dst, i++, r->run);
}

static unsigned char *block_at(const random_plan *r, unsigned char *base,
                               const MPI_Aint displ[], int q)
{
    return base + displ[q] * r->layout.extent;
}

static void fill_data(random_plan *r)
{
    random_args *const a = &r->args;
    random_memory *const out = r->in_place ? &r->recv : &r->send;
    const MPI_Aint *const out_at = r->in_place ? a->rdispls : a->sdispls;

    memset(r->send.data, GAP_BYTE, r->send.size);
    memset(r->recv.data, GAP_BYTE + 1, r->recv.size);
    memset(r->recv.wanted, GAP_BYTE + 1, r->recv.size);
    for (int q = 0; q < test_P; q++)
        put_block(r, block_at(r, out->data, out_at, q), test_me, q);
    memcpy(r->send.wanted, r->send.data, r->send.size);
    for (int q = 0; q < test_P && r->kind != RANDOM_EXCHANGE; q++)
        if (!above_bound(r, q, test_me))
            put_block(r, block_at(r, r->recv.wanted, a->rdispls, q), q,
                      test_me);
        else if (r->in_place) /* what was to be sent stays */
            put_block(r, block_at(r, r->recv.wanted, a->rdispls, q), test_me,
                      q);
}

void random_plan_fill(random_plan *r)
{
    random_args *const a = &r->args;

    for (int q = 0; q < test_P; q++) {
        a->sendcounts[q] = random_plan_count(r, test_me, q);
        a->recvcounts[q] = random_plan_count(r, q, test_me);
    }
    make_room(&r->send, lay_out(r, a->sendcounts, a->sdispls));
    make_room(&r->recv, lay_out(r, a->recvcounts, a->rdispls));
    a->sendbuf = r->in_place ? MPI_IN_PLACE : r->send.data;
    a->recvbuf = r->recv.data;
    fill_data(r);
}

/* ---- calls --------------------------------------------------------------------- */

/* Of the int form of a call. */
typedef struct ints {
    int array[4][64];
    const int *sendcounts, *sdispls, *recvcounts, *rdispls;
} ints;

static const int *counts_as_ints(int to[], const MPI_Count from[])
{
    for (int i = 0; i < test_P && from; i++)
        to[i] = (int)from[i];
    return from ? to : NULL;
}

static const int *displs_as_ints(int to[], const MPI_Aint from[])
{
    for (int i = 0; i < test_P && from; i++)
        to[i] = (int)from[i];
    return from ? to : NULL;
}

static ints *as_ints(const random_args *a, ints *n)
{
    n->sendcounts = counts_as_ints(n->array[0], a->sendcounts);
    n->sdispls = displs_as_ints(n->array[1], a->sdispls);
    n->recvcounts = counts_as_ints(n->array[2], a->recvcounts);
    n->rdispls = displs_as_ints(n->array[3], a->rdispls);
    return n;
}

static int init_fixed(const random_plan *r, MPI_Comm comm)
{
    const random_args *const a = &r->args;
    ints n;

    if (r->large)
        return rota_alltoallv_init_c(
            a->sendbuf, a->sendcounts, a->sdispls, a->sendtype, a->recvbuf,
            a->recvcounts, a->rdispls, a->recvtype, comm, a->info, a->plan);
    as_ints(a, &n);
    return rota_alltoallv_init(a->sendbuf, n.sendcounts, n.sdispls, a->sendtype,
                               a->recvbuf, n.recvcounts, n.rdispls, a->recvtype,
                               comm, a->info, a->plan);
}

static int init_uniform(const random_plan *r, MPI_Comm comm)
{
    const random_args *const a = &r->args;

    if (r->large)
        return rota_alltoall_init_c(a->sendbuf, a->sendcounts[0], a->sendtype,
                                    a->recvbuf, a->recvcounts[0], a->recvtype,
                                    comm, a->info, a->plan);
    return rota_alltoall_init(a->sendbuf, (int)a->sendcounts[0], a->sendtype,
                              a->recvbuf, (int)a->recvcounts[0], a->recvtype,
                              comm, a->info, a->plan);
}

int random_plan_init(random_plan *r, MPI_Comm comm)
{
    const random_args *const a = &r->args;

    switch (r->kind) {
    case RANDOM_FIXED:
        return init_fixed(r, comm);
    case RANDOM_UNIFORM:
        return init_uniform(r, comm);
    case RANDOM_VARYING:
        return rota_alltoallv_varying_init(a->max_block, a->recvtype, comm,
                                           a->info, a->plan);
    default:
        return rota_exchange_init(a->max_block, a->recvtype, comm, a->info,
                                  a->plan);
    }
}

static int start_varying(const random_plan *r)
{
    const random_args *const a = &r->args;
    ints n;

    if (r->large)
        return rota_alltoallv_start_c(r->plan, a->sendbuf, a->sendcounts,
                                      a->sdispls, a->recvbuf, a->recvcounts,
                                      a->rdispls);
    as_ints(a, &n);
    return rota_alltoallv_start(r->plan, a->sendbuf, n.sendcounts, n.sdispls,
                                a->recvbuf, n.recvcounts, n.rdispls);
}

static int start_exchange(const random_plan *r)
{
    const random_args *const a = &r->args;
    ints n;

    if (r->large)
        return rota_exchange_start_c(r->plan, a->sendbuf, a->sendcounts,
                                     a->sdispls);
    as_ints(a, &n);
    return rota_exchange_start(r->plan, a->sendbuf, n.sendcounts, n.sdispls);
}

/* ---- memory that changes ---------------------------------------------------------- */

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

    if (!r->renews || r->active || r->shared || chance % 4 == 0)
        return;
    renew(&r->send, chance / 4);
    renew(&r->recv, chance / 64);
    a->sendbuf = r->in_place ? MPI_IN_PLACE : r->send.data;
    a->recvbuf = r->recv.data;
    if (!varies(r))
        MUST(rota_plan_set_buffers(r->plan, a->sendbuf, a->recvbuf));
}

int random_plan_start(random_plan *r)
{
    renew_buffers(r);
    const int err = r->kind == RANDOM_VARYING    ? start_varying(r)
                    : r->kind == RANDOM_EXCHANGE ? start_exchange(r)
                                                 : rota_start(r->plan);

    r->active = r->active || err == MPI_SUCCESS;
    return err;
}

/* ---- the end of a run ------------------------------------------------------------ */

static void check_found(const random_plan *r, unsigned char *found,
                        const MPI_Count count[], const MPI_Aint displ[])
{
    const random_layout *const l = &r->layout;
    MPI_Aint at = 0;

    for (int q = 0; q < test_P; q++) {
        const MPI_Count n =
            above_bound(r, q, test_me) ? 0 : random_plan_count(r, q, test_me);
        unsigned char *to = block_at(r, found, displ, q);
        size_t i = 0, bad = 0;
        CHECK(count[q] == n && displ[q] == at);
        for (MPI_Count e = 0; e < n && count[q] == n; e++, to += l->extent)
            for (int k = 0; k < l->pieces; k++)
                for (int b = 0; b < l->piece_bytes; b++)
                    bad += to[k * l->stride + b] !=
                           payload(q, test_me, i++, r->run);
        CHECK(bad == 0);
        at += (MPI_Aint)n;
    }
}

static int wait_exchange(random_plan *r)
{
    MPI_Count count[64];
    MPI_Aint displ[64];
    void *found;
    const int err = rota_exchange_wait_c(r->plan, &found, count, displ);
    int class = MPI_ERR_COUNT;

    if (err != MPI_SUCCESS)
        rota_error_class(err, &class);
    if (class == MPI_ERR_COUNT) /* all else is delivered */
        check_found(r, found, count, displ);
    return err;
}

static void finish(random_plan *r, int err)
{
    bool above = false;

    for (int q = 0; q < test_P; q++)
        above =
            above || above_bound(r, q, test_me) || above_bound(r, test_me, q);
    if (above)
        MUST_FAIL(err, MPI_ERR_COUNT, "");
    else
        MUST(err);
    if (r->kind != RANDOM_EXCHANGE)
        CHECK(memcmp(r->recv.data, r->recv.wanted, r->recv.size) == 0);
    CHECK(memcmp(r->send.data, r->send.wanted, r->send.size) == 0);
    r->active = false;
    r->run++;
}

void random_plan_wait(random_plan *r)
{
    finish(r,
           r->kind == RANDOM_EXCHANGE ? wait_exchange(r) : rota_wait(r->plan));
}

bool random_plan_test(random_plan *r)
{
    int done = 0;
    const int err = rota_test(r->plan, &done);

    if (r->kind == RANDOM_EXCHANGE) {
        MUST(err);
        if (done)
            random_plan_wait(r);
    } else if (done || err != MPI_SUCCESS) {
        finish(r, err);
    }
    return !r->active;
}

/* ---- the end ---------------------------------------------------------------------- */

void random_plan_free(random_plan *r)
{
    MUST(rota_plan_free(&r->plan));
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
    if (r->layout.pieces > 1)
        MPI_Type_free(&r->layout.type);
    *r = (random_plan){0};
}

void random_plan_print(const random_plan *r, char *text, size_t size)
{
    int n = snprintf(text, size, "%s%s%s%s, %s to %zu elements of %zu bytes",
                     kind_name[r->kind], r->large ? ", _c" : "",
                     r->in_place ? ", in place" : "",
                     r->shared ? ", rota_mem_alloc" : "",
                     pattern_name[r->pattern], r->largest, element(r));

    for (int i = 0; i < r->n_hints && n >= 0 && (size_t)n < size; i++)
        n += snprintf(text + n, size - (size_t)n, ", %s = %s", r->key[i],
                      r->value[i]);
}
