/* reference.c - k-CFA on one rank, without deltas; see reference.h. */
#include "reference.h"

#include <string.h>

typedef struct {
    const program *p;
    fact_set found; /* values and states; there are no flows */
    int changed;
} search;

/* A closure. */
typedef struct {
    int lambda;
    uint64_t env[MAX_ENV];
} closure;

static void add(search *s, const uint64_t *fact)
{
    if (fact_set_add(&s->found, fact))
        s->changed = 1;
}

static void bind(search *s, int param, uint64_t contour, const closure *c)
{
    uint64_t fact[FACT_HEAD + MAX_ENV] = {
        fact_head(FACT_VALUE, param, c->lambda), contour};

    memcpy(fact + FACT_HEAD, c->env,
           (size_t)(s->p->at[c->lambda].n_env - 1) * sizeof fact[0]);
    add(s, fact);
}

/* The i-th closure that operand o of the body of l may be in env; 0 if there
 * are not so many. Looks through all that is known. */
static int operand_value(const search *s, int l, const uint64_t env[],
                         operand o, size_t i, closure *c)
{
    uint64_t contour;

    memset(c, 0, sizeof *c);
    if (o.is_lambda) {
        c->lambda = o.id;
        capture(s->p, l, env, o.id, c->env);
        return i == 0;
    }
    contour = env[env_position(s->p, l, s->p->binder[o.id])];
    for (size_t f = 0; f < s->found.n; f++) {
        const uint64_t *fact = fact_at(&s->found, f);

        if (fact_kind(fact) != FACT_VALUE || fact_variable(fact) != o.id ||
            fact[1] != contour || i-- > 0)
            continue;
        c->lambda = fact_id(fact);
        memcpy(c->env, fact + FACT_HEAD,
               (s->found.width - FACT_HEAD) * sizeof fact[0]);
        return 1;
    }
    return 0;
}

static void apply(search *s, int l, const uint64_t env[], const closure *f)
{
    const lambda *from = &s->p->at[l], *to = &s->p->at[f->lambda];
    const uint64_t contour =
        contour_push(s->p, env[from->n_env - 1], from->label);
    uint64_t inside[MAX_ENV], state[FACT_HEAD + MAX_ENV];
    closure c;

    if (from->n_operands - 1 != to->n_params)
        return;
    memcpy(inside, f->env, sizeof inside);
    inside[to->n_env - 1] = contour;
    state_fact(s->p, f->lambda, inside, state);
    add(s, state);
    for (int a = 1; a < from->n_operands; a++)
        for (size_t i = 0; operand_value(s, l, env, from->op[a], i, &c); i++)
            bind(s, to->first_param + a - 1, contour, &c);
}

static void visit(search *s, const uint64_t *state)
{
    const int l = fact_id(state);
    uint64_t env[MAX_ENV];
    closure f;

    /* The set may move its facts. */
    memcpy(env, state + FACT_HEAD,
           (s->found.width - FACT_HEAD) * sizeof env[0]);
    if (s->p->at[l].n_operands == 0)
        return;
    for (size_t i = 0; operand_value(s, l, env, s->p->at[l].op[0], i, &f); i++)
        apply(s, l, env, &f);
}

analysis_counts reference_analysis(const program *p)
{
    const uint64_t nothing_bound[1] = {0};
    uint64_t first[FACT_HEAD + MAX_ENV];
    search s = {.p = p};
    analysis_counts counts;

    fact_set_make(&s.found, analysis_width(p));
    state_fact(p, 0, nothing_bound, first);
    add(&s, first);
    while (s.changed) {
        s.changed = 0;
        for (size_t i = 0; i < s.found.n; i++)
            if (fact_kind(fact_at(&s.found, i)) == FACT_CALL)
                visit(&s, fact_at(&s.found, i));
    }
    counts = analysis_count(p, &s.found);
    fact_set_free(&s.found);
    return counts;
}
