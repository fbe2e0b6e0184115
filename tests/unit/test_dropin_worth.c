/* test_dropin_worth.c - when the drop-in makes a plan and who has the calls then,
 * over exchanges whose times are drawn by lot, or were recorded: src/mpi/worth.c, of
 * two ranks, with seeds that do not change. Prints what it found.
 *
 *     unit_dropin_worth_times dropin_times.txt
 *
 * The file has series of pairs of times of a real machine, one of MPI and one of a
 * plan, and says what they are. Calls take the times of a series in their order,
 * from a pair drawn by lot on, so as many calls in a row are interrupted as there.
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

/* Times of calls that were recorded: n pairs, by MPI and by Rota, in parts of the
 * median of each. */
enum { MOST_SERIES = 8, MOST_PAIRS = 2000 };
typedef struct series {
    char name[64];
    int n;
    double pair[MOST_PAIRS][2];
    double median[2]; /* seconds */
} series;

static series recorded[MOST_SERIES];
static int n_recorded;
static const machine silent = {"silent", .sigma = 0};

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
    const series *like; /* NULL: times are drawn */
    int shift;          /* it begins with this pair */
    bool of_rota;       /* like Rota's times; else like MPI's */
    double mpi, gain;   /* seconds of a call by MPI; over those by Rota */
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
    double mean[ROTA_MPI_TERMS] = {0}, mine[ROTA_MPI_TERMS];
    rota_mpi_answer answer = ROTA_MPI_WAIT;

    for (int r = 0; r < RANKS; r++) {
        rota_mpi_worth_terms(&p->worth[r], &p->purse[r], m, mine);
        for (int i = 0; i < ROTA_MPI_TERMS; i++)
            mean[i] += mine[i] / RANKS;
    }
    for (int r = 0; r < RANKS; r++)
        answer = rota_mpi_worth_consider(&p->worth[r], mean, measured);
    return answer;
}

