/* test_sched_check.c - break a correct set of schedules in every way and see
 * that the checker says so. */
#include "algos/algo.h"
#include "check/check.h"
#include "common/shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 16 };

/* A set to be broken. */
typedef struct world {
    int P;
    rota_sched s[MOST];
    size_t *bytes[MOST];
} world;

static void make_empty(world *w, int P)
{
    *w = (world){.P = P};
    for (int q = 0; q < P; q++)
        assert_int_equal(rota_sched_init(&w->s[q], P, q), MPI_SUCCESS);
}

static void make(world *w, const char *algo, int P, int parameter)
{
    const rota_params params = {
        .batch = parameter, .radix = parameter, .leaders = parameter};
    rota_topo topo = shape_topo(ODD_END, P);

    make_empty(w, P);
    for (int q = 0; q < P; q++)
        assert_int_equal(rota_algo_find(algo)->build(&topo, &params, &w->s[q]),
                         MPI_SUCCESS);
    rota_topo_free(&topo);
}

/* Every block of n bytes. */
static void give_sizes(world *w, size_t n)
{
    for (int q = 0; q < w->P; q++) {
        w->bytes[q] = calloc(w->s[q].n_blocks, sizeof *w->bytes[q]);
        assert_non_null(w->bytes[q]);
        for (rota_block b = 0; b < w->s[q].n_blocks; b++)
            w->bytes[q][b] = n;
    }
}

static int check(const world *w)
{
    const rota_sched *set[MOST];
    const size_t *bytes[MOST];

    for (int q = 0; q < w->P; q++) {
        set[q] = &w->s[q];
        bytes[q] = w->bytes[q];
    }
    rota_fail_clear();
    return rota_sched_check(set, w->P, w->bytes[0] ? bytes : NULL);
}

static void discard(world *w)
{
    for (int q = 0; q < w->P; q++) {
        rota_sched_free(&w->s[q]);
        free(w->bytes[q]);
    }
}

/* The set must be found at fault, in words that contain text. */
static void assert_fault(world *w, const char *text)
{
    assert_int_equal(check(w), MPI_ERR_INTERN);
    assert_non_null(rota_fail_text());
    if (!strstr(rota_fail_text(), text))
        fail_msg("\"%s\" does not contain \"%s\"", rota_fail_text(), text);
    discard(w);
}

static void assert_sound(world *w)
{
    const int err = check(w);

    if (err != MPI_SUCCESS)
        fail_msg("%s", rota_fail_text());
    discard(w);
}

/* Message m of a direction loses its last block. */
static void drop_last_block(rota_sched *s, rota_dir dir, uint32_t m)
{
    rota_msgs *const l = &s->msgs[dir];
    const uint32_t at = l->msg[m + 1].first - 1;

    memmove(l->item + at, l->item + at + 1,
            (l->n_items - at - 1) * sizeof *l->item);
    l->n_items--;
    for (uint32_t i = m + 1; i <= l->n; i++)
        l->msg[i].first--;
}

/* The last message of a direction goes, if it is in the last phase. */
static void drop_last_message(rota_sched *s, rota_dir dir)
{
    rota_msgs *const l = &s->msgs[dir];

    l->n--;
    l->n_items = l->msg[l->n].first;
    s->phase[s->n_phases].msg[dir] = l->n;
}

static void swap_blocks(rota_block *a, rota_block *b)
{
    const rota_block t = *a;

    *a = *b;
    *b = t;
}

/* ---- sound ones ---------------------------------------------------------- */

static void accepts_sound_sets(void **state)
{
    world w;

    (void)state;
    for (int i = 0; rota_algo_table[i]; i++)
        for (int P = 1; P <= MOST; P++) {
            make(&w, rota_algo_table[i]->name, P, 2);
            assert_sound(&w);
            make(&w, rota_algo_table[i]->name, P, 3);
            give_sizes(&w, 5);
            assert_sound(&w);
        }
}

/* What no algorithm does yet: a block travels through a peer's receive
 * buffer, and a slot serves two blocks one after the other. */
static void accepts_reuse(void **state)
{
    world w;

    (void)state;
    make_empty(&w, 1);
    rota_sched *const s = &w.s[0];
    rota_phase_begin(s, 0);
    const rota_block a = rota_tmp(s, 0);
    rota_emit_copy(s, rota_src(s, 0), a);
    rota_phase_begin(s, 0);
    const rota_block b = rota_tmp(s, 0);
    rota_emit_send(s, 0, a);
    rota_emit_recv(s, 0, b);
    rota_phase_begin(s, 0);
    rota_emit_copy(s, b, rota_dst(s, 0));
    assert_sound(&w);
}

/* ---- what arrives -------------------------------------------------------- */

static void finds_dropped_block(void **state)
{
    world w;

    (void)state;
    make(&w, "parlogna", 8, 2);
    drop_last_block(&w.s[3], ROTA_SEND, 0);
    assert_fault(&w, "rank 3 sends 3 blocks, rank 2 expects 4");
    make(&w, "parlogna", 8, 2);
    drop_last_block(&w.s[5], ROTA_RECV, 1);
    assert_fault(&w, "rank 7 sends 4 blocks, rank 5 expects 3");
}

