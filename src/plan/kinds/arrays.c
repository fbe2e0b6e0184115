/* arrays.c - exchanges of several arrays, each with counts and a type of its
 * own.
 *
 * What a rank sends another is one block of an exchange with borrowed blocks
 * (array_block.h). A start copies its parts to the plan's send buffer, and ranks of
 * the node read them there. So a part is copied twice, as in an exchange of its own,
 * or once if the program borrows it. What a rank has for itself is copied once, or
 * never.
 */
#include "exec/memory/lending.h"
#include "exec/move/blocks.h"
#include "plan/kinds/array_block.h"
#include "plan/kinds/counted.h"
#include "plan/kinds/exchange.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Bytes above which a block is written past the caches where pieces of the pool are:
 * its reader has the lines of the buffer, and where cores are far apart that takes a
 * third of the time (2 arrays of 16 KiB: 17.5 us and 5.3, rota-arrays --blocks 2). */
enum { LONG = 1 << 13 };

/* An array: what is sent of it, and where the plan collects what has come. */
typedef struct array {
    rota_unit unit;
    const char *base; /* the program's, until the wait */
    char *out;
    size_t room; /* bytes */
} array;

typedef struct arrays {
    rota_counted counted; /* first: of blocks, which are bytes */
    int n;
    array *array;       /* [n] */
    size_t *bytes;      /* [n * P] of each part to send, array by array */
    ptrdiff_t *offset;  /* [n * P] of it from the program's array */
    MPI_Count *total;   /* [P] bytes of each block, to send or received */
    MPI_Aint *at;       /* [P] of each block in the send buffer */
    const void **block; /* [P] where each block has come */
    const void **part;  /* [n * P] and each part, array by array */
} arrays;

static arrays *arrays_of(const rota_task *t)
{
    return t->own;
}

/* ---- making -------------------------------------------------------------- */

static int find_type(const rota_task *t, MPI_Datatype mpi, int i,
                     rota_unit *unit)
{
    rota_types types = {0};
    char name[32];

    snprintf(name, sizeof name, "types[%d]", i);
    ROTA_TRY(rota_types_make(mpi, name, t->comm->dup, &types, unit));
    const bool plain = rota_types_are_bytes(&types) && unit->true_lb == 0 &&
                       unit->spacing == (ptrdiff_t)unit->element &&
                       unit->element > 0;
    rota_types_free(&types);
    return plain ? MPI_SUCCESS
                 : rota_fail(MPI_ERR_TYPE,
                             "elements of %s are not bytes end to end", name);
}

static int make_room(arrays *own, size_t P)
{
    const size_t n = (size_t)own->n;

    own->array = calloc(n, sizeof *own->array);
    own->bytes = calloc(n * P, sizeof *own->bytes);
    own->offset = calloc(n * P, sizeof *own->offset);
    own->total = calloc(P, sizeof *own->total);
    own->at = calloc(P, sizeof *own->at);
    own->block = calloc(P, sizeof *own->block);
    own->part = calloc(n * P, sizeof *own->part);
    return own->array && own->bytes && own->offset && own->total && own->at &&
                   own->block && own->part
               ? MPI_SUCCESS
               : rota_fail_mem("an exchange of arrays");
}

/* To what it is built on, a block is bytes. */
static int prepare(rota_task *t, const rota_args *args)
{
    rota_args blocks = *args;

    blocks.recv.type = MPI_BYTE;
    ROTA_TRY(rota_kind_borrowing.prepare(t, &blocks));
    arrays *const own = arrays_of(t);
    if (args->recv.n < 1)
        return rota_fail(MPI_ERR_COUNT, "n = %d is below 1", args->recv.n);
    if (!args->recv.types)
        return rota_fail(MPI_ERR_ARG, "types is NULL");
    own->n = args->recv.n;
    ROTA_TRY(make_room(own, (size_t)t->comm->P));
    for (int i = 0; i < own->n; i++)
        ROTA_TRY(find_type(t, args->recv.types[i], i, &own->array[i].unit));
    return MPI_SUCCESS;
}

