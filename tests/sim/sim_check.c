/* sim_check.c - prove the schedules of all algorithms with rota_sched_check,
 * and count what they cost.
 *
 *     sim_check [--quick] [--times]
 */
#include "algos/algo.h"
#include "check/check.h"
#include "common/formulas.h"
#include "common/quick.h"
#include "common/shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool print_times;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *must(void *p)
{
    if (!p) {
        fputs("sim_check: no memory\n", stderr);
        abort();
    }
    return p;
}

static bool fail(const rota_algo *algo, int P, int value, const char *what)
{
    printf("FAILED: %s, P %d, parameter %d: %s\n", algo->name, P, value, what);
    return false;
}

/* Against formulas.c: all that needs no sizes. */
static bool costs_right(const rota_algo *algo, const rota_topo *topo,
                        const rota_params *params, const rota_sched *s)
{
    const formula_cost want = formula_of(algo, topo, params, s->me);
    rota_counts got;

    rota_sched_count(s, NULL, &got);
    return got.messages + got.handed == want.messages &&
           got.handed == want.handed && got.bytes == 0 &&
           (want.rounds == FORMULA_OPEN || got.rounds == want.rounds) &&
           (want.slots == FORMULA_OPEN || s->n_slots == want.slots);
}

/* May a plan have the algorithm's messages tell sizes? */
static bool tells_sizes(const rota_algo *algo)
{
    return !algo->uniform && !algo->native && algo->sizes != ROTA_SIZES_PADDED;
}

/* ---- a set --------------------------------------------------------------- */

/* sized: messages tell sizes. Only algorithms that know nodes may then have another
 * schedule, whose data are followed too. */
static bool check_form(const rota_algo *algo, const rota_topo *topo, int value,
                       bool sized)
{
    const int P = topo->P;
    const rota_params params = {.batch = value,
                                .radix = value > 1 ? value : 2,
                                .leaders = value,
                                .pieces = 1 + (P + value) % 4,
                                .sized = sized,
                                .parcels = sized};
    rota_sched *const s = must(calloc((size_t)P, sizeof *s));
    const rota_sched **const set = must(malloc((size_t)P * sizeof *set));
    const double begin = now();
    double built;
    bool good = true;

    for (int q = 0; q < P && good; q++) {
        set[q] = &s[q];
        good = rota_sched_init(&s[q], P, q) == MPI_SUCCESS &&
               algo->build(topo, &params, &s[q]) == MPI_SUCCESS;
        if (good && sized && rota_sched_check_varlen(&s[q]) != MPI_SUCCESS)
            good = fail(algo, P, value, rota_fail_text());
        if (good && !sized && !costs_right(algo, topo, &params, &s[q]))
            good =
                fail(algo, P, value, "the cost is not what the formula says");
    }
    built = now();
    if (good && (!sized || algo->nodes) &&
        rota_sched_check(set, P, NULL) != MPI_SUCCESS)
        good = fail(algo, P, value, rota_fail_text());
    if (print_times && P >= 1000)
        printf("%-10s P %4d parameter %4d: built in %.3f s, checked in "
               "%.3f s\n",
               algo->name, P, value, built - begin, now() - built);
    for (int q = 0; q < P; q++)
        rota_sched_free(&s[q]);
    free(s);
    free(set);
    return good;
}

static bool check_shape(const rota_algo *algo, shape s, int P, int value)
{
    rota_topo topo = shape_topo(s, P);
    const bool good =
        check_form(algo, &topo, value, false) &&
        (!tells_sizes(algo) || check_form(algo, &topo, value, true));

    if (!good)
        printf("nodes: %s\n", shape_name[s]);
    rota_topo_free(&topo);
    return good;
}

static bool check_set(const rota_algo *algo, int P, int value)
{
    return check_shape(algo, ONE_NODE, P, value);
}

/* ---- which parameters ---------------------------------------------------- */

static int near_root(int P)
{
    int r = 2;

    while (r * r < P)
        r++;
    return r;
}