static void finds_undelivered_block(void **state)
{
    world w;

    (void)state;
    make(&w, "spread_out", 4, 0); /* the last step: from rank 0 to rank 3 */
    drop_last_message(&w.s[0], ROTA_SEND);
    drop_last_message(&w.s[3], ROTA_RECV);
    assert_fault(&w, "rank 3 never gets its block from rank 0");
    make(&w, "spread_out", 4, 0);
    w.s[2].n_copies = 0;
    w.s[2].phase[1].copy = 0;
    assert_fault(&w, "rank 2 never gets its block from rank 2");
}

static void finds_swapped_blocks(void **state)
{
    world w;

    (void)state;
    make(&w, "parlogna", 8, 2);
    swap_blocks(&w.s[4].msgs[ROTA_SEND].item[0],
                &w.s[4].msgs[ROTA_SEND].item[1]);
    assert_fault(&w, "holds another block than it should");
}

static void finds_wrong_place(void **state)
{
    world w;

    (void)state;
    make(&w, "linear", 4, 0);
    swap_blocks(&w.s[1].msgs[ROTA_RECV].item[0],
                &w.s[1].msgs[ROTA_RECV].item[1]);
    assert_fault(&w, "schedule of rank 1, phase 0, block 6: holds another");
}

static void finds_double_delivery(void **state)
{
    world w;

    (void)state;
    make_empty(&w, 2);
    for (int q = 0; q < 2; q++) {
        rota_sched *const s = &w.s[q];
        for (int i = 0; i < 2; i++) {
            rota_phase_begin(s, 0);
            if (i == 0)
                rota_emit_copy(s, rota_src(s, q), rota_dst(s, q));
            rota_emit_recv(s, !q, rota_dst(s, !q));
            rota_emit_send(s, !q, rota_src(s, !q));
        }
    }
    assert_fault(&w, "written twice");
    make(&w, "linear", 3, 0); /* twice in one phase */
    rota_emit_recv(&w.s[1], 0, rota_dst(&w.s[1], 0));
    rota_emit_send(&w.s[0], 1, rota_src(&w.s[0], 1));
    assert_fault(&w, "its slot is used twice in the phase");
}

static void finds_written_send_buffer(void **state)
{
    world w;

    (void)state;
    make(&w, "linear", 4, 0);
    w.s[2].msgs[ROTA_RECV].item[1] = rota_src(&w.s[2], 3);
    assert_fault(&w, "the send buffer is written");
}

/* ---- who waits for whom -------------------------------------------------- */

static void finds_wrong_peer(void **state)
{
    world w;

    (void)state;
    make(&w, "linear", 4, 0);
    w.s[1].msgs[ROTA_SEND].msg[0].peer = 2;
    assert_fault(&w, "schedule of rank 2, phase 0, block 5: holds another");
    make(&w, "linear", 4, 0);
    w.s[1].msgs[ROTA_SEND].msg[2].peer = 4;
    assert_fault(&w, "rank 1 has a message with rank 4");
    make(&w, "linear", 4, 0);
    w.s[1].msgs[ROTA_RECV].msg[2].peer = -1;
    assert_fault(&w, "rank 1 has a message with rank -1");
}

static void finds_missing_receive(void **state)
{
    world w;

    (void)state;
    make(&w, "spread_out", 4, 0);
    drop_last_message(&w.s[3], ROTA_RECV);
    assert_fault(&w, "a message from rank 0 to rank 3 is only sent");
}

static void finds_missing_send(void **state)
{
    world w;

    (void)state;
    make(&w, "spread_out", 4, 0);
    drop_last_message(&w.s[0], ROTA_SEND);
    assert_fault(&w, "a message from rank 0 to rank 3 is only awaited");
}

/* Two messages between the same ranks; one side has them the other way. */
static void finds_swapped_order(void **state)
{
    world w;

    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        make_empty(&w, 2);
        rota_sched *const a = &w.s[0], *const b = &w.s[1];
        rota_phase_begin(a, 0);
        rota_emit_copy(a, rota_src(a, 0), rota_dst(a, 0));
        const rota_block t = rota_tmp(a, 0);
        rota_emit_recv(a, 1, t);
        rota_emit_send(a, 1, rota_src(a, 1));
        rota_emit_recv(a, 1, rota_dst(a, 1));
        rota_phase_begin(a, 0);
        rota_emit_send(a, 1, t);
        rota_phase_begin(b, 0);
        rota_emit_send(b, 0, rota_src(b, swapped ? 0 : 1));
        rota_emit_send(b, 0, rota_src(b, swapped ? 1 : 0));
        rota_emit_recv(b, 0, rota_dst(b, 0));
        rota_phase_begin(b, 0);
        rota_emit_recv(b, 0, rota_dst(b, 1));
        if (swapped)
            assert_fault(&w, "holds another block than it should");
        else
            assert_sound(&w);
    }
}