/* No hash is the size of a type, which other exchanges vote on. */
static void vote(const rota_task *t, rota_alike *alike, rota_vote *v)
{
    const arrays *const own = arrays_of(t);
    uint64_t sizes = UINT64_MAX;

    (void)v;
    for (int i = 0; own && own->array && i < own->n; i++)
        sizes = rota_mix(sizes, own->array[i].unit.element);
    rota_alike_add(alike, "number and sizes of types", sizes);
}

static void forget(rota_task *t)
{
    arrays *const own = arrays_of(t);

    if (!own)
        return;
    for (int i = 0; own->array && i < own->n; i++)
        free(own->array[i].out);
    free(own->array);
    free(own->bytes);
    free(own->offset);
    free(own->total);
    free(own->at);
    free((void *)own->block);
    free((void *)own->part);
    rota_counted_forget(t);
}

/* ---- starting ------------------------------------------------------------ */

/* The entries of array i in an array of n * P counts or displacements. */
static const void *row(rota_form form, const void *all, bool counts, int i,
                       int P)
{
    const size_t entry = form == ROTA_INTS ? sizeof(int)
                         : counts          ? sizeof(MPI_Count)
                                           : sizeof(MPI_Aint);

    return all ? (const char *)all + (size_t)i * (size_t)P * entry : NULL;
}

/* Find the bytes and the place of each part. */
static int read_arguments(const rota_built *b, const rota_start_args *args)
{
    arrays *const own = arrays_of(b->task);
    const void *const *const base = args->send.base;
    const int P = b->sched.P;

    if (!base)
        return rota_fail(MPI_ERR_ARG, "sendbufs is NULL");
    for (int i = 0; i < own->n; i++) {
        const rota_side_args side = {
            .form = args->form,
            .base = base[i],
            .counts = row(args->form, args->send.counts, true, i, P),
            .displs = row(args->form, args->send.displs, false, i, P),
            .name = "send",
            .n = P,
            .unit = &own->array[i].unit};
        if (base[i] == MPI_IN_PLACE)
            return rota_fail(MPI_ERR_BUFFER, "sendbufs[%d] is MPI_IN_PLACE", i);
        ROTA_TRY(
            rota_side_fill(&side, own->bytes + i * P, own->offset + i * P));
        own->array[i].base = base[i];
    }
    return MPI_SUCCESS;
}

/* Lay the blocks out end to end. A rank that is sent nothing, and this one, get
 * an empty one. *all: their bytes. */
static int lay_out(const rota_built *b, size_t *all)
{
    arrays *const own = arrays_of(b->task);
    const int P = b->sched.P;

    *all = 0;
    for (int q = 0; q < P; q++) {
        const size_t bytes =
            rota_array_block_bytes(own->n, own->bytes + q, (size_t)P);
        if (bytes > PTRDIFF_MAX - *all)
            return rota_fail(MPI_ERR_COUNT,
                             "what is sent to rank %d is beyond the address "
                             "space",
                             q);
        own->total[q] = q == b->sched.me ? 0 : (MPI_Count)bytes;
        own->at[q] = (MPI_Aint)*all;
        *all += (size_t)own->total[q];
    }
    return MPI_SUCCESS;
}

static void gather(const rota_built *b, int q, char *to)
{
    const arrays *const own = arrays_of(b->task);
    const bool streams =
        b->exec.lending->node && own->total[q] > LONG && rota_copy_streams_well;
    char *part = to + rota_array_head(own->n);

    for (int i = 0; i < own->n; i++) {
        const int k = i * b->sched.P + q;
        const uint64_t count =
            rota_unit_elements(&own->array[i].unit, own->bytes[k]);
        rota_array_tell(to, i, count);
        if (count > 0)
            rota_copy_bulk(part, own->array[i].base + own->offset[k],
                           own->bytes[k], streams);
        part += rota_array_padded(own->bytes[k]);
    }
}

static int start(rota_built *b, const rota_start_args *args)
{
    const arrays *const own = arrays_of(b->task);
    void *buffer;
    size_t all;

    ROTA_TRY(read_arguments(b, args));
    ROTA_TRY(lay_out(b, &all));
    ROTA_TRY(rota_borrowing_sendbuf(b, all, &buffer));
    for (int q = 0; q < b->sched.P; q++)
        if (own->total[q] > 0)
            gather(b, q, (char *)buffer + own->at[q]);
    return rota_kind_borrowing.start(
        b, &(rota_start_args){.form = ROTA_COUNTS,
                              .send = {buffer, own->total, own->at}});
}