static bool check_radices(const rota_algo *algo, int P, bool quick)
{
    const int some[] = {2, 3, 4, 7, 8, 16, near_root(P), P / 2, P - 1, P};
    const int all = quick ? 33 : 64;

    for (int r = 2; P <= all && r <= (P > 2 ? P : 2); r++)
        if (!check_set(algo, P, r))
            return false;
    for (size_t i = 0; P > all && i < sizeof some / sizeof some[0]; i++)
        if (!check_set(algo, P, some[i]))
            return false;
    return true;
}

static bool check_batches(const rota_algo *algo, int P, bool quick)
{
    const int some[] = {1, 2, 3, 5, 8, P};

    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        if ((P <= (quick ? 64 : 256) || some[i] == 5) &&
            !check_set(algo, P, some[i]))
            return false;
    return true;
}

/* On nodes of all shapes; above 24 ranks of one in turn, for some P. */
static bool check_nodes(const rota_algo *algo, int P)
{
    const int some[] = {2, 1, 3, 5, P};

    if (P > 24 && P != 64 && P != 255 && P != 1024)
        return true;
    for (size_t i = 0; i < (P > 24 ? 2 : 5); i++)
        for (int k = 0; k < (P > 24 ? 1 : N_SHAPES); k++) {
            const shape s = (shape)((P + (int)i * 3 + k) % N_SHAPES);
            if (!check_shape(algo, s, P, some[i]))
                return false;
        }
    return true;
}

static bool check_algo(const rota_algo *algo, int P, bool quick)
{
    if (algo->nodes)
        return check_nodes(algo, P);
    if (algo->params & ROTA_P_RADIX)
        return check_radices(algo, P, quick);
    if (algo->params & ROTA_P_BATCH)
        return check_batches(algo, P, quick);
    return check_set(algo, P, 1);
}

static bool check_sizes(const rota_algo *algo, bool quick)
{
    static const int many[] = {100, 128, 255, 256, 500, 1000, 1023, 1024};
    static const int few[] = {48, 63, 64, 100, 128, 255};
    const int *const P = quick ? few : many;
    const size_t n =
        quick ? sizeof few / sizeof few[0] : sizeof many / sizeof many[0];

    if (!formula_is_stated(algo))
        return fail(algo, 0, 0, "there is no row in formulas.c");
    for (int q = 1; q <= (quick ? 33 : 64); q++)
        if (!check_algo(algo, q, quick))
            return false;
    for (size_t i = 0; i < n; i++)
        if (!check_algo(algo, P[i], quick))
            return false;
    return true;
}

/* The worked examples of the literature: rounds K and slots B at P = 8. */
static bool check_examples(void)
{
    static const struct {
        int radix;
        size_t rounds, slots;
    } example[] = {{2, 3, 4}, {3, 4, 3}, {4, 4, 3}, {7, 7, 0}, {8, 7, 0}};

    for (size_t i = 0; i < sizeof example / sizeof example[0]; i++) {
        const rota_params params = {.radix = example[i].radix};
        const rota_topo topo = {.P = 8, .n_nodes = 1};
        rota_sched s;
        rota_counts got;

        if (rota_sched_init(&s, 8, 3) != MPI_SUCCESS ||
            rota_algo_parlogna.build(&topo, &params, &s) != MPI_SUCCESS)
            return fail(&rota_algo_parlogna, 8, params.radix, "build");
        rota_sched_count(&s, NULL, &got);
        const size_t slots = s.n_slots;
        rota_sched_free(&s);
        if (got.messages != example[i].rounds || slots != example[i].slots)
            return fail(&rota_algo_parlogna, 8, params.radix, "K or B");
    }
    return true;
}

int main(int argc, char *argv[])
{
    bool quick = test_is_quick() || test_is_slow();

    for (int i = 1; i < argc; i++) {
        quick = quick || strcmp(argv[i], "--quick") == 0;
        print_times = print_times || strcmp(argv[i], "--times") == 0;
    }
    if (!check_examples())
        return EXIT_FAILURE;
    for (int i = 0; rota_algo_table[i]; i++) {
        if (!check_sizes(rota_algo_table[i], quick))
            return EXIT_FAILURE;
        printf("%s: well\n", rota_algo_table[i]->name);
    }
    return EXIT_SUCCESS;
}