/* Everybody sends to the next rank first and first awaits the next rank's. */
static void make_ring(world *w, int window)
{
    make_empty(w, 3);
    for (int q = 0; q < 3; q++) {
        rota_sched *const s = &w->s[q];
        rota_phase_begin(s, window);
        rota_emit_copy(s, rota_src(s, q), rota_dst(s, q));
        for (int i = 1; i < 3; i++) {
            rota_emit_recv(s, (q + i) % 3, rota_dst(s, (q + i) % 3));
            rota_emit_send(s, (q + i) % 3, rota_src(s, (q + i) % 3));
        }
    }
}

static void finds_cyclic_wait(void **state)
{
    world w;

    (void)state;
    make_ring(&w, 0);
    assert_sound(&w);
    make_ring(&w, 2);
    assert_sound(&w);
    make_ring(&w, 1);
    assert_fault(&w, "deadlock: rank 0 never leaves phase 0");
}

static void finds_native_on_one_rank(void **state)
{
    world w;

    (void)state;
    make(&w, "mpi", 3, 0);
    w.s[1].n_phases = 0;
    assert_fault(&w, "not all ranks call MPI's all-to-all");
}

/* A phase that is the whole of the algorithm mpi. */
static void emit_native(rota_sched *s, rota_native_kind kind)
{
    rota_native_begin(s, kind);
    for (int q = 0; q < s->P; q++) {
        rota_emit_recv(s, q, rota_dst(s, q));
        rota_emit_send(s, q, rota_src(s, q));
    }
}

static void finds_native_with_others(void **state)
{
    world w;

    (void)state;
    make(&w, "mpi", 3, 0);
    rota_emit_copy(&w.s[1], rota_src(&w.s[1], 1), rota_dst(&w.s[1], 1));
    assert_fault(&w, "phase 0: MPI's all-to-all has copies");
    make(&w, "linear", 3, 0);
    for (int q = 0; q < 3; q++)
        emit_native(&w.s[q], ROTA_NATIVE_ALLTOALLV);
    assert_fault(&w, "written twice");
}

/* Rank 1's native phase is not like the others'. */
static void finds_native_out_of_order(void **state)
{
    static const char text[] = "not one block a rank in order";
    world w;

    (void)state;
    make(&w, "mpi", 3, 0);
    w.s[1].msgs[ROTA_SEND].msg[1].peer = 2;
    w.s[1].msgs[ROTA_SEND].msg[2].peer = 1;
    swap_blocks(&w.s[1].msgs[ROTA_SEND].item[1],
                &w.s[1].msgs[ROTA_SEND].item[2]);
    assert_fault(&w, text);
    make(&w, "mpi", 3, 0); /* two blocks for rank 2 */
    rota_emit_block(&w.s[1], ROTA_SEND, rota_src(&w.s[1], 1));
    assert_fault(&w, text);
    make(&w, "mpi", 3, 0); /* two messages */
    rota_emit_send(&w.s[1], 2, rota_src(&w.s[1], 2));
    assert_fault(&w, text);
}

static void finds_native_without_a_rank(void **state)
{
    world w;

    (void)state;
    make(&w, "mpi", 3, 0);
    drop_last_message(&w.s[1], ROTA_SEND);
    assert_fault(&w, "a message from rank 1 to rank 2 is only awaited");
    make(&w, "mpi", 3, 0);
    drop_last_message(&w.s[1], ROTA_RECV);
    assert_fault(&w, "a message from rank 2 to rank 1 is only sent");
    make(&w, "mpi", 3, 0); /* its own */
    drop_last_message(&w.s[2], ROTA_SEND);
    drop_last_message(&w.s[2], ROTA_RECV);
    assert_fault(&w, "rank 2 never gets its block from rank 2");
}

static void finds_native_of_another_kind(void **state)
{
    world w;

    (void)state;
    make(&w, "padded_alltoall", 3, 0);
    w.s[2].phase[1].native = ROTA_NATIVE_ALLTOALLV;
    assert_fault(&w, "rank 2, phase 1: MPI's all-to-all is another one");
}

/* What one call of MPI cannot describe: blocks of two buffers; for alltoall,
 * blocks that are not padded, or not end to end. */
static void finds_native_blocks_out_of_place(void **state)
{
    static const char text[] = "blocks where it cannot find them";
    world w;

    (void)state;
    make(&w, "mpi", 3, 0);
    w.s[1].msgs[ROTA_RECV].item[2] = rota_tmp(&w.s[1], 0);
    assert_fault(&w, text);
    make(&w, "mpi", 3, 0);
    for (int q = 0; q < 3; q++)
        w.s[q].phase[0].native = ROTA_NATIVE_ALLTOALL;
    assert_fault(&w, text);
    make(&w, "padded_alltoall", 3, 0);
    const rota_sched *const s = &w.s[1];
    s->slot[s->msgs[ROTA_SEND].item[2] - 6] &= ~ROTA_TMP_PADDED;
    assert_fault(&w, text);
    make(&w, "padded_alltoall", 3, 0);
    swap_blocks(&w.s[1].msgs[ROTA_RECV].item[1],
                &w.s[1].msgs[ROTA_RECV].item[2]);
    assert_fault(&w, text);
}