/* ---- collecting ---------------------------------------------------------- */

/* The elements of array i from rank q. */
static size_t count_from(const rota_built *b, int i, int q)
{
    const arrays *const own = arrays_of(b->task);
    uint64_t count = 0;

    if (q == b->sched.me && !b->task->leaves_own)
        count = rota_unit_elements(&own->array[i].unit,
                                   own->bytes[i * b->sched.P + q]);
    else if (own->block[q])
        count = rota_array_told(own->block[q], i);
    return (size_t)count;
}

static size_t bytes_from(const rota_built *b, int i, int q)
{
    const arrays *const own = arrays_of(b->task);

    return count_from(b, i, q) * own->array[i].unit.element;
}

/* Find where the parts from rank q lie. An empty one lies nowhere. */
static void find_parts(const rota_built *b, int q, const void *parts[])
{
    const arrays *const own = arrays_of(b->task);
    const char *next = own->block[q];

    if (next)
        next += rota_array_head(own->n);
    for (int i = 0; i < own->n; i++) {
        const int k = i * b->sched.P + q;
        const size_t bytes = bytes_from(b, i, q);
        parts[k] = bytes == 0         ? NULL
                   : q == b->sched.me ? own->array[i].base + own->offset[k]
                                      : next;
        if (q != b->sched.me && bytes > 0)
            next += rota_array_padded(bytes);
    }
}

/* Tell the counts of array i, and which bytes it has. */
static int note(const rota_built *b, const rota_found *found, int i,
                size_t *bytes)
{
    const int P = b->sched.P;
    size_t at = 0;
    bool fit = true;

    for (int q = 0; q < P; q++) {
        const size_t count = count_from(b, i, q);
        fit = rota_counted_note(found, i * P + q, count, at) && fit;
        at += count;
    }
    *bytes = at * arrays_of(b->task)->array[i].unit.element;
    return fit ? MPI_SUCCESS
               : rota_fail(MPI_ERR_COUNT,
                           "counts or displacements do not fit an int; call "
                           "%s_c or %s_c",
                           b->task->kind->wait, rota_kind_borrowing.wait);
}

/* Put the parts of array i end to end, in memory with room for them. */
static void scatter(const rota_built *b, int i)
{
    const arrays *const own = arrays_of(b->task);
    char *to = own->array[i].out;

    for (int q = 0; q < b->sched.P; q++) {
        const size_t bytes = bytes_from(b, i, q);
        if (bytes > 0)
            rota_copy_fast(to, own->part[i * b->sched.P + q], bytes);
        to += bytes;
    }
}

static int collect(rota_built *b, rota_found *found)
{
    const arrays *const own = arrays_of(b->task);
    rota_found blocks = {
        .large = true, .counts = own->total, .blocks = own->block};
    const void **const parts = found->blocks ? found->blocks : own->part;

    ROTA_TRY(rota_kind_borrowing.collect(b, &blocks));
    for (int i = 0; i < own->n; i++) {
        array *const a = &own->array[i];
        size_t bytes;
        ROTA_TRY(note(b, found, i, &bytes));
        if (found->arrays)
            ROTA_TRY(rota_grow(&a->out, &a->room, bytes,
                               "what an exchange receives"));
    }
    for (int q = 0; q < b->sched.P; q++)
        find_parts(b, q, parts);
    for (int i = 0; found->arrays && i < own->n; i++) {
        scatter(b, i);
        found->arrays[i] = own->array[i].out;
    }
    return MPI_SUCCESS;
}

const rota_kind_table rota_kind_arrays = {
    .kind = ROTA_EXCHANGE,
    .is = "an exchange of arrays",
    .wait = "rota_exchange_wait_arrays",
    .collects = true,
    .borrows = true,
    .gathers = true,
    .own_bytes = sizeof(arrays),
    .bound = rota_borrowing_bound,
    .prepare = prepare,
    .vote = vote,
    .forget = forget,
    .build = rota_borrowing_build,
    .start = start,
    .collect = collect,
};
