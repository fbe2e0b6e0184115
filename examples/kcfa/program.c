/* program.c - see program.h. */
#include "program.h"

#include "must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bounds of what can be asked for: the largest programs have 64 x 67 calls. */
enum { MAX_DEPTH = 64, MAX_CALLS = 64 };

static const operand nothing = {0, -1};

/* A new lambda without body; the parameters are new variables. */
static int add_lambda(program *p, int n_params)
{
    const int l = p->n++;
    const size_t n_variables = (size_t)(p->n_variables + n_params);

    p->at = must_realloc(p->at, (size_t)p->n, sizeof p->at[0]);
    p->at[l] = (lambda){.n_params = n_params, .first_param = p->n_variables};
    p->binder = must_realloc(p->binder, n_variables, sizeof p->binder[0]);
    for (int i = 0; i < n_params; i++)
        p->binder[p->n_variables++] = l;
    return l;
}

static operand param(const program *p, int l, int i)
{
    return (operand){0, p->at[l].first_param + i};
}

static operand literal(int l)
{
    return (operand){1, l};
}

/* Make the body of l a call. */
static void set_call(program *p, int l, int n, const operand op[])
{
    p->at[l].label = ++p->n_calls;
    p->at[l].n_operands = n;
    p->at[l].op = must_realloc(NULL, (size_t)n, sizeof op[0]);
    memcpy(p->at[l].op, op, (size_t)n * sizeof op[0]);
}

/* (next (lambda (z) (z x1 ... xn))) as the body of l: a closure over all. */
static void close_over_all(program *p, int l, operand next, int depth,
                           const operand x[])
{
    const int z = add_lambda(p, 1);
    operand op[MAX_DEPTH + 1];

    set_call(p, l, 2, (operand[]){next, literal(z)});
    op[0] = param(p, z, 0);
    memcpy(op + 1, x, (size_t)depth * sizeof x[0]);
    set_call(p, z, depth + 1, op);
}

/* As the body of l, calls of f one after the other, each with a value of its
 * own; what the last one returns goes to next. */
static void call_often(program *p, int l, operand f, int calls, operand next)
{
    for (int c = 0; c < calls; c++) {
        const int value = add_lambda(p, 1), then = add_lambda(p, 1);

        set_call(p, l, 3, (operand[]){f, literal(value), literal(then)});
        l = then;
    }
    set_call(p, l, 2, (operand[]){next, param(p, l, 0)});
}

/* ((lambda (f) calls of f) (lambda (x k) the same one deeper)), and so on. */
static void generate(program *p, int depth, int calls)
{
    operand x[MAX_DEPTH], next = nothing;
    int l = add_lambda(p, 0);

    next = literal(add_lambda(p, 1)); /* the end: it calls nothing */
    for (int i = 0; i < depth; i++) {
        const int let = add_lambda(p, 1);
        const int function = add_lambda(p, 2);

        set_call(p, l, 2, (operand[]){literal(let), literal(function)});
        call_often(p, let, param(p, let, 0), calls, next);
        x[i] = param(p, function, 0);
        next = param(p, function, 1);
        l = function;
    }
    p->innermost = l;
    close_over_all(p, l, next, depth, x);
}

/* Mark the lambdas that operand o of lambda l needs an environment for. */
static void mark_needed(const program *p, operand o, char needed[])
{
    if (!o.is_lambda) {
        needed[p->binder[o.id]] = 1;
        return;
    }
    for (int i = 0; i + 1 < p->at[o.id].n_env; i++)
        needed[p->at[o.id].env[i]] = 1;
}

/* Those inside have higher numbers, so they are known when they are needed. */
static void find_environments(program *p)
{
    char *needed = must_realloc(NULL, (size_t)p->n, 1);

    for (int l = p->n - 1; l >= 0; l--) {
        lambda *const at = &p->at[l];

        memset(needed, 0, (size_t)p->n);
        for (int i = 0; i < at->n_operands; i++)
            mark_needed(p, at->op[i], needed);
        needed[l] = 0;
        at->env = must_realloc(NULL, (size_t)p->n, sizeof at->env[0]);
        for (int m = 0; m < p->n; m++)
            if (needed[m])
                at->env[at->n_env++] = m;
        at->env[at->n_env++] = l;
        at->env = must_realloc(at->env, (size_t)at->n_env, sizeof at->env[0]);
        if (at->n_env > p->max_env)
            p->max_env = at->n_env;
    }
    free(needed);
}

int env_position(const program *p, int l, int binder)
{
    int i = 0;

    while (p->at[l].env[i] != binder)
        i++;
    return i;
}

static int fail(program *p, char error[PROGRAM_ERROR_BYTES], const char *text)
{
    snprintf(error, PROGRAM_ERROR_BYTES, "%s", text);
    program_free(p);
    return -1;
}

int program_generate(const char *spec, int k, program *p,
                     char error[PROGRAM_ERROR_BYTES])
{
    char text[PROGRAM_ERROR_BYTES], rest;
    int depth, calls;

    *p = (program){0};
    if (sscanf(spec, "worst:%3d:%3d%c", &depth, &calls, &rest) != 2 ||
        depth < 1 || depth > MAX_DEPTH || calls < 1 || calls > MAX_CALLS) {
        snprintf(text, sizeof text,
                 "cannot generate \"%.100s\": expected worst:DEPTH:CALLS with "
                 "DEPTH in 1..%d and CALLS in 1..%d",
                 spec, MAX_DEPTH, MAX_CALLS);
        return fail(p, error, text);
    }
    generate(p, depth, calls);
    find_environments(p);
    p->k = k;
    p->label_bits = k < 4 ? 16 : 64 / p->k;
    if (p->label_bits < 16 && p->n_calls >= 1 << p->label_bits) {
        snprintf(text, sizeof text,
                 "%s has %d calls: with k = %d at most %d can be told apart",
                 spec, p->n_calls, p->k, (1 << p->label_bits) - 1);
        return fail(p, error, text);
    }
    return 0;
}

void program_free(program *p)
{
    for (int l = 0; l < p->n; l++) {
        free(p->at[l].op);
        free(p->at[l].env);
    }
    free(p->at);
    free(p->binder);
    *p = (program){0};
}
