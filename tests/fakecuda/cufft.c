/* cufft.c - the functions of cuFFT that examples use, by FFTW in memory of the
 * fake driver. A plan is FFTW's of the moment: who changes what a transform reads
 * before the stream has got there finds a wrong result.
 */
#pragma GCC visibility push(default)
#include <cufft.h>
#pragma GCC visibility pop

#include "fakecuda.h"

#include <fftw3.h>
#include <stdlib.h>

enum { MOST_PLANS = 4096, MOST_AXES = 3 };

/* One side: element (i, j, k) of transform b is at
 * b * dist + ((i * embed[1] + j) * embed[2] + k) * stride. */
typedef struct side {
    int embed[MOST_AXES], stride, dist;
} side;

typedef struct transform {
    int rank, n[MOST_AXES], howmany;
    side in, out;
    CUstream stream;
} transform;

/* What a stream is to do. */
typedef struct run {
    transform plan;
    cufftDoubleComplex *in, *out;
    int sign;
} run;

static transform *plans[MOST_PLANS];

static side side_of(int rank, const int *embed, int stride, int dist)
{
    side s = {.stride = stride, .dist = dist};

    for (int i = 0; i < rank; i++)
        s.embed[i] = embed[i];
    return s;
}

static int is_there(cufftHandle plan)
{
    return plan >= 0 && plan < MOST_PLANS && plans[plan];
}

cufftResult cufftPlanMany(cufftHandle *plan, int rank, int *n, int *inembed,
                          int istride, int idist, int *onembed, int ostride,
                          int odist, cufftType type, int batch)
{
    int at = 0;

    while (at < MOST_PLANS && plans[at])
        at++;
    if (rank > MOST_AXES || at == MOST_PLANS || type != CUFFT_Z2Z || !inembed ||
        !onembed)
        return CUFFT_INVALID_VALUE;
    plans[at] = malloc(sizeof *plans[at]);
    if (!plans[at])
        return CUFFT_ALLOC_FAILED;
    *plans[at] = (transform){.rank = rank,
                             .howmany = batch,
                             .in = side_of(rank, inembed, istride, idist),
                             .out = side_of(rank, onembed, ostride, odist)};
    for (int i = 0; i < rank; i++)
        plans[at]->n[i] = n[i];
    *plan = at;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream)
{
    if (!is_there(plan))
        return CUFFT_INVALID_PLAN;
    plans[plan]->stream = stream;
    return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle plan)
{
    if (!is_there(plan))
        return CUFFT_INVALID_PLAN;
    free(plans[plan]);
    plans[plan] = NULL;
    return CUFFT_SUCCESS;
}

/* Where one side is, of which the last element must be there, too. */
static fftw_complex *place(const transform *t, const side *s, const void *p)
{
    size_t last = 0;

    for (int i = 0; i < t->rank; i++)
        last = last * (size_t)s->embed[i] + (size_t)t->n[i] - 1;
    last =
        last * (size_t)s->stride + (size_t)(t->howmany - 1) * (size_t)s->dist;
    return fakecuda_place(p, (last + 1) * sizeof(fftw_complex));
}

static void transform_all(void *state)
{
    run *const r = state;
    const transform *const t = &r->plan;
    fftw_plan plan = fftw_plan_many_dft(
        t->rank, t->n, t->howmany, place(t, &t->in, r->in), t->in.embed,
        t->in.stride, t->in.dist, place(t, &t->out, r->out), t->out.embed,
        t->out.stride, t->out.dist, r->sign, FFTW_ESTIMATE);

    fftw_execute(plan);
    fftw_destroy_plan(plan);
    free(r);
}

cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex *in,
                         cufftDoubleComplex *out, int direction)
{
    run *const r = malloc(sizeof *r);

    if (!is_there(plan) || !plans[plan]->stream || !r) {
        free(r);
        return CUFFT_INVALID_PLAN;
    }
    *r = (run){*plans[plan], in, out,
               direction == CUFFT_FORWARD ? FFTW_FORWARD : FFTW_BACKWARD};
    fakecuda_call(plans[plan]->stream, transform_all, r);
    return CUFFT_SUCCESS;
}