static void consider(program *p)
{
    const rota_mpi_moment m = {.step = step_takes,
                               .age = p->now,
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
            all[i] += p->worth[r].trial->result[i] / RANKS;
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

/* Seconds of a call that usually takes so many. Of a recorded one that took more than
 * FAR times as long as others, the rest is an interruption, which is as long whoever
 * has the call. */
static double time_of(const program *p, double usual)
{
    enum { FAR = 4 };
    const series *const s = p->like;

    if (s) {
        const double part = s->pair[(p->shift + p->call) % s->n][p->of_rota];
        const double kept = fmin(part, FAR);
        return usual * kept + (part - kept) * s->median[p->of_rota];
    }
    return usual * exp(p->on->sigma * normal()) +
           (uniform() < p->on->spikes ? interruption : 0);
}

static void exchange(program *p, bool rota)
{
    const double usual = usual_time(p, rota), other = usual_time(p, !rota);
    const double takes = time_of(p, usual);
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

static void decide(program *p)
{
    const rota_mpi_worth *const w = p->worth;

    if (w->verdict == ROTA_MPI_OPEN)
        consider(p);
    else
        judge(p);
    assert_int_equal(w[0].next, w[1].next);
    assert_int_equal(w[0].verdict, w[1].verdict);
}

static void call(program *p)
{
    rota_mpi_worth *const w = p->worth;
    const bool now = p->call == w->next;
    const bool asks =
        now && (w->verdict == ROTA_MPI_OPEN || w->verdict == ROTA_MPI_TRIAL);

    for (int r = 0; r < RANKS && now && !asks; r++)
        rota_mpi_worth_try(&w[r]);
    const bool rota = rota_mpi_worth_takes(w, p->call);
    assert_int_equal(rota, rota_mpi_worth_takes(w + 1, p->call));
    assert_false(asks && rota);
    exchange(p, rota);
    if (asks)
        decide(p);
    p->taken += rota;
    p->call++;
}

/* ---- verdicts ------------------------------------------------------------ */

/* The first verdict that is proved, if there is one within 100,000 calls: is it
 * wrong? */
static bool errs(program *p)
{
    while (!p->worth->sure && p->call < 100000)
        call(p);
    const bool sure = p->worth->sure;
    const bool rota = p->worth->verdict == ROTA_MPI_TAKEN;
    end(p);
    return sure && rota != (p->gain > 1);
}

static bool is_wrong(const machine *on, double gain)
{
    program p;

    begin(&p, on, 10e-6, gain);
    return errs(&p);
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

/* The part lost of so many seconds of exchanges with a plan. */
static double lost_of(program *p, double seconds)
{
    while (p->made == 0 || p->now < p->made + seconds)
        call(p);
    end(p);
    return p->lost / seconds;
}

static double part_lost(const machine *on, double mpi, double gain,
                        double seconds, int times)
{
    double sum = 0;

    for (int i = 0; i < times; i++) {
        program p;
        begin(&p, on, mpi, gain);
        sum += lost_of(&p, seconds) / times;
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

/* ---- recorded times ------------------------------------------------------ */

static void begin_like(program *p, const series *s, bool of_rota, double gain)
{
    begin(p, &silent, s->median[of_rota], gain);
    p->like = s;
    p->of_rota = of_rota;
    p->shift = (int)(uniform() * s->n);
}

/* A line "# NAME" begins a series; a line of two numbers, microseconds, is a pair. */
static void read_series(const char *path)
{
    FILE *const file = fopen(path, "r");
    char line[128];
    double mpi, rota;

    while (file && fgets(line, sizeof line, file)) {
        if (n_recorded < MOST_SERIES &&
            sscanf(line, "# %63[^\n]", recorded[n_recorded].name) == 1)
            n_recorded++;
        if (n_recorded == 0 || sscanf(line, "%lf %lf", &mpi, &rota) != 2)
            continue;
        series *const s = &recorded[n_recorded - 1];
        if (s->n < MOST_PAIRS) {
            s->pair[s->n][0] = 1e-6 * mpi;
            s->pair[s->n++][1] = 1e-6 * rota;
        }
    }
    if (file)
        fclose(file);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void relate(series *s)
{
    static double sorted[MOST_PAIRS];

    for (int way = 0; way < 2; way++) {
        for (int i = 0; i < s->n; i++)
            sorted[i] = s->pair[i][way];
        qsort(sorted, (size_t)s->n, sizeof *sorted, by_value);
        s->median[way] = sorted[s->n / 2];
        for (int i = 0; i < s->n; i++)
            s->pair[i][way] /= s->median[way];
    }
}

static void test_recorded_verdicts_are_right(void **state)
{
    const int times = test_is_quick() ? 250 : 1000;
    int n = 0, all_wrong = 0;

    (void)state;
    assert_true(n_recorded > 0);
    for (int k = 0; k < 4 * n_recorded; k++) {
        const series *const s = &recorded[k / 4];
        const bool of_rota = k / 2 % 2;
        const double gain = k % 2 ? 1.2 : 1 / 1.2;
        int wrong = 0;
        for (int i = 0; i < times; i++) {
            program p;
            begin_like(&p, s, of_rota, gain);
            wrong += errs(&p);
        }
        print_message("%s, %s, gain %.2f: %d of %d verdicts are wrong\n",
                      s->name, of_rota ? "Rota" : "MPI", gain, wrong, times);
        n += times;
        all_wrong += wrong;
        assert_true(wrong <= 1);
    }
    assert_true(all_wrong < n / 1000);
}

/* The most of several gains. */
static double most_lost(const series *s, bool of_rota, double seconds,
                        int times)
{
    const double gain[] = {1, 1.2, 1 / 1.2, 2, 0.5};
    double most = 0;

    for (int g = 0; g < 5; g++) {
        double sum = 0;
        for (int i = 0; i < times; i++) {
            program p;
            begin_like(&p, s, of_rota, gain[g]);
            sum += lost_of(&p, seconds) / times;
        }
        most = fmax(most, sum);
    }
    return most;
}

/* Of few long calls a trial takes more, whatever it does. */
static void test_recorded_decisions_cost_little(void **state)
{
    enum { SHORT = 100 }; /* us */

    (void)state;
    for (int k = 0; k < 2 * n_recorded; k++) {
        const series *const s = &recorded[k / 2];
        const bool of_rota = k % 2;
        if (1e6 * s->median[of_rota] > SHORT)
            continue;
        const double one = most_lost(s, of_rota, 1, 12);
        const double tenth = most_lost(s, of_rota, 0.1, 40);
        print_message("%s, %s, %.3g us: lost at most %.2f %% of 1 s, %.2f %% "
                      "of 0.1 s\n",
                      s->name, of_rota ? "Rota" : "MPI",
                      1e6 * s->median[of_rota], 100 * one, 100 * tenth);
        assert_true(one <= 0.01);
        assert_true(tenth <= 0.03);
    }
}

/* ---- changes, and long calls --------------------------------------------- */

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

/* ---- short programs ------------------------------------------------------ */

/* 4 ranks on 2 cores, with an MPI that yields the core: seconds of a step, of a
 * question beside a call and of the first plan. Measuring a step takes four. The
 * first calls of a sort are cold. */
enum { COLD = 2 };
static const double crowded_step = 200e-6, question_takes = 5e-6,
                    crowded_plan = 3.5e-3, cold = 2,
                    starting = 0.02; /* a process, and MPI */

typedef struct crowded {
    rota_mpi_purse purse;
    double step; /* as far as known */
    double now, lost;
    double most; /* part of the time that was ever lost */
    int plans;
} crowded;

static void consider_crowded(crowded *c, rota_mpi_worth *w)
{
    double mean[ROTA_MPI_TERMS];
    rota_mpi_answer answer = ROTA_MPI_MEASURE;

    for (int i = 0; i < 2 && answer == ROTA_MPI_MEASURE; i++) {
        const rota_mpi_moment m = {
            .step = c->step,
            .age = c->now,
            .ranks_per_core = 2,
            .room = true,
            .kind = c->purse.any_plan ? ROTA_MPI_OTHER : ROTA_MPI_OF_PROCESS};
        rota_mpi_worth_terms(w, &c->purse, &m, mean);
        answer = rota_mpi_worth_consider(w, mean, i > 0);
        if (answer == ROTA_MPI_MEASURE) {
            c->step = crowded_step;
            c->lost += 4 * crowded_step;
        } else if (answer == ROTA_MPI_MAKE) {
            const double takes = c->plans++ ? crowded_plan / 5 : crowded_plan;
            rota_mpi_worth_made(w, &c->purse, &m, takes,
                                calloc(1, sizeof(rota_mpi_trial)));
            c->lost += takes;
        }
    }
}

/* A call that takes so long by either way, after computing. */
static void call_crowded(crowded *c, rota_mpi_worth *w, long call, double takes,
                         double computing)
{
    const bool now = call == w->next;
    const bool open = w->verdict == ROTA_MPI_OPEN;

    c->now += computing + takes;
    if (rota_mpi_worth_is_timed(w, call))
        rota_mpi_worth_time(w, call, 65536, takes * (call < COLD ? cold : 1));
    if (now && open) {
        c->lost += question_takes;
        consider_crowded(c, w);
    } else if (now && w->verdict == ROTA_MPI_TRIAL) {
        rota_mpi_worth_judge(w, &c->purse, w->trial->result);
    } else if (now) {
        rota_mpi_worth_try(w);
    }
    c->most = fmax(c->most, c->lost / (starting + c->now + c->lost));
}

/* A suite of sorts of few calls each, as a benchmark is: a plan of one would pay for
 * itself together with the others, but not for its own sort. Of what the whole has
 * taken, no more is lost at any time than is noticed, and of a sort no more than its
 * questions. */
static void test_sorts_of_few_calls_have_no_plan(void **state)
{
    enum { SORTS = 50, CALLS = 7 };
    const rota_mpi_purse purse = ROTA_MPI_PURSE;
    crowded c = {.now = 0};

    (void)state;
    memcpy(&c.purse, &purse, sizeof purse);
    for (int s = 0; s < SORTS; s++) {
        rota_mpi_worth w = {0};
        const double begin = c.now, lost = c.lost;
        rota_mpi_worth_begin(&w, true, 0);
        for (long i = 0; i < CALLS; i++)
            call_crowded(&c, &w, i, 300e-6, s == 0 ? 0.1 : 100e-6);
        rota_mpi_worth_end(&w);
        assert_true(s == 0 || c.lost - lost <= 0.01 * (c.now - begin));
    }
    print_message("%d sorts of %d calls: %d plans, at most %.2f %% lost\n",
                  SORTS, CALLS, c.plans, 100 * c.most);
    assert_int_equal(c.plans, 0);
    assert_true(c.most <= 0.02);
}

/* One sort of calls that plans would not make shorter: whenever the program ends,
 * what was lost is not noticed. */
static void test_short_programs_lose_little(void **state)
{
    const rota_mpi_purse purse = ROTA_MPI_PURSE;
    const double takes[] = {20e-6, 300e-6, 3e-3};

    (void)state;
    for (int k = 0; k < 3; k++) {
        rota_mpi_worth w = {0};
        crowded c = {.now = 0};
        memcpy(&c.purse, &purse, sizeof purse);
        rota_mpi_worth_begin(&w, true, 0);
        for (long i = 0; c.now < 10; i++)
            call_crowded(&c, &w, i, takes[k], takes[k]);
        rota_mpi_worth_end(&w);
        print_message("calls of %.0f us: %d plans, at most %.2f %% lost\n",
                      1e6 * takes[k], c.plans, 100 * c.most);
        assert_int_equal(c.plans, 1);
        assert_true(c.most <= 0.02);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts_are_right),
        cmocka_unit_test(test_deciding_costs_little),
        cmocka_unit_test(test_recorded_verdicts_are_right),
        cmocka_unit_test(test_recorded_decisions_cost_little),
        cmocka_unit_test(test_verdicts_are_taken_back),
        cmocka_unit_test(test_long_calls_are_taken),
        cmocka_unit_test(test_sizes_are_told_apart),
        cmocka_unit_test(test_sorts_of_few_calls_have_no_plan),
        cmocka_unit_test(test_short_programs_lose_little),
    };

    if (argc > 1)
        read_series(argv[1]);
    for (int k = 0; k < n_recorded; k++)
        relate(&recorded[k]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
