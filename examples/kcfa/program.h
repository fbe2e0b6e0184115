/* program.h - programs in continuation-passing style, to be analysed.
 *
 * A program is made of lambda expressions, and the body of each is one call, of
 * variables and of lambda expressions written where they stand:
 *
 *     (lambda (x k) (f x (lambda (r) (k r))))
 *
 * An abstract environment gives each variable in sight a contour, the labels of
 * the last k calls at the time it was bound; the parameters of one lambda have
 * one contour in common. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Longest text that program_generate puts into error. */
#define PROGRAM_ERROR_BYTES 256

/* Calls that may be told apart. */
#define PROGRAM_MAX_K 64

/* Most contours in an environment. */
#define MAX_ENV 128

typedef struct {
    int is_lambda;
    int id; /* of the variable or of the lambda */
} operand;

typedef struct {
    int n_params, first_param; /* variables with numbers from there on */
    int label;                 /* of the call, from 1 on; 0: there is none */
    int n_operands;            /* the first one is called with the others */
    operand *op;
    /* Lambdas whose parameters occur in it or deeper, in ascending order, and
     * then itself. An environment has a contour for each of them. */
    int n_env;
    int *env;
} lambda;

typedef struct {
    lambda *at; /* [n] the first one is the program */
    int n;
    int *binder; /* [n_variables] the lambda whose parameter it is */
    int n_variables, n_calls, max_env;
    int innermost; /* the lambda that worst-case programs enter most */
    int k;         /* labels in a contour */
    int label_bits;
} program;

/* Generate a program for an analysis with contours of k labels.
 *
 * worst:DEPTH:CALLS  DEPTH functions, each in the body of the one before, each
 *                    called in CALLS places (Van Horn and Mairson, "Deciding
 *                    kCFA is complete for EXPTIME", ICFP 2008): with k > 0
 *                    the innermost one has CALLS^DEPTH environments or more.
 *
 * k is from 0 to PROGRAM_MAX_K. Returns 0, or -1 and a text in error. */
int program_generate(const char *spec, int k, program *p,
                     char error[PROGRAM_ERROR_BYTES]);
void program_free(program *p);

/* Where the contour of lambda binder stands in environments of lambda l. */
int env_position(const program *p, int l, int binder);

/* The contour of what a call with this label binds, made at that time. */
static inline uint64_t contour_push(const program *p, uint64_t time, int label)
{
    const int bits = p->k * p->label_bits;

    if (p->k == 0)
        return 0;
    time = time << p->label_bits | (uint64_t)label;
    return bits < 64 ? time & ((UINT64_C(1) << bits) - 1) : time;
}

#endif
