/* exchange.c - see exchange.h.
 *
 * Forms three, mpi and rota tell everybody how many values will come, and then
 * send them. Form three sums the notes by a call of its own, as fixed-point loops
 * usually do; with mpi and rota the notes ride along with the counts. Form exchange
 * takes one step: the receiver finds out what comes, and Rota sums the notes on the
 * way. So does form borrowed, which writes what it sends to memory of the plan, and
 * whose receivers read it there. */
#include "exchange.h"

#include "must.h"
#include "options.h"
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

/* The blocks lie at got_at from there on. */
static void set_came(exchange *x, const uint64_t *from)
{
    for (int s = 0; s < x->P; s++)
        x->came[s] = from + x->got_at[s];
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
    set_came(x, x->received.at);
}

static uint64_t sum_of_notes(const exchange *x)
{
    uint64_t sum = 0;

    for (int s = 0; s < x->P; s++)
        sum += x->told[2 * s + 1];
    return sum;
}

static uint64_t *own_room(exchange *x, size_t values)
{
    u64_vec_reserve(&x->own, values);
    return x->own.at;
}

static void mpi_open(exchange *x)
{
    (void)x; /* nothing is kept from one exchange to the next */
}

static void mpi_send(exchange *x)
{
    MUST(MPI_Alltoallv(x->send, x->sent, x->sent_at, MPI_UINT64_T,
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
    MUST(rota_alltoallv_start(x->data_plan, x->send, x->sent, x->sent_at,
                              x->received.at, x->got, x->got_at));
    MUST(rota_wait(x->data_plan));
}

static void rota_close(exchange *x)
{
    MUST(rota_plan_free(&x->tell_plan));
    MUST(rota_plan_free(&x->data_plan));
}

static void sum_notes(exchange *x)
{
    MUST(rota_plan_set_reduction(x->data_plan, &x->note, &x->note_sum, 1,
                                 MPI_UINT64_T, MPI_SUM));
}

static void found_open(exchange *x)
{
    MUST(rota_exchange_init(ROTA_UNBOUNDED, MPI_UINT64_T, x->comm,
                            MPI_INFO_NULL, &x->data_plan));
    sum_notes(x);
}

static void found_run(exchange *x)
{
    void *came;

    MUST(rota_exchange_start(x->data_plan, x->send, x->sent, x->sent_at));
    MUST(rota_exchange_wait(x->data_plan, &came, x->got, x->got_at));
    set_came(x, came);
}

static void found_close(exchange *x)
{
    MUST(rota_plan_free(&x->data_plan));
}

static void borrowed_open(exchange *x)
{
    MUST(rota_exchange_init_borrow(ROTA_UNBOUNDED, MPI_UINT64_T, x->comm,
                                   MPI_INFO_NULL, &x->data_plan));
    sum_notes(x);
}

static uint64_t *borrowed_room(exchange *x, size_t values)
{
    uint64_t *room;

    MUST(rota_exchange_get_sendbuf(x->data_plan, values * sizeof *room, &room));
    return room;
}

static void borrowed_run(exchange *x)
{
    MUST(rota_exchange_start(x->data_plan, x->send, x->sent, x->sent_at));
    MUST(rota_exchange_wait_borrow(x->data_plan, x->came, x->got));
}

/* What came is copied once more; only that is timed. */
static void copies_run(exchange *x)
{
    const size_t n = (size_t)x->P - 1;

    found_run(x);
    const size_t values = (size_t)x->got_at[n] + (size_t)x->got[n];
    u64_vec_reserve(&x->received, values);
    x->began = node_clock();
    memcpy(x->received.at, x->came[0], values * sizeof(uint64_t));
}

static const exchange_form three_form = {
    .name = "three",
    .calls = "MPI_Alltoall, MPI_Alltoallv, MPI_Allreduce",
    .by_mpi = 1,
    .open = mpi_open,
    .room = own_room,
    .run = three_run,
    .close = mpi_close};
static const exchange_form mpi_form = {.name = "mpi",
                                       .calls = "MPI_Alltoall, MPI_Alltoallv",
                                       .by_mpi = 1,
                                       .open = mpi_open,
                                       .room = own_room,
                                       .run = mpi_run,
                                       .close = mpi_close};
static const exchange_form found_form = {.name = "exchange",
                                         .calls = "rota_exchange",
                                         .open = found_open,
                                         .room = own_room,
                                         .run = found_run,
                                         .close = found_close};
static const exchange_form borrowed_form = {
    .name = "borrowed",
    .calls = "rota_exchange, rota_exchange_wait_borrow",
    .instead = &found_form,
    .open = borrowed_open,
    .room = borrowed_room,
    .run = borrowed_run,
    .close = found_close};
static const exchange_form rota_form = {
    .name = "rota",
    .calls = "rota_alltoall, rota_alltoallv_varying",
    .open = rota_open,
    .room = own_room,
    .run = rota_run,
    .close = rota_close};
static const exchange_form copies_form = {.name = "copies",
                                          .calls = "memcpy of what came",
                                          .open = found_open,
                                          .room = own_room,
                                          .run = copies_run,
                                          .close = found_close};

static const exchange_form *const forms[EXCHANGE_FORMS] = {
    &three_form,    &mpi_form,  &found_form,
    &borrowed_form, &rota_form, &copies_form};

int exchange_choose(const char *which,
                    const exchange_form *form[EXCHANGE_FORMS])
{
    const int all = strcmp(which, "all") == 0;
    const char *list = strcmp(which, "both") == 0 ? "mpi,exchange" : which;
    int n = 0;

    for (int i = 0; i < EXCHANGE_FORMS; i++)
        if (all || option_lists(list, forms[i]->name))
            form[n++] = forms[i];
    return all || n == option_words(list) ? n : 0;
}

/* ---- Blocks to send ------------------------------------------------------ */

/* Blocks one behind the other, in memory for the next exchange. */
static void lay_out(exchange *x)
{
    size_t n = 0;

    for (int d = 0; d < x->P; d++) {
        x->sent_at[d] = (int)n;
        n += x->block[d].capacity;
        if (n > INT_MAX)
            die("room for %zu values to send at once is more than %d; use more "
                "ranks",
                n, INT_MAX);
    }
    x->send = x->form->room(x, n);
    for (int d = 0; d < x->P; d++)
        x->block[d].at = x->send + x->sent_at[d];
}

/* Others that are more than half full are soon to grow, too. */
static void enlarge(exchange *x, int d, size_t n)
{
    for (int q = 0; q < x->P; q++) {
        u64_vec *block = &x->block[q];
        const size_t wanted = block->n + (q == d ? n : 0);

        if (wanted > block->capacity / 2)
            block->capacity = 2 * wanted + 512;
    }
}

void exchange_grow(exchange *x, int d, size_t n)
{
    u64_vec kept = {0};
    size_t at = 0;

    for (int q = 0; q < x->P; q++) {
        const u64_vec *block = &x->block[q];

        u64_vec_reserve(&kept, kept.n + block->n + 1);
        memcpy(kept.at + kept.n, block->at, block->n * sizeof(uint64_t));
        kept.n += block->n;
    }
    enlarge(x, d, n);
    lay_out(x);
    for (int q = 0; q < x->P; q++) {
        const u64_vec *block = &x->block[q];

        memcpy(block->at, kept.at + at, block->n * sizeof(uint64_t));
        at += block->n;
    }
    u64_vec_free(&kept);
}

/* ---- Exchanges ----------------------------------------------------------- */

void exchange_open(exchange *x, const exchange_form *form, MPI_Comm comm)
{
    double began;
    size_t n;

    *x = (exchange){.form = form, .comm = comm};
    MUST(MPI_Comm_size(comm, &x->P));
    MUST(MPI_Comm_rank(comm, &x->me));
    n = (size_t)x->P;
    x->block = must_realloc(NULL, n, sizeof x->block[0]);
    x->sent = must_realloc(NULL, n, sizeof(int));
    x->sent_at = must_realloc(NULL, n, sizeof(int));
    x->came = must_realloc(NULL, n, sizeof x->came[0]);
    x->got = must_realloc(NULL, n, sizeof(int));
    x->got_at = must_realloc(NULL, n, sizeof(int));
    x->tell = must_realloc(NULL, 2 * n, sizeof(uint64_t));
    x->told = must_realloc(NULL, 2 * n, sizeof(uint64_t));
    u64_vec_reserve(&x->received, 1); /* so that no buffer is ever NULL */
    began = MPI_Wtime();
    form->open(x);
    x->setup_s = MPI_Wtime() - began;
    for (int d = 0; d < x->P; d++)
        x->block[d] = (u64_vec){.capacity = 1};
    lay_out(x);
}

/* What was added is sent, and does not lie in the way of what comes next. */
static void end_blocks(exchange *x)
{
    for (int d = 0; d < x->P; d++)
        x->block[d].n = 0;
    lay_out(x);
}

uint64_t exchange_run(exchange *x, uint64_t note)
{
    x->note = note;
    for (int d = 0; d < x->P; d++)
        x->sent[d] = (int)x->block[d].n;
    x->began = node_clock();
    x->form->run(x);
    x->ended = node_clock();
    end_blocks(x);
    x->largest = 0;
    for (int d = 0; d < x->P; d++) {
        const uint64_t bytes = ((uint64_t)x->sent[d] + 2) * sizeof(uint64_t);

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
    free(x->block);
    free(x->sent);
    free(x->sent_at);
    free((void *)x->came);
    free(x->got);
    free(x->got_at);
    free(x->tell);
    free(x->told);
    u64_vec_free(&x->own);
    u64_vec_free(&x->received);
    *x = (exchange){0};
}
