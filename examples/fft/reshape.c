/* reshape.c - see reshape.h. */
#include "reshape.h"

#include "must.h"

#include <stdlib.h>
#include <string.h>

/* A plan and what is packed for it. */
typedef struct lot {
    traffic moves;
    box *out, *in; /* [P] to and from each rank, within this rank's boxes */
    size_t first;  /* plane of its first batch, on every rank */
} lot;

/* ---- Boxes --------------------------------------------------------------- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t block_size(size_t n, int P)
{
    return (n + (size_t)P - 1) / (size_t)P;
}

box box_block(box whole, int axis, size_t block, int r)
{
    const size_t lo = least((size_t)r * block, whole.n[axis]);
    box b = whole;

    b.lo[axis] = whole.lo[axis] + lo;
    b.n[axis] = least(block, whole.n[axis] - lo);
    return b;
}

size_t box_points(box b)
{
    return b.n[0] * b.n[1] * b.n[2];
}

void box_strides(box b, const int order[3], size_t stride[3])
{
    stride[order[2]] = 1;
    stride[order[1]] = b.n[order[2]];
    stride[order[0]] = b.n[order[2]] * b.n[order[1]];
}

/* Where two boxes meet, seen from the corner of a third that holds it. */
static box box_meet(box a, box b, box seen_from)
{
    box c;

    for (int i = 0; i < 3; i++) {
        const size_t lo = most(a.lo[i], b.lo[i]);
        const size_t end = least(a.lo[i] + a.n[i], b.lo[i] + b.n[i]);

        c.n[i] = end > lo ? end - lo : 0;
        c.lo[i] = c.n[i] > 0 ? lo - seen_from.lo[i] : 0;
    }
    return c;
}

/* Planes first, first + 1, ... of a box along an axis, n at most. */
static box box_planes(box b, int axis, size_t first, size_t n)
{
    const size_t skip = least(first, b.n[axis]);

    b.lo[axis] += skip;
    b.n[axis] = least(n, b.n[axis] - skip);
    return b;
}

/* The fastest axis of the order has the inner loop. Packed blocks are in the
 * order of the result: packing gathers numbers from across the array and writes
 * them in a row, unpacking copies rows. */
static void copy_box(box b, const int order[3], double complex *to,
                     const size_t to_stride[3], const double complex *from,
                     const size_t from_stride[3])
{
    const int slow = order[0], mid = order[1], fast = order[2];
    const size_t n = b.n[fast], to_step = to_stride[fast];
    const size_t from_step = from_stride[fast];

    for (size_t i = 0; i < b.n[slow]; i++)
        for (size_t j = 0; j < b.n[mid]; j++) {
            double complex *t = to + i * to_stride[slow] + j * to_stride[mid];
            const double complex *f =
                from + i * from_stride[slow] + j * from_stride[mid];

            if (to_step == 1 && from_step == 1) {
                memcpy(t, f, n * sizeof *t);
                continue;
            }
            for (size_t k = 0; k < n; k++)
                t[k * to_step] = f[k * from_step];
        }
}

static size_t corner(box b, const size_t stride[3])
{
    return b.lo[0] * stride[0] + b.lo[1] * stride[1] + b.lo[2] * stride[2];
}

/* One element: the numbers of a box in an array, in that order of axes. */
static MPI_Datatype box_type(box b, const int order[3], const size_t stride[3])
{
    const MPI_Aint at = (MPI_Aint)(corner(b, stride) * sizeof(double complex));
    MPI_Datatype type = MPI_C_DOUBLE_COMPLEX, old = type;

    for (int i = 2; i >= -1; i--) {
        old = type;
        if (i >= 0)
            MUST(MPI_Type_create_hvector(
                (int)b.n[order[i]], 1,
                (MPI_Aint)(stride[order[i]] * sizeof(double complex)), old,
                &type));
        else
            MUST(MPI_Type_create_hindexed_block(1, 1, &at, old, &type));
        if (old != MPI_C_DOUBLE_COMPLEX)
            MUST(MPI_Type_free(&old));
    }
    MUST(MPI_Type_commit(&type));
    return type;
}

static MPI_Datatype *box_types(const reshape *r, const box boxes[],
                               const size_t stride[3])
{
    MPI_Datatype *types = must_realloc(NULL, (size_t)r->P, sizeof *types);

    for (int q = 0; q < r->P; q++)
        types[q] = box_points(boxes[q]) == 0
                       ? MPI_C_DOUBLE_COMPLEX
                       : box_type(boxes[q], r->order, stride);
    return types;
}

static void free_types(MPI_Datatype types[], int P)
{
    for (int q = 0; types != NULL && q < P; q++)
        if (types[q] != MPI_C_DOUBLE_COMPLEX)
            MUST(MPI_Type_free(&types[q]));
    free(types);
}