/* ---- scratch ------------------------------------------------------------- */

/* One rank's block goes to scratch, and then, as the mutations have it. */
static rota_sched *begin_scratch(world *w, int window, rota_block *a)
{
    make_empty(w, 1);
    rota_sched *const s = &w->s[0];
    rota_phase_begin(s, 0);
    *a = rota_tmp(s, 0);
    rota_emit_copy(s, rota_src(s, 0), *a);
    rota_phase_begin(s, window);
    return s;
}

static void finds_overwritten_slot(void **state)
{
    world w;
    rota_block a;

    (void)state;
    rota_sched *const s = begin_scratch(&w, 0, &a);
    rota_emit_copy(s, rota_src(s, 0), rota_tmp(s, 0));
    rota_phase_begin(s, 0);
    rota_emit_copy(s, a, rota_dst(s, 0));
    assert_fault(&w, "read after its slot was taken");
}

static void finds_slot_shared_in_window(void **state)
{
    world w;
    rota_block a;

    (void)state;
    for (int window = 0; window < 2; window++) {
        rota_sched *const s = begin_scratch(&w, window, &a);
        const rota_block b = rota_tmp(s, 0);
        rota_emit_send(s, 0, a);
        rota_emit_recv(s, 0, b);
        rota_phase_begin(s, 0);
        rota_emit_copy(s, b, rota_dst(s, 0));
        if (window > 0)
            assert_fault(&w, "its slot is used twice in the phase");
        else
            assert_sound(&w);
    }
}

static void finds_slot_received_twice(void **state)
{
    world w;

    (void)state;
    make_empty(&w, 1);
    rota_sched *const s = &w.s[0];
    rota_phase_begin(s, 0);
    for (int i = 0; i < 2; i++) {
        rota_emit_send(s, 0, rota_src(s, 0));
        rota_emit_recv(s, 0, rota_tmp(s, 0));
    }
    assert_fault(&w, "its slot is used twice in the phase");
}

static void finds_copy_into_used_slot(void **state)
{
    world w;
    rota_block a;

    (void)state;
    rota_sched *s = begin_scratch(&w, 0, &a); /* sent from and copied to */
    rota_emit_send(s, 0, a);
    rota_emit_recv(s, 0, rota_dst(s, 0));
    rota_emit_copy(s, rota_src(s, 0), rota_tmp(s, 0));
    assert_fault(&w, "its slot is used twice in the phase");
    s = begin_scratch(&w, 0, &a); /* received into and copied from */
    rota_emit_copy(s, a, rota_dst(s, 0));
    rota_emit_send(s, 0, rota_src(s, 0));
    rota_emit_recv(s, 0, rota_tmp(s, 0));
    assert_fault(&w, "its slot is used twice in the phase");
    s = begin_scratch(&w, 0, &a); /* copied to and copied from */
    const rota_block b = rota_tmp(s, 1);
    rota_emit_copy(s, a, b);
    rota_emit_copy(s, b, rota_dst(s, 0));
    assert_fault(&w, "its slot is used twice in the phase");
}

/* Two ranks, each with a stay in the receive buffer, where the block from the
 * rank itself will lie or lies already. */
static void make_tmps_in_dst(world *w, bool destroys)
{
    make_empty(w, 2);
    for (int q = 0; q < 2; q++) {
        rota_sched *const s = &w->s[q];
        rota_phase_begin(s, 0);
        if (destroys)
            rota_emit_copy(s, rota_src(s, q), rota_dst(s, q));
        rota_phase_begin(s, 0);
        const rota_block tmp = rota_tmp_marked(s, (uint32_t)q, ROTA_TMP_IN_DST);
        rota_emit_copy(s, rota_src(s, !q), tmp);
        rota_phase_begin(s, 0);
        rota_emit_send(s, !q, tmp);
        rota_emit_recv(s, !q, rota_dst(s, !q));
        rota_phase_begin(s, 0);
        if (!destroys)
            rota_emit_copy(s, rota_src(s, q), rota_dst(s, q));
    }
}

static void finds_tmp_that_destroys(void **state)
{
    world w;

    (void)state;
    make_tmps_in_dst(&w, false);
    assert_sound(&w);
    make_tmps_in_dst(&w, true);
    assert_fault(&w, "rank 0 never gets its block from rank 0");
    make(&w, "linear", 4, 0); /* in the phase in which it arrives */
    rota_sched *const s = &w.s[2];
    rota_emit_copy(s, rota_src(s, 0), rota_tmp_marked(s, 1, ROTA_TMP_IN_DST));
    assert_fault(&w, "its slot is used twice in the phase");
}

/* A stay in the receive buffer is taken by what arrives, and then read. */
static void finds_destroyed_tmp(void **state)
{
    world w;

    (void)state;
    make_empty(&w, 1);
    rota_sched *const s = &w.s[0];
    rota_phase_begin(s, 0);
    const rota_block tmp = rota_tmp_marked(s, 0, ROTA_TMP_IN_DST);
    rota_emit_copy(s, rota_src(s, 0), tmp);
    rota_phase_begin(s, 0);
    rota_emit_copy(s, rota_src(s, 0), rota_dst(s, 0));
    rota_phase_begin(s, 0);
    rota_emit_copy(s, tmp, rota_tmp(s, 0));
    assert_fault(&w, "read after its slot was taken");
}

