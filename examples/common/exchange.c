/* exchange.c - see exchange.h.
 *
 * Forms mpi and rota take two steps: everybody tells everybody how many values
 * will come, and then sends them. The note rides along with the counts. Form
 * exchange takes one step: the receiver finds out what comes, and the note
 * rides at the head of each block. So in no form does finding the end of the
 * loop cost a reduction of its own, and all send the same: to each rank a
 * count (form exchange leaves that to Rota), a note and the values. */
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

    x->note_sum = 0;
    for (int s = 0; s < x->P; s++) {
        x->got[s] = (int)x->told[2 * s];
        x->got_at[s] = (int)n;
        n += (size_t)x->got[s];
        if (n > INT_MAX)
            die("more than %d values to receive at once; use more ranks",
                INT_MAX);
        x->note_sum += x->told[2 * s + 1];
    }
    u64_vec_reserve(&x->received, n);
    x->came = x->received.at;
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
                                     MPI_INFO_NULL, &x->data_plan));
}

static void rota_run(exchange *x)
{
    fill_tell(x);
    MUST(rota_start(x->tell_plan));
    MUST(rota_wait(x->tell_plan));
    plan_receive(x);
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
}

static void found_run(exchange *x)
{
    void *came;

    MUST(rota_exchange_start(x->data_plan, x->send.at, x->sent, x->sent_at));
    MUST(rota_exchange_wait(x->data_plan, &came, x->got, x->got_at));
    x->came = came;
    x->note_sum = 0;
    for (int s = 0; s < x->P; s++) {
        x->note_sum += x->came[x->got_at[s]++];
        x->got[s]--;
    }
}

static void found_close(exchange *x)
{
    MUST(rota_plan_free(&x->data_plan));
}

static const exchange_form mpi_form = {
    "mpi", "MPI_Alltoall, MPI_Alltoallv", 0, mpi_open, mpi_run, mpi_close};
static const exchange_form found_form = {
    "exchange", "rota_exchange", 1, found_open, found_run, found_close};
static const exchange_form rota_form = {
    "rota",    "rota_alltoall, rota_alltoallv_varying", 0, rota_open, rota_run,
    rota_close};

static const exchange_form *const forms[EXCHANGE_FORMS] = {
    &mpi_form, &found_form, &rota_form};

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
    const size_t heads = x->form->note_in_blocks ? 1 : 0;
    size_t n = 0;

    for (int d = 0; d < x->P; d++)
        n += heads + block[d].n;
    if (n > INT_MAX)
        die("%zu values to send at once are more than %d; use more ranks", n,
            INT_MAX);
    u64_vec_reserve(&x->send, n);
    x->send.n = 0;
    for (int d = 0; d < x->P; d++) {
        x->sent[d] = (int)(heads + block[d].n);
        x->sent_at[d] = (int)x->send.n;
        if (heads > 0)
            x->send.at[x->send.n++] = x->note;
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
