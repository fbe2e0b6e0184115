/* exchange.c - see exchange.h.
 *
 * Forms three, mpi and rota tell everybody how many values will come, and then
 * send them. Form three sums the notes by a call of its own, as fixed-point loops
 * usually do; with mpi and rota the notes ride along with the counts. Form exchange
 * takes one step: the receiver finds out what comes, and Rota sums the notes on the
 * way. */
#include "exchange.h"

#include "must.h"
#include "rounds.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* What forms mpi and rota send first. */
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

    for (int s = 0; s < x->P; s++) {
        x->got[s] = (int)x->told[2 * s];
        x->got_at[s] = (int)n;
        n += (size_t)x->got[s];
        if (n > INT_MAX)
            die("more than %d values to receive at once; use more ranks",
                INT_MAX);
    }
    u64_vec_reserve(&x->received, n);
    x->came = x->received.at;
}

static uint64_t sum_of_notes(const exchange *x)
{
    uint64_t sum = 0;

    for (int s = 0; s < x->P; s++)
        sum += x->told[2 * s + 1];
    return sum;
}

static void mpi_open(exchange *x)
{
    (void)x; /* nothing is kept from one exchange to the next */
}

static void mpi_send(exchange *x)
{
    MUST(MPI_Alltoallv(x->send.at, x->sent, x->sent_at, MPI_UINT64_T,
                       x->received.at, x->got, x->got_at, MPI_UINT64_T,
                       x->comm));
}

static void mpi_run(exchange *x)
{
    fill_tell(x);
    MUST(MPI_Alltoall(x->tell, 2, MPI_UINT64_T, x->told, 2, MPI_UINT64_T,
                      x->comm));
    plan_receive(x);
    x->note_sum = sum_of_notes(x);
    if (x->note_sum > 0)
        mpi_send(x);
}

static void three_run(exchange *x)
{
    MUST(MPI_Alltoall(x->sent, 1, MPI_INT, x->got, 1, MPI_INT, x->comm));
    for (int s = 0; s < x->P; s++)
        x->told[2 * s] = (uint64_t)x->got[s];
    plan_receive(x);
    mpi_send(x);
    MUST(MPI_Allreduce(&x->note, &x->note_sum, 1, MPI_UINT64_T, MPI_SUM,
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
                                     MPI_INFO_NULL, &x->data_plan));
}

static void rota_run(exchange *x)
{
    fill_tell(x);
    MUST(rota_start(x->tell_plan));
    MUST(rota_wait(x->tell_plan));
    plan_receive(x);
    x->note_sum = sum_of_notes(x);
    if (x->note_sum == 0)
        return;
    MUST(rota_alltoallv_start(x->data_plan, x->send.at, x->sent, x->sent_at,
                              x->received.at, x->got, x->got_at));
    MUST(rota_wait(x->data_plan));
}

static void rota_close(exchange *x)
{
    MUST(rota_plan_free(&x->tell_plan));
    MUST(rota_plan_free(&x->data_plan));
}

static void found_open(exchange *x)
{
    MUST(rota_exchange_init(ROTA_UNBOUNDED, MPI_UINT64_T, x->comm,
                            MPI_INFO_NULL, &x->data_plan));
    MUST(rota_plan_set_reduction(x->data_plan, &x->note, &x->note_sum, 1,
                                 MPI_UINT64_T, MPI_SUM));
}

static void found_run(exchange *x)
{
    void *came;

    MUST(rota_exchange_start(x->data_plan, x->send.at, x->sent, x->sent_at));
    MUST(rota_exchange_wait(x->data_plan, &came, x->got, x->got_at));
    x->came = came;
}

static void found_close(exchange *x)
{
    MUST(rota_plan_free(&x->data_plan));
}

/* What came is copied once more; only that is timed. */
static void copies_run(exchange *x)
{
    const size_t n = (size_t)x->P - 1;

    found_run(x);
    const size_t values = (size_t)x->got_at[n] + (size_t)x->got[n];
    u64_vec_reserve(&x->received, values);
    x->began = node_clock();
    memcpy(x->received.at, x->came, values * sizeof(uint64_t));
}

static const exchange_form three_form = {
    "three",   "MPI_Alltoall, MPI_Alltoallv, MPI_Allreduce",
    1,         mpi_open,
    three_run, mpi_close};
static const exchange_form mpi_form = {
    "mpi", "MPI_Alltoall, MPI_Alltoallv", 1, mpi_open, mpi_run, mpi_close};
static const exchange_form found_form = {
    "exchange", "rota_exchange", 0, found_open, found_run, found_close};
static const exchange_form rota_form = {
    "rota",    "rota_alltoall, rota_alltoallv_varying", 0, rota_open, rota_run,
    rota_close};
static const exchange_form copies_form = {
    "copies", "memcpy of what came", 0, found_open, copies_run, found_close};

static const exchange_form *const forms[EXCHANGE_FORMS] = {
    &three_form, &mpi_form, &found_form, &rota_form, &copies_form};

/* Whether WHICH takes in the form of that name. */
static int takes_in(const char *which, const char *name)
{
    if (strcmp(which, "both") == 0)
        return strcmp(name, "mpi") == 0 || strcmp(name, "exchange") == 0;
    return strcmp(which, "all") == 0 || strcmp(which, name) == 0;
}

int exchange_choose(const char *which,
                    const exchange_form *form[EXCHANGE_FORMS])
{
    int n = 0;

    for (int i = 0; i < EXCHANGE_FORMS; i++)
        if (takes_in(which, forms[i]->name))
            form[n++] = forms[i];
    return n;
}

void exchange_open(exchange *x, const exchange_form *form, MPI_Comm comm)
{
    double began;
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
    began = MPI_Wtime();
    form->open(x);
    x->setup_s = MPI_Wtime() - began;
}

static void pack(exchange *x, const u64_vec block[])
{
    size_t n = 0;

    for (int d = 0; d < x->P; d++)
        n += block[d].n;
    if (n > INT_MAX)
        die("%zu values to send at once are more than %d; use more ranks", n,
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
    x->note = note;
    pack(x, block);
    x->began = node_clock();
    x->form->run(x);
    x->ended = node_clock();
    x->largest = 0;
    for (int d = 0; d < x->P; d++) {
        const uint64_t bytes = (block[d].n + 2) * sizeof(uint64_t);

        if (d == x->me)
            continue;
        x->bytes += bytes;
        if (bytes > x->largest)
            x->largest = bytes;
    }
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
