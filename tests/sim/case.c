/* case.c - see case.h. */
#include "sim/case.h"
#include "common/fakempi.h"

#include <stdio.h>
#include <string.h>

enum { PLANS = 2, TEXT = 300 };

uint64_t sim_stir;

void sim_draw_form(spec *c)
{
    const uint64_t draw = mix(c->seed, 2);

    c->metadata = (rota_metadata)(draw % ROTA_N_METADATA);
    c->bound = (bound)(draw / 4 % N_BOUNDS);
    c->lies = draw / 16 % 2 == 0;
    c->params.by_datatype = draw / 32 % 2 == 0;
    c->shape = (shape)(draw / 64 % N_SHAPES);
    c->parts = mix(c->seed, 5) % 4 == 0;
}

/* The second plan of a case. */
static spec draw_spec(const spec *first)
{
    spec c = *first;
    int n_algos = 0;

    while (rota_algo_table[n_algos])
        n_algos++;
    c.seed = mix(first->seed, 99);
    c.algo = rota_algo_table[c.seed % (uint64_t)n_algos];
    c.pattern = (pattern)(c.seed / 64 % N_PATTERNS);
    c.mode = (mode)(c.seed / 4096 % N_MODES);
    c.typed = c.seed / 65536 % 4 == 0;
    c.params.batch = 1 + (int)(c.seed / 262144 % (uint64_t)c.P);
    c.params.radix = 2 + (int)(mix(c.seed, 1) % (uint64_t)c.P);
    c.params.leaders = 1 + (int)(mix(c.seed, 3) % (uint64_t)c.P);
    c.params.pieces = 1 + (int)(mix(c.seed, 4) % 4);
    if (c.params.radix > c.P)
        c.params.radix = 2;
    sim_draw_form(&c);
    return c;
}

/* Which plan of a case was at fault. */
static bool blame(int i, const spec *c, char *text)
{
    char what[TEXT];

    memcpy(what, text, sizeof what);
    snprintf(text, TEXT,
             "plan %d (%s, %s, %s, batch %d, radix %d, leaders %d, pieces %d, "
             "%s, %s, bound %s%s%s%s%s): %.100s",
             i, c->algo->name, pattern_name[c->pattern], shape_name[c->shape],
             c->params.batch, c->params.radix, c->params.leaders,
             c->params.pieces, mode_name[c->mode], metadata_name[c->metadata],
             bound_name[c->bound], c->lies ? ", lies" : "",
             c->params.by_datatype ? ", by datatype" : "",
             c->typed ? ", typed" : "", c->parts ? ", parts" : "", what);
    return false;
}

/* Start what may be started, look at what has finished. left: ranks' runs
 * still to come. */
static bool tend(sim_plan *plan, int rank, uint64_t chance, int *left,
                 char *text)
{
    rank_plan *const r = &plan->rank[rank];

    if (r->running && !rota_exec_is_active(&r->x)) {
        --*left;
        return sim_plan_finish(plan, rank, text);
    }
    if (!r->running && r->runs < RUNS && chance % 4 == 0)
        return sim_plan_start(plan, rank, text);
    return !r->running || sim_plan_go_on(plan, rank, chance, text);
}

static bool run_plans(sim_plan plan[], uint64_t seed, char *text)
{
    const int P = plan[0].spec.P;
    int left = PLANS * P * RUNS;
    bool good = true;

    for (uint64_t sweep = 0; left > 0 && good; sweep++) {
        const uint64_t first = mix(seed, sweep) % (uint64_t)(PLANS * P);
        for (int i = 0; i < PLANS * P && good; i++) {
            const int at = (int)((first + (uint64_t)i) % (uint64_t)(PLANS * P));
            good = tend(&plan[at % PLANS], at / PLANS,
                        mix(seed + sweep, (uint64_t)at), &left, text) ||
                   blame(at % PLANS, &plan[at % PLANS].spec, text);
        }
        if (good && sweep > 1000000) {
            snprintf(text, TEXT, "a run hangs");
            good = false;
        }
        bool done;
        rota_exec_test(&plan[0].rank[0].x, &done);
    }
    return good;
}

/* Did a run make no request, and post what the schedule says? */
static bool counts_right(const sim_plan *plan, const fakempi_counts *before,
                         char *text)
{
    const fakempi_counts now = sim_plan_counts(plan);
    const size_t sent = now.sent - before->sent;
    const size_t posted = now.posts - before->posts;

    const bool rebase = plan->spec.mode == MODE_REBASE;

    if (now.inits != before->inits &&
        !(rebase && plan->spec.params.by_datatype)) {
        snprintf(text, TEXT, "runs made persistent requests");
        return false;
    }
    if (sent != plan->messages) {
        snprintf(text, TEXT, "%zu messages sent, %zu wanted", sent,
                 plan->messages);
        return false;
    }
    if (sim_plan_is_persistent(plan) && !rebase && posted > 0) {
        snprintf(text, TEXT, "%zu ordinary messages in a fixed plan", posted);
        return false;
    }
    return true;
}

static bool check_traffic(const sim_plan plan[], const fakempi_counts before[],
                          char *text)
{
    if (fakempi_fault()) {
        snprintf(text, TEXT, "%s", fakempi_fault());
        return false;
    }
    if (fakempi_pending() > 0) {
        snprintf(text, TEXT, "%zu messages were never received",
                 fakempi_pending());
        return false;
    }
    for (int i = 0; i < PLANS; i++)
        if (!counts_right(&plan[i], &before[i], text))
            return blame(i, &plan[i].spec, text);
    return true;
}

static void print_case(const spec *c, const char *text)
{
    printf(
        "FAILED: --algo %s --ranks %d --shape %s --pattern %s --mode %s "
        "--typed %d --parts %d --batch %d --radix %d --leaders %d --pieces %d "
        "--metadata %s --bound %s --lies %d --datatype %d --nodes %d "
        "--scale %d "
        "--seed %llu\n    %s\n",
        c->algo->name, c->P, shape_name[c->shape], pattern_name[c->pattern],
        mode_name[c->mode], c->typed, c->parts, c->params.batch,
        c->params.radix, c->params.leaders, c->params.pieces,
        metadata_name[c->metadata], bound_name[c->bound], c->lies,
        c->params.by_datatype, c->nodes, c->scale, (unsigned long long)c->seed,
        text);
}

bool sim_case_run(const spec *first)
{
    const spec specs[PLANS] = {*first, draw_spec(first)};
    sim_plan plan[PLANS] = {0};
    fakempi_counts before[PLANS];
    char text[TEXT] = "";
    bool good = true;
    int made = 0;

    fakempi_reset(first->P, first->seed + sim_stir);
    for (; made < PLANS && good; made++)
        good = sim_plan_make(&plan[made], &specs[made], made, text) ||
               blame(made, &specs[made], text);
    for (int i = 0; i < PLANS; i++)
        before[i] = sim_plan_counts(&plan[i]);
    good = good && run_plans(plan, first->seed + sim_stir, text) &&
           check_traffic(plan, before, text);
    if (!good) {
        if (fakempi_fault())
            snprintf(text, TEXT, "%s", fakempi_fault());
        print_case(first, text);
        return false; /* executors may be active: the process ends */
    }
    size_t types = 0;
    for (int i = 0; i < made; i++) {
        types += plan[i].spec.typed ? 2 : 0;
        sim_plan_free(&plan[i]);
    }
    if (fakempi_requests() == 0 && fakempi_types() == types)
        return true;
    print_case(first, "requests or datatypes were not freed");
    return false;
}