/* ---- Lots ---------------------------------------------------------------- */

static void lot_open(lot *l, reshape *r, const reshape_spec *spec, int me,
                     size_t n)
{
    const size_t P = (size_t)r->P;
    const int axis = spec->from_order[0];
    size_t *sent = must_realloc(NULL, 2 * P, sizeof *sent);
    const box mine = box_planes(spec->from[me], axis, l->first, n);

    l->out = must_realloc(NULL, P, sizeof(box));
    l->in = must_realloc(NULL, P, sizeof(box));
    for (size_t q = 0; q < P; q++) {
        const box theirs = box_planes(spec->from[q], axis, l->first, n);

        l->out[q] = box_meet(mine, spec->to[q], spec->from[me]);
        l->in[q] = box_meet(theirs, spec->to[me], spec->to[me]);
        sent[q] = box_points(l->out[q]);
        sent[P + q] = box_points(l->in[q]);
    }
    l->moves = (traffic){.way = spec->way,
                         .cost = spec->cost,
                         .comm = spec->comm,
                         .n_pairs = r->n_pairs};
    memcpy(l->moves.send, r->send, sizeof r->send);
    memcpy(l->moves.recv, r->recv, sizeof r->recv);
    if (spec->way->typed) {
        l->moves.out.types = box_types(r, l->out, r->from_stride);
        l->moves.in.types = box_types(r, l->in, r->to_stride);
        l->moves.send[0] = spec->from_at;
        l->moves.recv[0] = spec->to_at;
    }
    traffic_open(&l->moves, sent, sent + P);
    free(sent);
}

static void lot_close(lot *l, int P)
{
    traffic_close(&l->moves);
    free_types(l->moves.out.types, P);
    free_types(l->moves.in.types, P);
    free(l->out);
    free(l->in);
}

/* Whether all ranks have as many planes from a on as from b on. */
static int same_planes(const reshape_spec *spec, int P, size_t a, size_t b,
                       size_t n)
{
    const int axis = spec->from_order[0];

    for (int q = 0; q < P; q++)
        if (box_planes(spec->from[q], axis, a, n).n[axis] !=
            box_planes(spec->from[q], axis, b, n).n[axis])
            return 0;
    return 1;
}

static lot *find_lot(reshape *r, const reshape_spec *spec, size_t first,
                     size_t n)
{
    for (int i = 0; i < r->n_lots; i++)
        if (same_planes(spec, r->P, r->lots[i].first, first, n))
            return &r->lots[i];
    return NULL;
}

/* ---- Reshapes ------------------------------------------------------------ */

static size_t most_planes(const reshape_spec *spec, int P)
{
    size_t n = 0;

    for (int q = 0; q < P; q++)
        n = most(n, spec->from[q].n[spec->from_order[0]]);
    return n;
}

static void make_buffers(reshape *r, box from, box to, MPI_Comm comm)
{
    for (int i = 0; i < r->n_pairs; i++) {
        r->send[i] = traffic_buffer(r->way, box_points(from), comm);
        r->recv[i] = traffic_buffer(r->way, box_points(to), comm);
    }
}

void reshape_open(reshape *r, const reshape_spec *spec)
{
    const int axis = spec->from_order[0];
    size_t planes, n;
    int me;

    *r = (reshape){
        .way = spec->way, .n_pairs = spec->n_pairs, .cost = spec->cost};
    MUST(MPI_Comm_size(spec->comm, &r->P));
    MUST(MPI_Comm_rank(spec->comm, &me));
    r->me = me;
    planes = most(most_planes(spec, r->P), 1);
    n = block_size(planes, spec->n_batches);
    r->n_batches = (int)((planes + n - 1) / n);
    r->batch = must_realloc(NULL, (size_t)r->n_batches, sizeof *r->batch);
    r->lots = must_realloc(NULL, (size_t)r->n_batches, sizeof *r->lots);
    memcpy(r->order, spec->to_order, sizeof r->order);
    box_strides(spec->from[me], spec->from_order, r->from_stride);
    box_strides(spec->to[me], spec->to_order, r->to_stride);
    if (!r->way->typed)
        make_buffers(r, spec->from[me], spec->to[me], spec->comm);
    for (int k = 0; k < r->n_batches; k++) {
        const size_t first = (size_t)k * n;
        lot *l = find_lot(r, spec, first, n);

        if (l == NULL) {
            l = &r->lots[r->n_lots++];
            l->first = first;
            lot_open(l, r, spec, me, n);
        }
        const size_t beyond = first - l->first;
        const box mine = box_planes(spec->from[me], axis, first, n);

        r->batch[k] = (reshape_batch){
            mine.lo[axis] - spec->from[me].lo[axis], mine.n[axis], l,
            beyond * r->from_stride[axis], beyond * r->to_stride[axis]};
    }
}