/* ---- handed over --------------------------------------------------------- */

typedef enum handing {
    SOUND,
    AT_ONE_END, /* rank 0 does not know that it is handed anything */
    BY_BOTH,    /* rank 1 sends from a shared block */
    BY_NONE,    /* rank 0 receives in no shared block */
    MIXED,      /* nor all of it */
    TAKEN,      /* another temporary block takes the place */
    HANDED_ON,  /* what rank 1 handed over goes back to it as it is */
} handing;

/* Two ranks, of which rank 0 lends temporary blocks for the block that it gets,
 * and for the one that it sends. */
static void make_handed(world *w, handing how)
{
    const uint32_t mark = how == BY_NONE ? 0 : ROTA_TMP_SHARED;

    make_empty(w, 2);
    rota_sched *const a = &w->s[0], *const b = &w->s[1];
    const rota_block in = rota_tmp_marked(a, 0, mark);
    const rota_block out = rota_tmp_marked(a, 1, ROTA_TMP_SHARED);
    const rota_block other = rota_tmp_marked(a, how == TAKEN ? 0 : 2, 0);
    const rota_block own = rota_tmp_marked(b, 0, ROTA_TMP_SHARED);

    rota_phase_begin(a, 0);
    rota_emit_copy(a, rota_src(a, 0), rota_dst(a, 0));
    rota_emit_copy(a, rota_src(a, 1), out);
    if (how == AT_ONE_END)
        rota_emit_msg(a, ROTA_RECV, 1);
    else
        rota_emit_handed(a, ROTA_RECV, 1);
    rota_emit_block(a, ROTA_RECV, in);
    if (how == MIXED)
        rota_emit_block(a, ROTA_RECV, other);
    rota_phase_begin(a, 0);
    rota_emit_copy(a, in, rota_dst(a, 1));
    rota_emit_handed(a, ROTA_SEND, 1);
    rota_emit_block(a, ROTA_SEND, how == HANDED_ON ? in : out);
    rota_phase_begin(a, 0);
    if (how != MIXED)
        rota_emit_copy(a, rota_src(a, 0), other);

    rota_phase_begin(b, 0);
    rota_emit_copy(b, rota_src(b, 1), rota_dst(b, 1));
    rota_emit_copy(b, rota_src(b, 0), own);
    rota_phase_begin(b, 0);
    rota_emit_handed(b, ROTA_SEND, 0);
    rota_emit_block(b, ROTA_SEND, how == BY_BOTH ? own : rota_src(b, 0));
    if (how == MIXED)
        rota_emit_block(b, ROTA_SEND, rota_src(b, 1));
    rota_phase_begin(b, 0);
    rota_emit_handed(b, ROTA_RECV, 0);
    rota_emit_block(b, ROTA_RECV,
                    how == HANDED_ON ? rota_tmp(b, 1) : rota_dst(b, 0));
}

static void finds_bad_handing_over(void **state)
{
    const char *const of_one = "not all in shared blocks of one of them";
    world w;

    (void)state;
    make_handed(&w, SOUND);
    assert_sound(&w);
    make_handed(&w, AT_ONE_END);
    assert_fault(&w, of_one);
    make_handed(&w, BY_BOTH);
    assert_fault(&w, of_one);
    make_handed(&w, BY_NONE);
    assert_fault(&w, of_one);
    make_handed(&w, MIXED);
    assert_fault(&w, of_one);
    make_handed(&w, TAKEN);
    assert_fault(&w, "the place of a shared block is taken twice");
    make_handed(&w, HANDED_ON);
    assert_fault(&w, "is handed over twice");
}

/* ---- before it is there -------------------------------------------------- */

static void finds_early_reads(void **state)
{
    world w;

    (void)state;
    make(&w, "parlogna", 8, 2);
    w.s[6].msgs[ROTA_SEND].item[0] =
        2 * 8; /* the first temporary block in scratch */
    assert_fault(&w, "read before it was written");
    make(&w, "parlogna", 8, 2);
    w.s[6].msgs[ROTA_SEND].item[0] = w.s[6].n_blocks;
    assert_fault(&w, "no such block");
    make(&w, "parlogna", 8, 2);
    w.s[6].msgs[ROTA_RECV].item[0] = w.s[6].n_blocks;
    assert_fault(&w, "no such block");
    make(&w, "parlogna", 8, 2);
    w.s[6].copy[0].to = w.s[6].n_blocks;
    assert_fault(&w, "no such block");
}

/* A phase may not send what it copies or receives itself: messages are posted
 * before the copies are made, and in a window in no certain order. */
