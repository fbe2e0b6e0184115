/* run.c - an exchange by a plan of bytes: a varying one or, where all blocks
 * are of one size, a fixed one.
 *
 * Counts and displacements become bytes; elements that are not bytes end to
 * end are packed on this rank into a stage, and unpacked from one.
 */
#include "mpi/shim.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ----------------------------------------------------------------- */

static bool make_side(rota_mpi_side *s, size_t n)
{
    s->known.type = MPI_DATATYPE_NULL;
    s->bytes = malloc(n * sizeof *s->bytes);
    s->offset = malloc(n * sizeof *s->offset);
    s->count = malloc(n * sizeof *s->count);
    s->place = malloc(n * sizeof *s->place);
    return s->bytes && s->offset && s->count && s->place;
}

static void destroy_side(rota_mpi_side *s)
{
    free(s->bytes);
    free(s->offset);
    free(s->count);
    free(s->place);
    free(s->stage);
}

rota_mpi_run *rota_mpi_run_make(int P, bool uniform, bool with_request)
{
    rota_mpi_run *const run = calloc(1, sizeof *run);

    if (!run)
        return NULL;
    run->P = P;
    run->n = uniform ? 1 : P;
    run->uniform = uniform;
    const bool send_ok = make_side(&run->send, (size_t)run->n);
    const bool recv_ok = make_side(&run->recv, (size_t)run->n);
    if (with_request)
        run->request = rota_mpi_request_make();
    if (!send_ok || !recv_ok || (with_request && !run->request)) {
        rota_mpi_run_destroy(run);
        return NULL;
    }
    if (run->request)
        run->request->run = run;
    return run;
}

void rota_mpi_run_destroy(rota_mpi_run *run)
{
    if (!run)
        return;
    rota_plan_free(&run->plan);
    rota_mpi_same_destroy(run->same);
    rota_mpi_request_destroy(run->request);
    destroy_side(&run->send);
    destroy_side(&run->recv);
    free(run);
}

/* ---- datatypes -------------------------------------------------------------- */

static int is_plain(MPI_Datatype type, bool *plain, bool *predefined);

/* Of a duplicate or a contiguous type: is what it is made of plain? */
static int inner_is_plain(MPI_Datatype type, int n_ints, bool *plain)
{
    int ints[1];
    MPI_Datatype inner;
    bool predefined = true;

    ROTA_MPI_TRY(
        PMPI_Type_get_contents(type, n_ints, 0, 1, ints, NULL, &inner));
    ROTA_MPI_TRY(is_plain(inner, plain, &predefined));
    return predefined ? MPI_SUCCESS : PMPI_Type_free(&inner);
}

/* Are elements nothing but bytes end to end, in their order? */
static int is_plain(MPI_Datatype type, bool *plain, bool *predefined)
{
    int n_ints, n_addresses, n_types, combiner;
    MPI_Count size;
    MPI_Aint lb, extent;

    ROTA_MPI_TRY(PMPI_Type_get_envelope(type, &n_ints, &n_addresses, &n_types,
                                        &combiner));
    *predefined = combiner == MPI_COMBINER_NAMED;
    if (combiner == MPI_COMBINER_DUP || combiner == MPI_COMBINER_CONTIGUOUS)
        return inner_is_plain(type, n_ints, plain);
    ROTA_MPI_TRY(PMPI_Type_size_x(type, &size));
    ROTA_MPI_TRY(PMPI_Type_get_extent(type, &lb, &extent));
    *plain = *predefined && lb == 0 && size == extent;
    return MPI_SUCCESS;
}

/* Predefined types are never freed, so that what is known of one stays true. */
static int know_type(rota_mpi_type *known, MPI_Datatype type)
{
    MPI_Aint lb;
    bool predefined = false;

    if (type == known->type && type != MPI_DATATYPE_NULL)
        return MPI_SUCCESS;
    known->type = MPI_DATATYPE_NULL;
    ROTA_MPI_TRY(PMPI_Type_size_x(type, &known->size));
    ROTA_MPI_TRY(PMPI_Type_get_extent(type, &lb, &known->extent));
    ROTA_MPI_TRY(is_plain(type, &known->plain, &predefined));
    if (predefined)
        known->type = type;
    return MPI_SUCCESS;
}

/* ---- one side's arguments --------------------------------------------------- */

