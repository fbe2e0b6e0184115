/* test_dropin_worth.c - when the drop-in makes a plan and who has the calls then,
 * over exchanges whose times are drawn by lot: src/mpi/worth.c, of two ranks, with
 * seeds that do not change. Prints what it found.
 */
#include "common/quick.h"
#include "mpi/worth.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 2 };

/* ---- lots ---------------------------------------------------------------- */

static uint64_t seed;

static double uniform(void)
{
    seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = seed;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return ((double)((x ^ x >> 31) >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* ---- exchanges ----------------------------------------------------------- */

/* Times of calls. */
typedef struct machine {
    const char *name;
    double sigma;  /* of the logarithm of single times */
    double spikes; /* part of the calls in which a rank is interrupted */
    bool bursts;   /* all takes twice as long for 100 ms, and then not */
    double drift;  /* by so much more each second */
    double skew;   /* ranks come late by so many calls, on average */
    double most;   /* that may be lost of 1 s; 0: 1 % */
} machine;

static const machine machines[] = {
    {"quiet", .sigma = 0.05},
    {"noisy", .sigma = 0.3},
    {"very noisy", .sigma = 0.6, .most = 0.03},
    {"1 % interrupted", .sigma = 0.3, .spikes = 0.01},
    {"5 % interrupted", .sigma = 0.3, .spikes = 0.05},
    {"a burning neighbour", .sigma = 0.3, .bursts = true},
    {"drift", .sigma = 0.3, .drift = 1},
    {"late ranks", .sigma = 0.1, .skew = 0.5},
    {"all of it", .sigma = 0.3, .spikes = 0.02, .bursts = true, .drift = 1,
     .skew = 0.2},
};

enum { MACHINES = sizeof machines / sizeof *machines };

/* What a rank does beside the exchange, in seconds. */
static const double interruption = 4e-3, plan_takes = 2e-3, step_takes = 2e-6,
                    agreeing_takes = 8e-6, clock_takes = 0.2e-6;

typedef struct program {
    const machine *on;
    double mpi, gain; /* seconds of a call by MPI; over those by Rota */
    size_t bytes;

    rota_mpi_worth worth[RANKS];
    rota_mpi_purse purse[RANKS];
    long call, taken;
    double now;  /* seconds of exchanges */
    double made; /* then there was a plan; 0: none */
    double lost; /* since: to the faster way, and for deciding */
} program;

static void begin(program *p, const machine *on, double mpi, double gain)
{
    const rota_mpi_purse purse = ROTA_MPI_PURSE;

    memset(p, 0, sizeof *p);
    p->on = on;
    p->mpi = mpi;
    p->gain = gain;
    p->bytes = 80;
    for (int r = 0; r < RANKS; r++) {
        memcpy(&p->purse[r], &purse, sizeof purse);
        rota_mpi_worth_begin(&p->worth[r], true, 0);
    }
}

static void end(program *p)
{
    for (int r = 0; r < RANKS; r++)
        rota_mpi_worth_end(&p->worth[r]);
}

static rota_mpi_answer ask(program *p, const rota_mpi_moment *m, bool measured)
{
    double sum[ROTA_MPI_TERMS] = {0}, mine[ROTA_MPI_TERMS];
    rota_mpi_answer answer = ROTA_MPI_WAIT;

    for (int r = 0; r < RANKS; r++) {
        rota_mpi_worth_terms(&p->worth[r], &p->purse[r], m, mine);
        for (int i = 0; i < ROTA_MPI_TERMS; i++)
            sum[i] += mine[i];
    }
    for (int r = 0; r < RANKS; r++)
        answer = rota_mpi_worth_consider(&p->worth[r], sum, measured);
    return answer;
}

static void consider(program *p)
{
    const rota_mpi_moment m = {.step = step_takes,
                               .ranks_per_core = 1,
                               .room = true,
                               .kind = ROTA_MPI_OF_PROCESS};
    rota_mpi_answer answer = ask(p, &m, false);

    if (answer == ROTA_MPI_MEASURE)
        answer = ask(p, &m, true);
    if (answer != ROTA_MPI_MAKE)
        return;
    for (int r = 0; r < RANKS; r++)
        rota_mpi_worth_made(&p->worth[r], &p->purse[r], &m, plan_takes,
                            calloc(1, sizeof(rota_mpi_trial)));
    p->made = p->now;
}

static void judge(program *p)
{
    double all[ROTA_MPI_RESULTS] = {0};

    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < ROTA_MPI_RESULTS; i++)
            all[i] += p->worth[r].trial->result[i];
    for (int r = 0; r < RANKS; r++)
        rota_mpi_worth_judge(&p->worth[r], &p->purse[r], all);
    p->lost += agreeing_takes;
}

/* Seconds of a call at this moment, without noise. */
static double usual_time(const program *p, bool rota)
{
    const bool burst = p->on->bursts && fmod(p->now, 0.2) < 0.1;

    return (rota ? p->mpi / p->gain : p->mpi) * (burst ? 2 : 1) *
           (1 + p->on->drift * p->now);
}

static void exchange(program *p, bool rota)
{
    const double usual = usual_time(p, rota), other = usual_time(p, !rota);
    const double takes = usual * exp(p->on->sigma * normal()) +
                         (uniform() < p->on->spikes ? interruption : 0);
    const double late = -p->on->skew * p->mpi * log(uniform());
    const int last = uniform() < 0.5;

    for (int r = 0; r < RANKS; r++) {
        if (!rota_mpi_worth_is_timed(&p->worth[r], p->call))
            continue;
        rota_mpi_worth_time(&p->worth[r], p->call, p->bytes,
                            takes + (r == last ? 0 : late));
        p->lost += p->made > 0 ? clock_takes / RANKS : 0;
    }
    if (p->made > 0 && usual > other)
        p->lost += usual - other;
    p->now += takes;
}

static void call(program *p)
{
    const rota_mpi_worth *const w = p->worth;

    if (p->call == w->next) {
        if (w->verdict == ROTA_MPI_OPEN)
            consider(p);
        else
            judge(p);
        assert_int_equal(w[0].next, w[1].next);
        assert_int_equal(w[0].verdict, w[1].verdict);
    }
    const bool rota = rota_mpi_worth_takes(w, p->call);
    assert_int_equal(rota, rota_mpi_worth_takes(w + 1, p->call));
    exchange(p, rota);
    p->taken += rota;
    p->call++;
}

/* ---- verdicts ------------------------------------------------------------ */

/* The first verdict that is proved, if there is one within 100,000 calls: is it
 * wrong? */
static bool is_wrong(const machine *on, double gain)
{
    program p;

    begin(&p, on, 10e-6, gain);
    while (!p.worth->sure && p.call < 100000)
        call(&p);
    const bool sure = p.worth->sure;
    const bool rota = p.worth->verdict == ROTA_MPI_TAKEN;
    end(&p);
    return sure && rota != (gain > 1);
}

static void test_verdicts_are_right(void **state)
{
    const int times = test_is_quick() ? 250 : 1000;
    const double gain[] = {1.2, 1 / 1.2};
    int n = 0, all_wrong = 0;

    (void)state;
    for (int m = 0; m < MACHINES; m++)
        for (int g = 0; g < 2; g++) {
            int wrong = 0;
            for (int i = 0; i < times; i++)
                wrong += is_wrong(&machines[m], gain[g]);
            print_message("%-20s gain %.2f: %d of %d verdicts are wrong\n",
                          machines[m].name, gain[g], wrong, times);
            n += times;
            all_wrong += wrong;
            assert_true(wrong <= 1);
        }
    assert_true(all_wrong < n / 1000);
}

/* ---- what deciding costs ------------------------------------------------- */

/* The part lost of so many seconds of exchanges with a plan, on average. */
static double part_lost(const machine *on, double mpi, double gain,
                        double seconds, int times)
{
    double sum = 0;

    for (int i = 0; i < times; i++) {
        program p;
        begin(&p, on, mpi, gain);
        while (p.made == 0 || p.now < p.made + seconds)
            call(&p);
        sum += p.lost / seconds / times;
        end(&p);
    }
    return sum;
}

static void test_deciding_costs_little(void **state)
{
    enum { GAINS = 8 };
    const double gains[GAINS] = {1, 1.05, 1 / 1.05, 1.2, 1 / 1.2, 2, 0.5, 0.25};
    const double calls[] = {5e-6, 50e-6};

    (void)state;
    for (int m = 0; m < MACHINES; m++)
        for (int c = 0; c < 2; c++) {
            double most = 0, most_of_short = 0;
            const int step = c == 0 && test_is_quick() ? 4 : 1;
            for (int g = 0; g < GAINS; g += step) {
                const double one =
                    part_lost(&machines[m], calls[c], gains[g], 1, 6);
                const double tenth =
                    part_lost(&machines[m], calls[c], gains[g], 0.1, 40);
                most = fmax(most, one);
                most_of_short = fmax(most_of_short, tenth);
            }
            print_message("%-20s %3.0f us: lost at most %.2f %% of 1 s, "
                          "%.2f %% of 0.1 s\n",
                          machines[m].name, 1e6 * calls[c], 100 * most,
                          100 * most_of_short);
            assert_true(most <= fmax(machines[m].most, 0.01));
            assert_true(most_of_short <= 0.03);
        }
}

/* A machine that changes: the verdict follows when there are four times as many
 * calls, at the latest. After 0.2 s there are 40,000, and then each takes 20 us. */
static void test_verdicts_are_taken_back(void **state)
{
    program p;

    (void)state;
    begin(&p, &machines[1], 10e-6, 2);
    while (p.made == 0 || p.now < p.made + 0.2)
        call(&p);
    assert_int_equal(p.worth->verdict, ROTA_MPI_TAKEN);
    p.gain = 0.5;
    while (p.now < p.made + 3)
        call(&p);
    assert_int_equal(p.worth->verdict, ROTA_MPI_LEFT);
    p.gain = 2;
    while (p.now < p.made + 20)
        call(&p);
    assert_int_equal(p.worth->verdict, ROTA_MPI_TAKEN);
    end(&p);
}

/* Few calls that take long: a plan is made as soon as it pays, and used at once. */
static void test_long_calls_are_taken(void **state)
{
    program p;

    (void)state;
    begin(&p, &machines[1], 16e-3, 8);
    while (p.call < 131)
        call(&p);
    print_message("131 calls of 16 ms: %ld taken\n", p.taken);
    assert_true(p.taken >= 118);
    end(&p);
}

/* A sort of calls in which every other one is a hundred times as long: like is
 * compared with like, and the long ones say who has them. */
static void test_sizes_are_told_apart(void **state)
{
    for (int large = 0; large < 2; large++) {
        program p;
        begin(&p, &machines[1], 10e-6, 1);
        while (!p.worth->sure && p.call < 100000) {
            const bool now = p.call % 2;
            p.mpi = now ? 1e-3 : 10e-6;
            p.bytes = now ? 8000 : 80;
            p.gain = now == large ? 1.5 : 1 / 1.5;
            call(&p);
        }
        assert_int_equal(p.worth->verdict,
                         large ? ROTA_MPI_TAKEN : ROTA_MPI_LEFT);
        end(&p);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts_are_right),
        cmocka_unit_test(test_deciding_costs_little),
        cmocka_unit_test(test_verdicts_are_taken_back),
        cmocka_unit_test(test_long_calls_are_taken),
        cmocka_unit_test(test_sizes_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