static void finds_forwarding_within_phase(void **state)
{
    world w;

    (void)state;
    make_empty(&w, 1);
    rota_sched *s = &w.s[0];
    rota_phase_begin(s, 0);
    rota_emit_copy(s, rota_src(s, 0), rota_dst(s, 0));
    rota_emit_send(s, 0, rota_dst(s, 0));
    rota_emit_recv(s, 0, rota_tmp(s, 0));
    assert_fault(&w, "its slot is used twice in the phase");
    make_empty(&w, 1);
    s = &w.s[0];
    rota_phase_begin(s, 1);
    rota_emit_send(s, 0, rota_src(s, 0));
    rota_emit_recv(s, 0, rota_dst(s, 0));
    rota_emit_send(s, 0, rota_dst(s, 0));
    rota_emit_recv(s, 0, rota_tmp(s, 0));
    assert_fault(&w, "its slot is used twice in the phase");
}

/* ---- data that flow through a phase -------------------------------------- */

/* Three ranks send each other their blocks directly, but for that of rank 0 for
 * rank 2, which rank 1 passes on. Returns its temporary block there. */
static rota_block make_detour(world *w, bool flow)
{
    make_empty(w, 3);
    const rota_block tmp = rota_tmp(&w->s[1], 0);
    for (int q = 0; q < 3; q++) {
        rota_sched *const s = &w->s[q];
        if (flow)
            rota_flow_begin(s);
        else
            rota_phase_begin(s, 0);
        rota_emit_copy(s, rota_src(s, q), rota_dst(s, q));
        for (int i = 1; i < 3; i++) {
            const int peer = (q + i) % 3;
            if (q != 2 || peer != 0)
                rota_emit_recv(s, peer, rota_dst(s, peer));
            if (q != 0 || peer != 2)
                rota_emit_send(s, peer, rota_src(s, peer));
        }
    }
    rota_emit_send(&w->s[0], 1, rota_src(&w->s[0], 2));
    rota_emit_recv(&w->s[1], 0, tmp);
    rota_emit_send(&w->s[1], 2, tmp);
    rota_emit_recv(&w->s[2], 1, rota_dst(&w->s[2], 0));
    return tmp;
}

static rota_block *last_item(rota_sched *s, rota_dir dir)
{
    return &s->msgs[dir].item[s->msgs[dir].n_items - 1];
}

static void lets_blocks_flow(void **state)
{
    world w;

    (void)state;
    make_detour(&w, true);
    assert_sound(&w);
    make_detour(&w, true);
    give_sizes(&w, 5);
    assert_sound(&w);
    make_detour(&w, false);
    assert_fault(&w, "schedule of rank 1, phase 0, block 6: read before");
}

/* Only what the phase receives may come later. */
static void finds_flow_without_a_source(void **state)
{
    world w;

    (void)state;
    make_detour(&w, true);
    w.s[1].msgs[ROTA_SEND].item[2] = rota_tmp(&w.s[1], 1);
    assert_fault(&w, "rank 1, phase 0, block 7: read before it was written");
    make_detour(&w, true);
    drop_last_message(&w.s[0], ROTA_SEND);
    assert_fault(&w, "a message from rank 1 to rank 2 is only awaited");
    make_detour(&w, true);
    w.s[0].msgs[ROTA_SEND].msg[1].peer = 3;
    assert_fault(&w, "rank 0 has a message with rank 3");
}

/* What is sent may be copied before, and what is received after, but not both. */
static void lets_copies_flow(void **state)
{
    world w;

    (void)state;
    make_detour(&w, true);
    const rota_block before = rota_tmp(&w.s[0], 0);
    const rota_block after = rota_tmp(&w.s[2], 0);
    rota_emit_copy(&w.s[0], rota_src(&w.s[0], 2), before);
    rota_emit_copy(&w.s[2], after, rota_dst(&w.s[2], 0));
    *last_item(&w.s[0], ROTA_SEND) = before;
    *last_item(&w.s[2], ROTA_RECV) = after;
    assert_sound(&w);
    const rota_block tmp = make_detour(&w, true);
    const rota_block again = rota_tmp(&w.s[1], 1);
    rota_emit_copy(&w.s[1], tmp, again);
    *last_item(&w.s[1], ROTA_SEND) = again;
    assert_fault(&w, "its slot is used twice in the phase");
    make_detour(&w, true);
    rota_emit_copy(&w.s[2], rota_tmp(&w.s[2], 0), rota_tmp(&w.s[2], 1));
    assert_fault(&w, "read before it was written");
}

/* A block leaves the slot that another one takes; what is received is also copied
 * there. */
static void finds_slot_shared_in_flow(void **state)
{
    static const char text[] = "its slot is used twice in the phase";
    world w;

    (void)state;
    make_detour(&w, true);
    w.s[1].msgs[ROTA_SEND].item[1] = rota_tmp(&w.s[1], 0);
    assert_fault(&w, text);
    const rota_block tmp = make_detour(&w, true);
    w.s[1].copy[0].to = tmp;
    assert_fault(&w, text);
}

static void finds_flow_into_written_block(void **state)
{
    world w;

    (void)state;
    make_empty(&w, 1);
    rota_sched *const s = &w.s[0];
    const rota_block tmp = rota_tmp(s, 0);
    rota_phase_begin(s, 0);
    rota_emit_copy(s, rota_src(s, 0), tmp);
    rota_flow_begin(s);
    rota_emit_recv(s, 0, tmp);
    rota_emit_recv(s, 0, rota_dst(s, 0));
    rota_emit_send(s, 0, rota_src(s, 0));
    rota_emit_send(s, 0, tmp);
    assert_fault(&w, "written twice");
}