MPI_Count rota_mpi_scaled(MPI_Count n, MPI_Count size)
{
    const MPI_Count limit = PTRDIFF_MAX;

    if (n >= 0 && n <= INT_MAX && size <= INT_MAX) /* without a division */
        return n * size;
    if (size != 0 && (n > limit / size || n < -limit / size))
        return n > 0 ? limit : -limit;
    return n * size;
}

static MPI_Aint displaced(MPI_Aint n, MPI_Aint extent)
{
    const MPI_Aint far = extent < 0 ? -extent : extent;
    const MPI_Count product = rota_mpi_scaled(n, far);

    return extent < 0 ? -(MPI_Aint)product : (MPI_Aint)product;
}

static MPI_Aint displ_at(const rota_mpi_args *a, const void *displs, int i)
{
    return a->large ? ((const MPI_Aint *)displs)[i] : ((const int *)displs)[i];
}

static const rota_mpi_blocks *sent(const rota_mpi_args *a)
{
    return a->send.buffer == MPI_IN_PLACE ? &a->recv : &a->send;
}

MPI_Count rota_mpi_block_bytes(const rota_mpi_args *a)
{
    static _Thread_local rota_mpi_type known = {.type = MPI_DATATYPE_NULL};
    const rota_mpi_blocks *const b = sent(a);

    if (know_type(&known, b->type) != MPI_SUCCESS)
        return 0;
    return rota_mpi_scaled(rota_mpi_count_at(a, b->counts, 0), known.size);
}

size_t rota_mpi_args_bytes(const rota_mpi_args *a)
{
    const rota_mpi_blocks *const b = sent(a);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Count bytes = 0, size = 0;
    int P = 0;

    PMPI_Comm_size(a->comm, &P);
    for (int i = 0; i < P && b->counts; i++) {
        const MPI_Count n = rota_mpi_count_at(a, b->counts, i);
        if (n == 0)
            continue;
        if (type != rota_mpi_type_at(b, i)) {
            type = rota_mpi_type_at(b, i);
            PMPI_Type_size_x(type, &size);
        }
        bytes += n * size;
    }
    return (size_t)bytes;
}

void rota_mpi_record(const rota_mpi_args *a)
{
    const rota_mpi_blocks *const b = sent(a);
    MPI_Count size = 0;
    int P = 0;

    if (!rota_record_wanted() || a->comm == MPI_COMM_NULL || !b->counts ||
        PMPI_Comm_size(a->comm, &P) != MPI_SUCCESS || rota_mpi_refused(a, P))
        return;
    PMPI_Type_size_x(b->type, &size);
    size_t *const bytes = malloc((size_t)P * sizeof *bytes);
    for (int i = 0; bytes && i < P; i++)
        bytes[i] =
            (size_t)rota_mpi_scaled(rota_mpi_count_at(a, b->counts, i), size);
    if (bytes)
        rota_record_call(a->comm, bytes);
    free(bytes);
}

static int make_room(rota_mpi_side *s)
{
    if (s->total <= s->room)
        return MPI_SUCCESS;
    const size_t half = s->room + s->room / 2;
    const size_t room = s->total > half ? s->total : half;
    char *const stage = realloc(s->stage, room);
    if (!stage)
        return rota_error_raise(MPI_COMM_NULL, MPI_ERR_NO_MEM,
                                "no memory to pack elements of a type");
    s->stage = stage;
    s->room = room;
    return MPI_SUCCESS;
}

/* All blocks of one size, as one. */
static int fill_one(rota_mpi_side *s, const rota_mpi_args *a,
                    const rota_mpi_blocks *b, int P)
{
    s->count[0] = rota_mpi_scaled(rota_mpi_count_at(a, b->counts, 0), P);
    s->place[0] = s->offset[0] = 0;
    s->bytes[0] = rota_mpi_scaled(s->count[0], s->known.size);
    s->total = (size_t)s->bytes[0];
    s->packed = !s->known.plain && b->buffer != MPI_IN_PLACE;
    return s->packed ? make_room(s) : MPI_SUCCESS;
}

/* NULL arrays, negative counts and other mistakes are left for Rota to find:
 * then nothing is packed. A count for all blocks becomes one for each. */
