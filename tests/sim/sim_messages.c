/* sim_messages.c - what it costs to learn sizes on the way, in messages that
 * are sent, against a fixed plan, which has learnt them before.
 *
 *     sim_messages [--quick]
 *
 * Of P ranks, every one sends K messages in a run of a fixed plan, whatever the
 * bytes, if no block is empty. Two-phase and combined forms send twice as many
 * where receive counts are unknown; where they are known, a message of a single
 * block that goes straight to its destination needs no other before it. The
 * fused form always sends K.
 */
#include "common/fakempi.h"
#include "common/quick.h"
#include "sim/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 300, MOST_SWEEPS = 1000000 };

/* Messages that all ranks send in one run, or 0 after telling why. */
static size_t count_run(const spec *c)
{
    char text[TEXT] = "a run hangs";
    sim_plan plan;
    size_t sent = 0;
    int left = c->P;

    fakempi_reset(c->P, 1);
    bool good = sim_plan_make(&plan, c, 0, text);
    const size_t before = good ? sim_plan_counts(&plan).sent : 0;
    for (int q = 0; q < c->P && good; q++)
        good = sim_plan_start(&plan, q, text);
    for (int n = 0; left > 0 && n < MOST_SWEEPS && good; n++) {
        bool done;
        rota_exec_test(&plan.rank[0].x, &done);
        for (int q = 0; q < c->P && good; q++)
            if (plan.rank[q].running && !rota_exec_is_active(&plan.rank[q].x)) {
                good = sim_plan_finish(&plan, q, text);
                left--;
            }
    }
    if (good && left == 0 && !fakempi_fault())
        sent = sim_plan_counts(&plan).sent - before;
    else
        printf("FAILED: %s, P %d, radix %d, %s: %s\n", c->algo->name, c->P,
               c->params.radix, metadata_name[c->metadata],
               fakempi_fault() ? fakempi_fault() : text);
    sim_plan_free(&plan);
    return sent;
}

/* Of one rank's schedule. */
typedef struct facts {
    size_t messages, direct, slots;
} facts;

static facts look_at(const rota_algo *algo, int P, int radix)
{
    const rota_params params = {.radix = radix};
    const rota_topo topo = {.P = P, .n_nodes = 1};
    facts f = {0};
    rota_sched s;

    if (rota_sched_init(&s, P, 0) != MPI_SUCCESS ||
        algo->build(&topo, &params, &s) != MPI_SUCCESS)
        abort();
    f.messages = s.msgs[ROTA_SEND].n;
    f.slots = s.n_slots;
    for (uint32_t m = 0; m < s.msgs[ROTA_SEND].n; m++)
        f.direct += rota_msg_is_direct(&s, ROTA_SEND, m);
    rota_sched_free(&s);
    return f;
}

static bool sends(spec c, mode m, rota_metadata metadata, size_t wanted)
{
    c.mode = m;
    c.metadata = metadata;
    const size_t sent = count_run(&c);
    if (sent == wanted * (size_t)c.P)
        return true;
    printf("FAILED: %s, P %d, radix %d, %s, %s: %zu messages, %zu wanted\n",
           c.algo->name, c.P, c.params.radix, mode_name[m],
           metadata_name[metadata], sent, wanted * (size_t)c.P);
    return false;
}

static bool check(const rota_algo *algo, int P, int radix)
{
    const spec c = {
        .algo = algo, .P = P, .params = {.radix = radix}, .pattern = ONE_BYTE};
    const facts f = look_at(algo, P, radix);
    const size_t K = f.messages;

    if (radix >= P && f.slots > 0) {
        printf("FAILED: P %d, radix %d uses scratch\n", P, radix);
        return false;
    }
    return sends(c, MODE_FIXED, ROTA_META_ONCE, K) &&
           sends(c, MODE_EXCHANGE, ROTA_META_TWO_PHASE, 2 * K) &&
           sends(c, MODE_EXCHANGE, ROTA_META_COMBINED, 2 * K) &&
           sends(c, MODE_EXCHANGE, ROTA_META_FUSED, K) &&
           sends(c, MODE_VARYING, ROTA_META_TWO_PHASE, 2 * K - f.direct) &&
           sends(c, MODE_VARYING, ROTA_META_COMBINED, 2 * K - f.direct) &&
           sends(c, MODE_VARYING, ROTA_META_FUSED, K);
}

int main(int argc, char *argv[])
{
    const bool quick = test_is_quick() || test_is_slow() ||
                       (argc > 1 && strcmp(argv[1], "--quick") == 0);
    const int step = quick ? 9 : 1;

    for (int P = 2; P <= 64; P += step) {
        const int radices[] = {2, 3, 4, 8, P / 2, P};
        for (size_t i = 0; i < sizeof radices / sizeof radices[0]; i++)
            if (radices[i] >= 2 && radices[i] <= P &&
                !check(&rota_algo_parlogna, P, radices[i]))
                return EXIT_FAILURE;
        /* [Fan25] algorithm 1, [Fan22] algorithm 1: two messages a round. */
        if (!check(&rota_algo_parlogna_published, P, 2) ||
            !check(&rota_algo_parlogna_published, P, P > 4 ? 5 : 2) ||
            !check(&rota_algo_two_phase_bruck, P, 2) ||
            !check(&rota_algo_sloav, P, 2))
            return EXIT_FAILURE;
    }
    puts("counted well");
    return EXIT_SUCCESS;
}
