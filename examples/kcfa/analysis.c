/* analysis.c - see analysis.h. */
#include "analysis.h"

#include "must.h"

#include <string.h>

typedef struct {
    joins j;
    loop l;
    fact_set facts; /* this rank's; from first_new on they are the delta */
    size_t first_new;
} analysis;

/* What was found is sent to its owner. */
static void emit(void *to, const uint64_t *fact)
{
    analysis *a = to;
    const uint64_t hash = address_hash(fact) >> 32;
    const int owner = (int)(hash % (uint64_t)a->l.x->P);

    memcpy(exchange_add(a->l.x, owner, a->j.width), fact,
           a->j.width * sizeof fact[0]);
}

/* One iteration; 0 if there is none left. */
static int iterate(analysis *a)
{
    const exchange *x = a->l.x;
    const size_t n_new = a->facts.n - a->first_new;

    if (!loop_step_begin(&a->l))
        return 0;
    for (size_t i = a->first_new; i < a->facts.n; i++)
        join_new(&a->j, i);
    if (!loop_exchange(&a->l, n_new))
        return 0;
    a->first_new = a->facts.n;
    for (int s = 0; s < x->P; s++) {
        const uint64_t *fact = x->came[s];

        for (size_t i = 0; i < (size_t)x->got[s]; i += a->j.width)
            (void)fact_set_add(&a->facts, fact + i);
    }
    loop_step_end(&a->l);
    return 1;
}

/* The program begins with nothing bound and nothing called. */
static void add_first_state(analysis *a)
{
    const uint64_t env[1] = {0};

    state_fact(a->j.p, 0, env, a->j.fresh);
    if (a->l.x->me == 0)
        (void)fact_set_add(&a->facts, a->j.fresh);
}

analysis_counts analysis_count(const program *p, const fact_set *facts)
{
    analysis_counts counts = {0};

    for (size_t i = 0; i < facts->n; i++) {
        const uint64_t *fact = fact_at(facts, i);
        const int is_state = fact_kind(fact) == FACT_CALL;

        if (fact_kind(fact) == FACT_FLOW)
            continue;
        counts.values += (uint64_t)!is_state;
        counts.states += (uint64_t)is_state;
        counts.innermost += is_state && fact_id(fact) == p->innermost;
        counts.fingerprint += fact_hash(fact, facts->width);
    }
    return counts;
}

void analysis_run(const program *p, loop_entrant *e, loop_result *result,
                  analysis_counts *counts)
{
    analysis a = {.first_new = 0};

    loop_open(&a.l, e);
    fact_set_make(&a.facts, analysis_width(p));
    joins_make(&a.j, p, &a.facts, emit, &a);
    add_first_state(&a);
    while (iterate(&a))
        ;
    *counts = analysis_count(p, &a.facts);
    loop_close(&a.l, a.facts.n, counts->fingerprint, result);
    MUST(MPI_Allreduce(MPI_IN_PLACE, counts, 4, MPI_UINT64_T, MPI_SUM,
                       a.l.x->comm));
    joins_free(&a.j);
    fact_set_free(&a.facts);
}