static int fill_each(rota_mpi_side *s, const rota_mpi_args *a,
                     const rota_mpi_blocks *b, int P)
{
    const bool one = a->shape == ROTA_MPI_ONE;
    bool valid = b->buffer != MPI_IN_PLACE;

    s->given = b->counts && (b->displs || one);
    s->total = 0;
    for (int i = 0; i < P && s->given; i++) {
        s->count[i] = rota_mpi_count_at(a, b->counts, i);
        s->place[i] = displaced(
            one ? i * s->count[i] : displ_at(a, b->displs, i), s->known.extent);
        s->bytes[i] = rota_mpi_scaled(s->count[i], s->known.size);
        s->offset[i] = s->known.plain ? s->place[i] : (MPI_Aint)s->total;
        valid = valid && s->bytes[i] >= 0 && s->bytes[i] < PTRDIFF_MAX / P;
        s->total += valid ? (size_t)s->bytes[i] : 0;
    }
    s->packed = s->given && valid && !s->known.plain;
    return s->packed ? make_room(s) : MPI_SUCCESS;
}

static int fill(rota_mpi_side *s, const rota_mpi_run *run,
                const rota_mpi_args *a, const rota_mpi_blocks *b)
{
    ROTA_MPI_TRY(know_type(&s->known, b->type));
    s->user = b->buffer;
    s->type = b->type;
    return run->uniform ? fill_one(s, a, b, run->P)
                        : fill_each(s, a, b, run->P);
}

static char *base(const rota_mpi_side *s)
{
    return s->packed ? s->stage : s->user;
}

static int pack(const rota_mpi_side *s, int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Count at = 0;
        if (s->bytes[i] == 0)
            continue;
        ROTA_MPI_TRY(PMPI_Pack_c(s->user + s->place[i], s->count[i], s->type,
                                 s->stage + s->offset[i], s->bytes[i], &at,
                                 MPI_COMM_SELF));
        if (at != s->bytes[i])
            return rota_error_raise(MPI_COMM_NULL, MPI_ERR_INTERN,
                                    "packing gave another size");
    }
    return MPI_SUCCESS;
}

static int unpack(const rota_mpi_side *s, int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Count at = 0;
        if (s->bytes[i] > 0)
            ROTA_MPI_TRY(PMPI_Unpack_c(s->stage + s->offset[i], s->bytes[i],
                                       &at, s->user + s->place[i], s->count[i],
                                       s->type, MPI_COMM_SELF));
    }
    return MPI_SUCCESS;
}

/* ---- running ---------------------------------------------------------------- */

static int start_uniform(rota_mpi_run *run, const void *from, void *to)
{
    if (from != run->plan_send || to != run->plan_recv)
        ROTA_MPI_TRY(rota_plan_set_buffers(run->plan, from, to));
    run->plan_send = from;
    run->plan_recv = to;
    return rota_start(run->plan);
}

static int start(rota_mpi_run *run, bool in_place)
{
    rota_mpi_side *const from = in_place ? &run->recv : &run->send;
    rota_mpi_side *const to = &run->recv;
    const void *const buffer = in_place ? MPI_IN_PLACE : base(from);

    if (from->packed)
        ROTA_MPI_TRY(pack(from, run->n));
    if (run->uniform)
        ROTA_MPI_TRY(start_uniform(run, buffer, base(to)));
    else
        ROTA_MPI_TRY(rota_alltoallv_start_c(
            run->plan, buffer, from->given ? from->bytes : NULL, from->offset,
            base(to), to->given ? to->bytes : NULL, to->offset));
    rota_mpi_count_start(from->total);
    return MPI_SUCCESS;
}

int rota_mpi_run_start(rota_mpi_run *run, const rota_mpi_args *a)
{
    const bool in_place = a->send.buffer == MPI_IN_PLACE;
    rota_mpi_side *const to = &run->recv;
    rota_mpi_blocks recv = a->recv;

    if (recv.buffer == MPI_IN_PLACE) /* MPI takes it where nothing comes */
        recv.buffer = NULL;
    ROTA_MPI_TRY(fill(to, run, a, &recv));
    if (!in_place)
        ROTA_MPI_TRY(fill(&run->send, run, a, &a->send));
    /* The program may free the type before the exchange is complete. */
    if (to->packed && run->request)
        ROTA_MPI_TRY(PMPI_Type_dup(to->type, &to->type));
    const int err = start(run, in_place);
    if (err != MPI_SUCCESS && to->packed && run->request)
        PMPI_Type_free(&to->type);
    return err;
}

int rota_mpi_run_finish(rota_mpi_run *run, int err)
{
    rota_mpi_side *const to = &run->recv;

    if (!to->packed)
        return err;
    const int unpacked = err == MPI_SUCCESS ? unpack(to, run->n) : err;
    const int freed = run->request ? PMPI_Type_free(&to->type) : MPI_SUCCESS;
    return unpacked == MPI_SUCCESS ? freed : unpacked;
}
