/* analysis.c - see analysis.h. */
#include "analysis.h"

#include "must.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const program *p;
    loop l;
    size_t width;
    fact_set facts; /* this rank's; from first_new on they are the delta */
    size_t first_new;
    u64_vec *block;  /* [P] facts found, by owner */
    uint64_t *fresh; /* [width] the fact being made */
} analysis;

size_t analysis_width(const program *p)
{
    return FACT_HEAD + (size_t)p->max_env;
}

void capture(const program *p, int l, const uint64_t env[], int inner,
             uint64_t *to)
{
    const lambda *at = &p->at[inner];

    for (int i = 0; i + 1 < at->n_env; i++)
        to[i] = env[env_position(p, l, at->env[i])];
}

void state_fact(const program *p, int l, const uint64_t env[], uint64_t *fact)
{
    const lambda *at = &p->at[l];
    const uint64_t time = env[at->n_env - 1];

    memset(fact, 0, analysis_width(p) * sizeof fact[0]);
    memcpy(fact + FACT_HEAD, env, (size_t)at->n_env * sizeof env[0]);
    if (at->n_operands > 0 && !at->op[0].is_lambda) {
        const int v = at->op[0].id;

        fact[0] = fact_head(FACT_CALL, v, l);
        fact[1] = env[env_position(p, l, p->binder[v])];
    } else {
        fact[0] = fact_head(FACT_CALL, p->n_variables + l, l);
        fact[1] = time;
    }
}

/* Put a->fresh into the block of its owner. */
static void emit(analysis *a)
{
    const uint64_t hash = address_hash(a->fresh) >> 32;
    u64_vec *to = &a->block[hash % (uint64_t)a->l.x->P];

    u64_vec_reserve(to, to->n + a->width);
    memcpy(to->at + to->n, a->fresh, a->width * sizeof a->fresh[0]);
    to->n += a->width;
}

/* What operand o, of the body of l in env, gives to a parameter. */
static void pass(analysis *a, int l, const uint64_t env[], operand o, int param,
                 uint64_t contour)
{
    uint64_t *const fact = a->fresh;

    memset(fact, 0, a->width * sizeof fact[0]);
    if (o.is_lambda) {
        fact[0] = fact_head(FACT_VALUE, param, o.id);
        fact[1] = contour;
        capture(a->p, l, env, o.id, fact + FACT_HEAD);
    } else {
        fact[0] = fact_head(FACT_FLOW, o.id, param);
        fact[1] = env[env_position(a->p, l, a->p->binder[o.id])];
        fact[FACT_HEAD] = contour;
    }
    emit(a);
}

/* The body of l in env calls the closure of lambda callee with captured; a call
 * with another number of arguments goes nowhere. */
static void enter(analysis *a, int l, const uint64_t env[], int callee,
                  const uint64_t captured[])
{
    const lambda *from = &a->p->at[l], *to = &a->p->at[callee];
    const uint64_t contour =
        contour_push(a->p, env[from->n_env - 1], from->label);
    uint64_t inside[FACT_HEAD + MAX_ENV];

    if (from->n_operands - 1 != to->n_params)
        return;
    for (int i = 0; i < to->n_params; i++)
        pass(a, l, env, from->op[i + 1], to->first_param + i, contour);
    memcpy(inside, captured, (size_t)(to->n_env - 1) * sizeof inside[0]);
    inside[to->n_env - 1] = contour;
    state_fact(a->p, callee, inside, a->fresh);
    emit(a);
}

/* A call and a value, or a flow and a value, of one address. */
static void join(analysis *a, const uint64_t *fact, const uint64_t *value)
{
    if (fact_kind(fact) == FACT_CALL) {
        enter(a, fact_id(fact), fact + FACT_HEAD, fact_id(value),
              value + FACT_HEAD);
        return;
    }
    memcpy(a->fresh, value, a->width * sizeof value[0]);
    a->fresh[0] = fact_head(FACT_VALUE, fact_id(fact), fact_id(value));
    a->fresh[1] = fact[FACT_HEAD];
    emit(a);
}

/* Join fact i with those of a kind at its address that were there before it, so
 * that of two new ones the later is joined with the earlier and not again. */
static void join_older(analysis *a, size_t i, int kind)
{
    const uint64_t *fact = fact_at(&a->facts, i);
    size_t other = fact_set_find(&a->facts, kind, fact_variable(fact), fact[1]);

    for (; other != FACT_NONE; other = a->facts.older[other]) {
        if (other > i)
            continue;
        if (kind == FACT_VALUE)
            join(a, fact, fact_at(&a->facts, other));
        else
            join(a, fact_at(&a->facts, other), fact);
    }
}

/* A state whose body calls a lambda that is written there. */
static void enter_literal(analysis *a, const uint64_t *fact)
{
    const int l = fact_id(fact), callee = a->p->at[l].op[0].id;
    uint64_t captured[MAX_ENV];

    capture(a->p, l, fact + FACT_HEAD, callee, captured);
    enter(a, l, fact + FACT_HEAD, callee, captured);
}

static void join_new(analysis *a, size_t i)
{
    const uint64_t *fact = fact_at(&a->facts, i);

    if (fact_kind(fact) == FACT_VALUE) {
        join_older(a, i, FACT_CALL);
        join_older(a, i, FACT_FLOW);
    } else if (fact_variable(fact) < a->p->n_variables) {
        join_older(a, i, FACT_VALUE);
    } else if (a->p->at[fact_id(fact)].n_operands > 0) {
        enter_literal(a, fact);
    }
}

/* One iteration; 0 if there is none left. */
static int iterate(analysis *a)
{
    const exchange *x = a->l.x;
    const size_t n_new = a->facts.n - a->first_new;

    if (!loop_step_begin(&a->l))
        return 0;
    for (int d = 0; d < x->P; d++)
        a->block[d].n = 0;
    for (size_t i = a->first_new; i < a->facts.n; i++)
        join_new(a, i);
    if (!loop_exchange(&a->l, a->block, n_new))
        return 0;
    a->first_new = a->facts.n;
    for (int s = 0; s < x->P; s++)
        for (size_t i = 0; i < (size_t)x->got[s]; i += a->width)
            (void)fact_set_add(&a->facts, x->came + x->got_at[s] + i);
    loop_step_end(&a->l);
    return 1;
}

/* The program begins with nothing bound and nothing called. */
static void add_first_state(analysis *a)
{
    const uint64_t env[1] = {0};

    state_fact(a->p, 0, env, a->fresh);
    if (a->l.x->me == 0)
        (void)fact_set_add(&a->facts, a->fresh);
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
    analysis a = {.p = p, .width = analysis_width(p)};

    loop_open(&a.l, e);
    fact_set_make(&a.facts, a.width);
    a.fresh = must_realloc(NULL, a.width, sizeof a.fresh[0]);
    a.block = must_realloc(NULL, (size_t)a.l.x->P, sizeof a.block[0]);
    for (int d = 0; d < a.l.x->P; d++)
        a.block[d] = (u64_vec){0};
    add_first_state(&a);
    while (iterate(&a))
        ;
    *counts = analysis_count(p, &a.facts);
    for (int d = 0; d < a.l.x->P; d++)
        u64_vec_free(&a.block[d]);
    loop_close(&a.l, a.facts.n, counts->fingerprint, result);
    MUST(MPI_Allreduce(MPI_IN_PLACE, counts, 4, MPI_UINT64_T, MPI_SUM,
                       a.l.x->comm));
    free(a.block);
    free(a.fresh);
    fact_set_free(&a.facts);
}