/* ---- Blocks -------------------------------------------------------------- */

static void pack_block(const reshape *r, const reshape_batch *b, int pair,
                       int q, const double complex *from)
{
    const box block = b->lot->out[q];
    size_t packed[3];

    box_strides(block, r->order, packed);
    copy_box(block, r->order, r->send[pair] + b->lot->moves.out.displs[q],
             packed, from + b->shift_from + corner(block, r->from_stride),
             r->from_stride);
}

static void unpack_block(const reshape *r, const reshape_batch *b, int pair,
                         int q, double complex *to)
{
    const box block = b->lot->in[q];
    size_t packed[3];

    box_strides(block, r->order, packed);
    copy_box(block, r->order, to + b->shift_to + corner(block, r->to_stride),
             r->to_stride, r->recv[pair] + b->lot->moves.in.displs[q], packed);
}

/* The next rank's block first and this rank's own last, so that not all send to
 * the same rank first. */
static void send_blocks(reshape *r, const reshape_batch *b, int pair)
{
    for (int i = 1; i <= r->P; i++) {
        const int q = (r->me + i) % r->P;
        const double began = MPI_Wtime();

        if (b->lot->moves.out.counts[q] == 0)
            continue;
        pack_block(r, b, pair, q, r->from);
        r->cost->pack_s += MPI_Wtime() - began;
        traffic_ready(r->active, q);
    }
}

static void take_block(reshape *r, const reshape_batch *b, int q)
{
    const double began = MPI_Wtime();

    unpack_block(r, b, r->pair_active, q, r->to);
    r->cost->pack_s += MPI_Wtime() - began;
}

/* In the order in which they come. */
static void take_blocks(reshape *r)
{
    const reshape_batch *b = &r->batch[r->batch_active];

    for (int q; (q = traffic_arrived(r->active)) >= 0;)
        take_block(r, b, q);
}

/* ---- Steps --------------------------------------------------------------- */

/* Whether all is packed before the start and unpacked after the wait. */
static int packs(const traffic_way *way)
{
    return !way->typed && way->ready == NULL;
}

void reshape_pack(reshape *r, int batch, int pair, const double complex *from)
{
    const reshape_batch *b = &r->batch[batch];
    const double began = MPI_Wtime();

    r->from = from;
    if (!packs(r->way))
        return;
    for (int q = 0; q < r->P; q++)
        if (b->lot->moves.out.counts[q] > 0)
            pack_block(r, b, pair, q, from);
    r->cost->pack_s += MPI_Wtime() - began;
}

void reshape_unpack(reshape *r, int batch, int pair, double complex *to)
{
    const reshape_batch *b = &r->batch[batch];
    const double began = MPI_Wtime();

    if (!packs(r->way))
        return;
    for (int q = 0; q < r->P; q++)
        if (b->lot->moves.in.counts[q] > 0)
            unpack_block(r, b, pair, q, to);
    r->cost->pack_s += MPI_Wtime() - began;
}

void reshape_start(reshape *r, int batch, int pair, double complex *to)
{
    const reshape_batch *b = &r->batch[batch];

    r->active = &b->lot->moves;
    r->to = to;
    r->batch_active = batch;
    r->pair_active = pair;
    if (r->way->typed) {
        r->active->send[pair] = (double complex *)r->from + b->shift_from;
        r->active->recv[pair] = to + b->shift_to;
    }
    traffic_start(r->active, pair);
    if (r->way->ready != NULL)
        send_blocks(r, b, pair);
}

void reshape_test(reshape *r)
{
    if (r->active != NULL)
        traffic_test(r->active);
}

void reshape_wait(reshape *r)
{
    if (r->way->ready != NULL)
        take_blocks(r);
    traffic_wait(r->active);
    r->active = NULL;
}

void reshape_run(reshape *r, const double complex *from, double complex *to)
{
    for (int k = 0; k < r->n_batches; k++) {
        reshape_pack(r, k, 0, from);
        reshape_start(r, k, 0, to);
        reshape_wait(r);
        reshape_unpack(r, k, 0, to);
    }
}

void reshape_close(reshape *r)
{
    for (int i = 0; i < r->n_lots; i++)
        lot_close(&r->lots[i], r->P);
    for (int i = 0; i < r->n_pairs && !r->way->typed; i++) {
        traffic_buffer_free(r->way, r->send[i]);
        traffic_buffer_free(r->way, r->recv[i]);
    }
    free(r->batch);
    free(r->lots);
}
