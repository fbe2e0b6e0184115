/* exchange.c - see exchange.h.
 *
 * Both forms take two steps: everybody tells everybody how many pairs will
 * come, and then sends them. The note rides along with the counts, so that
 * finding the end of the loop costs no reduction of its own. */
#include "exchange.h"

#include "must.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* What both forms send first. */
static void fill_tell(exchange *x)
{
    for (int d = 0; d < x->P; d++) {
        x->tell[2 * d] = (uint64_t)x->sent[d];
        x->tell[2 * d + 1] = x->note;
    }
}

/* Lay the blocks that were announced out one behind the other. */
static void plan_receive(exchange *x)
{
    size_t n = 0;

    x->note_sum = 0;
    for (int s = 0; s < x->P; s++) {
        x->got[s] = (int)x->told[2 * s];
        x->got_at[s] = (int)n;
        n += (size_t)x->got[s];
        if (n > INT_MAX)
            die("more than %d pairs to receive at once; use more ranks",
                INT_MAX);
        x->note_sum += x->told[2 * s + 1];
    }
    u64_vec_reserve(&x->received, n);
    x->received.n = n;
}

static void mpi_open(exchange *x)
{
    (void)x; /* nothing is kept from one exchange to the next */
}

static void mpi_run(exchange *x)
{
    fill_tell(x);
    MUST(MPI_Alltoall(x->tell, 2, MPI_UINT64_T, x->told, 2, MPI_UINT64_T,
                      x->comm));
    plan_receive(x);
    if (x->note_sum == 0)
        return;
    MUST(MPI_Alltoallv(x->send.at, x->sent, x->sent_at, MPI_UINT64_T,
                       x->received.at, x->got, x->got_at, MPI_UINT64_T,
                       x->comm));
}

static void mpi_close(exchange *x)
{
    (void)x;
}

static void rota_open(exchange *x)
{
    MUST(rota_alltoall_init(x->tell, 2, MPI_UINT64_T, x->told, 2, MPI_UINT64_T,
                            x->comm, MPI_INFO_NULL, &x->tell_plan));
    MUST(rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_UINT64_T, x->comm,
                                     MPI_INFO_NULL, &x->pairs_plan));
}

static void rota_run(exchange *x)
{
    fill_tell(x);
    MUST(rota_start(x->tell_plan));
    MUST(rota_wait(x->tell_plan));
    plan_receive(x);
    if (x->note_sum == 0)
        return;
    MUST(rota_alltoallv_start(x->pairs_plan, x->send.at, x->sent, x->sent_at,
                              x->received.at, x->got, x->got_at));
    MUST(rota_wait(x->pairs_plan));
}

static void rota_close(exchange *x)
{
    MUST(rota_plan_free(&x->tell_plan));
    MUST(rota_plan_free(&x->pairs_plan));
}

static const exchange_form mpi_form = {"mpi", mpi_open, mpi_run, mpi_close};
static const exchange_form rota_form = {"rota", rota_open, rota_run,
                                        rota_close};

const exchange_form *const exchange_forms[] = {&mpi_form, &rota_form, NULL};

void exchange_open(exchange *x, const exchange_form *form, MPI_Comm comm)
{
    size_t n;

    *x = (exchange){.form = form, .comm = comm};
    MUST(MPI_Comm_size(comm, &x->P));
    MUST(MPI_Comm_rank(comm, &x->me));
    n = (size_t)x->P;
    x->sent = must_realloc(NULL, n, sizeof(int));
    x->sent_at = must_realloc(NULL, n, sizeof(int));
    x->got = must_realloc(NULL, n, sizeof(int));
    x->got_at = must_realloc(NULL, n, sizeof(int));
    x->tell = must_realloc(NULL, 2 * n, sizeof(uint64_t));
    x->told = must_realloc(NULL, 2 * n, sizeof(uint64_t));
    u64_vec_reserve(&x->send, 1); /* so that no buffer is ever NULL */
    u64_vec_reserve(&x->received, 1);
    form->open(x);
}

static void pack(exchange *x, const u64_vec block[])
{
    size_t n = 0;

    for (int d = 0; d < x->P; d++)
        n += block[d].n;
    if (n > INT_MAX)
        die("%zu pairs to send at once are more than %d; use more ranks", n,
            INT_MAX);
    u64_vec_reserve(&x->send, n);
    x->send.n = 0;
    for (int d = 0; d < x->P; d++) {
        x->sent[d] = (int)block[d].n;
        x->sent_at[d] = (int)x->send.n;
        if (block[d].n > 0)
            memcpy(x->send.at + x->send.n, block[d].at,
                   block[d].n * sizeof(uint64_t));
        x->send.n += block[d].n;
    }
}

uint64_t exchange_run(exchange *x, const u64_vec block[], uint64_t note)
{
    double began;

    pack(x, block);
    x->note = note;
    began = MPI_Wtime();
    x->form->run(x);
    x->seconds += MPI_Wtime() - began;
    x->bytes += (x->send.n - block[x->me].n) * sizeof(uint64_t) +
                (size_t)(x->P - 1) * 2 * sizeof(uint64_t);
    return x->note_sum;
}

void exchange_close(exchange *x)
{
    x->form->close(x);
    free(x->sent);
    free(x->sent_at);
    free(x->got);
    free(x->got_at);
    free(x->tell);
    free(x->told);
    u64_vec_free(&x->send);
    u64_vec_free(&x->received);
    *x = (exchange){0};
}
