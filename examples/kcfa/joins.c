/* joins.c - see joins.h. */
#include "joins.h"

#include "must.h"

#include <stdlib.h>
#include <string.h>

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

/* What operand o, of the body of l in env, gives to a parameter. */
static void pass(joins *a, int l, const uint64_t env[], operand o, int param,
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
    a->found(a->to, a->fresh);
}

/* The body of l in env calls the closure of lambda callee with captured; a call
 * with another number of arguments goes nowhere. */
static void enter(joins *a, int l, const uint64_t env[], int callee,
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
    a->found(a->to, a->fresh);
}

/* A call and a value, or a flow and a value, of one address. */
static void join(joins *a, const uint64_t *fact, const uint64_t *value)
{
    if (fact_kind(fact) == FACT_CALL) {
        enter(a, fact_id(fact), fact + FACT_HEAD, fact_id(value),
              value + FACT_HEAD);
        return;
    }
    memcpy(a->fresh, value, a->width * sizeof value[0]);
    a->fresh[0] = fact_head(FACT_VALUE, fact_id(fact), fact_id(value));
    a->fresh[1] = fact[FACT_HEAD];
    a->found(a->to, a->fresh);
}

/* Join fact i with those of a kind at its address that were there before it, so
 * that of two new ones the later is joined with the earlier and not again. */
static void join_older(joins *a, size_t i, int kind)
{
    const uint64_t *fact = fact_at(a->facts, i);
    size_t other = fact_set_find(a->facts, kind, fact_variable(fact), fact[1]);

    for (; other != FACT_NONE; other = a->facts->older[other]) {
        if (other > i)
            continue;
        if (kind == FACT_VALUE)
            join(a, fact, fact_at(a->facts, other));
        else
            join(a, fact_at(a->facts, other), fact);
    }
}

/* A state whose body calls a lambda that is written there. */
static void enter_literal(joins *a, const uint64_t *fact)
{
    const int l = fact_id(fact), callee = a->p->at[l].op[0].id;
    uint64_t captured[MAX_ENV];

    capture(a->p, l, fact + FACT_HEAD, callee, captured);
    enter(a, l, fact + FACT_HEAD, callee, captured);
}

void join_new(joins *a, size_t i)
{
    const uint64_t *fact = fact_at(a->facts, i);

    if (fact_kind(fact) == FACT_VALUE) {
        join_older(a, i, FACT_CALL);
        join_older(a, i, FACT_FLOW);
    } else if (fact_variable(fact) < a->p->n_variables) {
        join_older(a, i, FACT_VALUE);
    } else if (a->p->at[fact_id(fact)].n_operands > 0) {
        enter_literal(a, fact);
    }
}

void joins_make(joins *a, const program *p, fact_set *facts,
                void (*found)(void *to, const uint64_t *fact), void *to)
{
    *a = (joins){.p = p,
                 .facts = facts,
                 .width = analysis_width(p),
                 .found = found,
                 .to = to};
    a->fresh = must_realloc(NULL, a->width, sizeof a->fresh[0]);
}

void joins_free(joins *a)
{
    free(a->fresh);
    *a = (joins){0};
}
