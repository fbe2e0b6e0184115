/* test_errata.c - slips in printed pseudocode, each shown to be one: the
 * corrected form is an all-to-all, the printed one is not. What the slips are:
 * docs/algorithms.md, "Errata". */
#include "algos/algo.h"
#include "check/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MAX_P = 64 };

typedef enum slip { NONE, DIGIT_IS_ONE, LAST_AS_FIRST, PARITY } slip;

/* Index i in the round of digit value z at weight power: does it move? */
static bool moves(int i, int radix, int power, int z, slip printed)
{
    const int digit = i / power % radix;

    return printed == DIGIT_IS_ONE ? digit == 1 : digit == z;
}

/* Is this hop its last? */
static bool is_last(int i, int radix, int power, slip printed)
{
    return printed == LAST_AS_FIRST ? i % power == 0 : i / (power * radix) == 0;
}

/* [Fan25] algorithm 1, one slot of scratch for every index. */
static int build_log(rota_sched *s, int radix, slip printed)
{
    const int P = s->P, me = s->me;
    rota_block at[MAX_P];

    rota_phase_begin(s, 0);
    rota_emit_copy(s, rota_src(s, me), rota_dst(s, me));
    for (int i = 0; i < P; i++)
        at[i] = rota_src(s, (me + P - i) % P);
    for (int power = 1; power < P; power *= radix)
        for (int z = 1; z < radix && z * power < P; z++) {
            rota_phase_begin(s, 0);
            rota_emit_msg(s, ROTA_RECV, (me + z * power) % P);
            rota_emit_msg(s, ROTA_SEND, (me + P - z * power) % P);
            for (int i = 1; i < P; i++) {
                if (!moves(i, radix, power, z, printed))
                    continue;
                rota_emit_block(s, ROTA_SEND, at[i]);
                at[i] = is_last(i, radix, power, printed)
                            ? rota_dst(s, (me + i) % P)
                            : rota_tmp(s, (uint32_t)i);
                rota_emit_block(s, ROTA_RECV, at[i]);
            }
        }
    return rota_sched_end(s);
}

static int bits_from(int i, int bit)
{
    int n = 0;

    for (; bit <= i; bit *= 2)
        n += (i & bit) != 0;
    return n;
}

/* [Fan22] zero-copy: bits left to move say where a block is received. */
static int build_zero_copy(rota_sched *s, slip printed)
{
    const int P = s->P, me = s->me, in_dst = printed == PARITY ? 0 : 1;
    rota_block at[MAX_P];

    rota_phase_begin(s, 0);
    rota_emit_copy(s, rota_src(s, me), rota_dst(s, me));
    for (int i = 1; i < P; i++)
        at[i] = rota_src(s, (me + P - i) % P);
    for (int bit = 1; bit < P; bit *= 2) {
        rota_phase_begin(s, 0);
        rota_emit_msg(s, ROTA_RECV, (me + bit) % P);
        rota_emit_msg(s, ROTA_SEND, (me + P - bit) % P);
        for (int i = bit; i < P; i++) {
            const int left = bits_from(i, bit), from = (me + i) % P;
            if (!(i & bit))
                continue;
            rota_emit_block(s, ROTA_SEND, at[i]);
            if (left % 2 != in_dst)
                at[i] = rota_tmp(s, (uint32_t)i);
            else if (left == 1)
                at[i] = rota_dst(s, from);
            else
                at[i] = rota_tmp_marked(s, (uint32_t)from, ROTA_TMP_IN_DST);
            rota_emit_block(s, ROTA_RECV, at[i]);
        }
    }
    return rota_sched_end(s);
}

static bool is_alltoall(int P, int radix, slip printed, bool zero_copy)
{
    rota_sched s[MAX_P];
    const rota_sched *set[MAX_P] = {NULL};
    bool good = true;

    for (int q = 0; q < P; q++) {
        set[q] = &s[q];
        assert_int_equal(rota_sched_init(&s[q], P, q), MPI_SUCCESS);
        good = (zero_copy ? build_zero_copy(&s[q], printed)
                          : build_log(&s[q], radix, printed)) == MPI_SUCCESS &&
               good;
    }
    good = good && rota_sched_check(set, P, NULL) == MPI_SUCCESS;
    for (int q = 0; q < P; q++)
        rota_sched_free(&s[q]);
    return good;
}

static void digit_is_z_not_one(void **state)
{
    (void)state;
    for (int P = 4; P <= 30; P++) {
        assert_true(is_alltoall(P, 3, NONE, false));
        assert_false(is_alltoall(P, 3, DIGIT_IS_ONE, false));
    }
    assert_true(is_alltoall(8, 2, DIGIT_IS_ONE, false)); /* z is always 1 */
}

static void last_hop_is_not_first(void **state)
{
    (void)state;
    for (int P = 4; P <= 30; P++)
        for (int radix = 2; radix < P - 1; radix++) {
            assert_true(is_alltoall(P, radix, NONE, false));
            assert_false(is_alltoall(P, radix, LAST_AS_FIRST, false));
        }
}

static void odd_parity_ends_in_place(void **state)
{
    (void)state;
    for (int P = 2; P <= 33; P++) {
        assert_true(is_alltoall(P, 2, NONE, true));
        assert_false(is_alltoall(P, 2, PARITY, true));
    }
}

/* Slot of index i whose highest digit is at position dx. */
static int slot_at(int i, int radix, int dx)
{
    int power = 1;

    for (int x = 0; x < dx; x++)
        power *= radix;
    return i - 1 - dx * (radix - 1) - i / power;
}

static int floor_log(int i, int radix)
{
    return i < radix ? 0 : 1 + floor_log(i / radix, radix);
}

static int ceil_log(int i, int radix)
{
    return i <= 1 ? 0 : 1 + floor_log(i - 1, radix);
}

static bool has_one_digit(int i, int radix)
{
    while (i % radix == 0)
        i /= radix;
    return i < radix;
}

/* With the floor, slots are 0, 1, 2, ... in the order of the indices that need
 * one; with the ceiling the first is below 0 in every radix but 2. */
static void slots_use_the_floor(void **state)
{
    (void)state;
    for (int radix = 2; radix < MAX_P; radix++)
        for (int i = 1, next = 0; i < MAX_P; i++) {
            if (has_one_digit(i, radix))
                continue;
            assert_int_equal(slot_at(i, radix, floor_log(i, radix)), next);
            if (next == 0 && radix > 2)
                assert_true(slot_at(i, radix, ceil_log(i, radix)) < 0);
            next++;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digit_is_z_not_one),
        cmocka_unit_test(last_hop_is_not_first),
        cmocka_unit_test(odd_parity_ends_in_place),
        cmocka_unit_test(slots_use_the_floor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