/* The block of rank 0 for rank 1 goes there, back and there again; on its way
 * back it is the second block of a message. */
static void make_shuttle(world *w, bool early)
{
    make_empty(w, 2);
    rota_sched *const a = &w->s[0], *const b = &w->s[1];
    const rota_block there = rota_tmp(b, 0), back = rota_tmp(a, 0);
    const rota_block again = rota_tmp(b, 1);

    for (int q = 0; q < 2; q++) {
        rota_flow_begin(&w->s[q]);
        rota_emit_copy(&w->s[q], rota_src(&w->s[q], q), rota_dst(&w->s[q], q));
    }
    rota_emit_send(a, 1, early ? back : rota_src(a, 1));
    rota_emit_send(a, 1, early ? rota_src(a, 1) : back);
    rota_emit_recv(b, 0, there);
    rota_emit_recv(b, 0, again);
    rota_emit_msg(b, ROTA_SEND, 0);
    rota_emit_block(b, ROTA_SEND, rota_src(b, 0));
    rota_emit_block(b, ROTA_SEND, there);
    rota_emit_msg(a, ROTA_RECV, 1);
    rota_emit_block(a, ROTA_RECV, rota_dst(a, 1));
    rota_emit_block(a, ROTA_RECV, back);
    rota_phase_begin(b, 0);
    rota_emit_copy(b, again, rota_dst(b, 0));
}

/* A send holds up those behind it to the same rank. */
static void finds_flow_out_of_order(void **state)
{
    world w;

    (void)state;
    make_shuttle(&w, false);
    assert_sound(&w);
    make_shuttle(&w, true);
    assert_fault(&w, "deadlock: rank 0 never leaves phase 0");
}

static void finds_cyclic_flow(void **state)
{
    world w;

    (void)state;
    make_empty(&w, 2);
    for (int q = 0; q < 2; q++) { /* each passes on what the other one does */
        rota_sched *const s = &w.s[q];
        const rota_block tmp = rota_tmp(s, 0);
        rota_flow_begin(s);
        rota_emit_copy(s, rota_src(s, q), rota_dst(s, q));
        for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
            rota_emit_msg(s, (rota_dir)dir, !q);
            rota_emit_block(s, (rota_dir)dir,
                            dir == ROTA_SEND ? rota_src(s, !q)
                                             : rota_dst(s, !q));
            rota_emit_block(s, (rota_dir)dir, tmp);
        }
    }
    assert_fault(&w, "deadlock: rank 0 never leaves phase 0");
}

/* ---- shape and sizes ----------------------------------------------------- */

static void finds_bad_shape(void **state)
{
    world w;

    (void)state;
    make(&w, "linear", 4, 0);
    w.s[2].me = 3;
    assert_fault(&w, "schedule 2 is of another rank");
    make_empty(&w, 1);
    rota_emit_copy(&w.s[0], rota_src(&w.s[0], 0), rota_dst(&w.s[0], 0));
    assert_fault(&w, "something is in no phase");
    make(&w, "linear", 2, 0);
    rota_emit_msg(&w.s[1], ROTA_SEND, 0);
    assert_fault(&w, "a message has no blocks");
}

/* Two messages to rank 1: the block for it, or for the other rank. */
static int check_varlen(int window, int first, int second)
{
    rota_sched s;

    assert_int_equal(rota_sched_init(&s, 3, 0), MPI_SUCCESS);
    rota_phase_begin(&s, window);
    rota_emit_send(&s, 1, rota_src(&s, first));
    rota_emit_send(&s, 2, rota_src(&s, 2));
    rota_emit_send(&s, 1, rota_src(&s, second));
    const int err = rota_sched_check_varlen(&s);
    rota_sched_free(&s);
    return err;
}

static void finds_what_cannot_tell_sizes(void **state)
{
    world w;

    (void)state;
    assert_int_equal(check_varlen(0, 1, 1), MPI_SUCCESS);
    assert_int_equal(check_varlen(0, 2, 2), MPI_SUCCESS);
    assert_int_equal(check_varlen(0, 1, 2), MPI_SUCCESS);
    assert_int_equal(check_varlen(0, 2, 1), MPI_ERR_INTERN);
    assert_int_equal(check_varlen(3, 2, 2), MPI_ERR_INTERN);
    make(&w, "scattered", 5, 2); /* a phase has nothing to do with others */
    for (int q = 0; q < 5; q++)
        assert_int_equal(rota_sched_check_varlen(&w.s[q]), MPI_SUCCESS);
    discard(&w);
}

static void finds_size_mismatch(void **state)
{
    world w;

    (void)state;
    make(&w, "linear", 4, 0);
    give_sizes(&w, 5);
    w.bytes[1][rota_src(&w.s[1], 2)] = 6;
    assert_fault(&w, "rank 1 sends 6 bytes, rank 2 expects 5");
    make(&w, "linear", 4, 0);
    give_sizes(&w, 5);
    w.bytes[1][rota_src(&w.s[1], 1)] = 6;
    assert_fault(&w, "is copied to a block of another size");
}

/* A padded algorithm whose blocks have 5 bytes, padded to 8. */
static void make_padded(world *w, const char *algo)
{
    make(w, algo, 4, 0);
    give_sizes(w, 5);
    for (int q = 0; q < w->P; q++)
        rota_sched_pad(&w->s[q], 8, w->bytes[q]);
}

static void finds_bad_padding(void **state)
{
    static const char *const algo[] = {"padded_bruck", "padded_alltoall"};
    static const char *const differ[] = {"sends 7 bytes, rank 1 expects 8",
                                         "sends 8 bytes, rank 2 expects 7"};
    world w;

    (void)state;
    for (int i = 0; i < 2; i++) {
        make_padded(&w, algo[i]);
        assert_sound(&w);
        make_padded(&w, algo[i]); /* ranks that disagree on the largest */
        rota_sched_pad(&w.s[2], 7, w.bytes[2]);
        assert_fault(&w, differ[i]);
        make_padded(&w, algo[i]); /* more than it is padded to */
        w.bytes[1][rota_src(&w.s[1], 2)] = 9;
        assert_fault(&w, "is copied to a block of another size");
        make_padded(&w, algo[i]);
        w.bytes[1][rota_dst(&w.s[1], 2)] = 9;
        assert_fault(&w, "is copied to a block of another size");
        make_padded(&w, algo[i]); /* a block that arrives is not padded */
        rota_block *const at = &w.s[0].msgs[ROTA_RECV].item[1];
        w.s[0].slot[*at - 8] &= ~(i == 0 ? ROTA_TMP_PADDED : 0);
        w.bytes[0][*at] = 5;
        assert_fault(&w, "sends 8 bytes, rank 0 expects 5");
    }
}

/* After folding, a block of no bytes need not arrive, but others must. */
static void minds_folding(void **state)
{
    world w;

    (void)state;
    for (int forget = 0; forget < 2; forget++) {
        make(&w, "parlogna", 4, 2);
        give_sizes(&w, 5);
        for (int q = 0; q < 4; q++) { /* only neighbours' blocks, one hop */
            for (rota_block b = 0; b < w.s[q].n_blocks; b++)
                w.bytes[q][b] = 0;
            w.bytes[q][rota_src(&w.s[q], (q + 3) % 4)] = 5;
            w.bytes[q][rota_dst(&w.s[q], (q + 1) % 4)] = 5;
            rota_sched_fold(&w.s[q], w.bytes[q]);
        }
        if (forget)
            w.bytes[2][rota_dst(&w.s[2], 0)] = 5;
        if (forget)
            assert_fault(&w, "rank 2 never gets its block from rank 0");
        else
            assert_sound(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_sound_sets),
        cmocka_unit_test(accepts_reuse),
        cmocka_unit_test(finds_dropped_block),
        cmocka_unit_test(finds_undelivered_block),
        cmocka_unit_test(finds_swapped_blocks),
        cmocka_unit_test(finds_wrong_place),
        cmocka_unit_test(finds_double_delivery),
        cmocka_unit_test(finds_written_send_buffer),
        cmocka_unit_test(finds_wrong_peer),
        cmocka_unit_test(finds_missing_receive),
        cmocka_unit_test(finds_missing_send),
        cmocka_unit_test(finds_swapped_order),
        cmocka_unit_test(finds_cyclic_wait),
        cmocka_unit_test(finds_native_on_one_rank),
        cmocka_unit_test(finds_native_with_others),
        cmocka_unit_test(finds_native_out_of_order),
        cmocka_unit_test(finds_native_without_a_rank),
        cmocka_unit_test(finds_native_of_another_kind),
        cmocka_unit_test(finds_native_blocks_out_of_place),
        cmocka_unit_test(finds_overwritten_slot),
        cmocka_unit_test(finds_slot_shared_in_window),
        cmocka_unit_test(finds_slot_received_twice),
        cmocka_unit_test(finds_copy_into_used_slot),
        cmocka_unit_test(finds_tmp_that_destroys),
        cmocka_unit_test(finds_destroyed_tmp),
        cmocka_unit_test(finds_bad_handing_over),
        cmocka_unit_test(finds_early_reads),
        cmocka_unit_test(finds_forwarding_within_phase),
        cmocka_unit_test(lets_blocks_flow),
        cmocka_unit_test(finds_flow_without_a_source),
        cmocka_unit_test(lets_copies_flow),
        cmocka_unit_test(finds_slot_shared_in_flow),
        cmocka_unit_test(finds_flow_into_written_block),
        cmocka_unit_test(finds_flow_out_of_order),
        cmocka_unit_test(finds_cyclic_flow),
        cmocka_unit_test(finds_bad_shape),
        cmocka_unit_test(finds_what_cannot_tell_sizes),
        cmocka_unit_test(finds_size_mismatch),
        cmocka_unit_test(finds_bad_padding),
        cmocka_unit_test(minds_folding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
