/* run.c - runs an exchange by a plan of bytes: a varying plan or, if all blocks
 * have one size, a fixed one.
 *
 * Counts and displacements are converted to bytes. Elements that are not
 * contiguous are packed into a stage on this rank, and unpacked from one.
 */
#include "mpi/shim.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- making -------------------------------------------------------------- */

static bool make_side(rota_mpi_side *s, int n_blocks)
{
    const size_t n = (size_t)n_blocks + 1; /* some memory for none, too */

    s->n = n_blocks;
    s->known.type = MPI_DATATYPE_NULL;
    s->bytes = malloc(n * sizeof *s->bytes);
    s->offset = malloc(n * sizeof *s->offset);
    s->count = malloc(n * sizeof *s->count);
    s->place = malloc(n * sizeof *s->place);
    s->type = malloc(n * sizeof *s->type);
    return s->bytes && s->offset && s->count && s->place && s->type;
}

static void destroy_side(rota_mpi_side *s)
{
    free(s->bytes);
    free(s->offset);
    free(s->count);
    free(s->place);
    free(s->type);
    free(s->stage);
}

rota_mpi_run *rota_mpi_run_make(const rota_mpi_args *args, bool uniform,
                                bool with_request)
{
    rota_mpi_run *const run = calloc(1, sizeof *run);

    if (!run)
        return NULL;
    run->P = args->send.n;
    run->uniform = uniform;
    const bool send_ok = make_side(&run->send, uniform ? 1 : args->send.n);
    const bool recv_ok = make_side(&run->recv, uniform ? 1 : args->recv.n);
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

/* ---- datatypes ----------------------------------------------------------- */

static int is_plain(MPI_Datatype type, bool *plain, bool *predefined);

/* Is the inner type of a duplicate or contiguous type plain? */
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

/* Are elements just their bytes, end to end and in order? */
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

/* Predefined types are never freed, so what is known of one remains true. */
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

/* ---- one side's arguments ------------------------------------------------ */

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
    return a->far ? ((const MPI_Aint *)displs)[i] : ((const int *)displs)[i];
}

/* Blocks of MPI_PROC_NULL are not touched. */
static MPI_Count moved_at(const rota_mpi_args *a, const rota_mpi_blocks *b,
                          int i)
{
    return b->peers && b->peers[i] == MPI_PROC_NULL
               ? 0
               : rota_mpi_count_at(a, b->counts, i);
}

static bool is_in_place(const rota_mpi_args *a)
{
    return a->send.buffer == MPI_IN_PLACE && !a->neighbors;
}

static const rota_mpi_blocks *sent(const rota_mpi_args *a)
{
    return is_in_place(a) ? &a->recv : &a->send;
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

    for (int i = 0; i < b->n && b->counts; i++) {
        const MPI_Count n = moved_at(a, b, i);
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

void rota_mpi_record(rota_mpi_args *a)
{
    const rota_mpi_blocks *const b = sent(a);
    MPI_Count size = 0;
    bool known;
    int P = 0;

    if (!rota_record_wanted() || a->comm == MPI_COMM_NULL || !b->counts ||
        PMPI_Comm_size(a->comm, &P) != MPI_SUCCESS)
        return;
    if (b->n == 0) /* nobody has asked for it */
        rota_mpi_comm_get(a, &known);
    if (rota_mpi_refused(a))
        return;
    size_t *const bytes = calloc((size_t)P, sizeof *bytes);
    for (int i = 0; bytes && i < b->n; i++) {
        const MPI_Count n = moved_at(a, b, i);
        if (n > 0)
            PMPI_Type_size_x(rota_mpi_type_at(b, i), &size);
        if (n > 0)
            bytes[b->peers ? b->peers[i] : i] +=
                (size_t)rota_mpi_scaled(n, size);
    }
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

/* Treat all blocks, which have one size, as one. */
static int fill_one(rota_mpi_side *s, const rota_mpi_args *a,
                    const rota_mpi_blocks *b, int P)
{
    s->count[0] = rota_mpi_scaled(rota_mpi_count_at(a, b->counts, 0), P);
    s->place[0] = s->offset[0] = 0;
    s->bytes[0] = rota_mpi_scaled(s->count[0], s->known.size);
    s->total = (size_t)s->bytes[0];
    s->type[0] = b->type;
    s->packed = !s->known.plain && b->buffer != MPI_IN_PLACE;
    return s->packed ? make_room(s) : MPI_SUCCESS;
}

/* Bytes from the buffer to block i, whose type has been looked up. */
static MPI_Aint place_of(const rota_mpi_side *s, const rota_mpi_args *a,
                         const rota_mpi_blocks *b, int i)
{
    if (a->shape == ROTA_MPI_W)
        return displ_at(a, b->displs, i);
    if (a->shape == ROTA_MPI_V)
        return displaced(displ_at(a, b->displs, i), s->known.extent);
    return displaced(i * rota_mpi_count_at(a, b->counts, i), s->known.extent);
}

/* Packed blocks lie end to end. */
static void line_up(rota_mpi_side *s)
{
    MPI_Aint at = 0;

    for (int i = 0; i < s->n; i++) {
        s->offset[i] = at;
        at += s->bytes[i];
    }
}

/* If there are NULL arrays, negative counts or other mistakes, nothing is packed:
 * Rota reports them. One count for all blocks becomes one for each. The type of a
 * block without elements may be any handle. */
static int fill_each(rota_mpi_side *s, const rota_mpi_args *a,
                     const rota_mpi_blocks *b)
{
    bool valid = b->buffer != MPI_IN_PLACE, plain = true;
    MPI_Datatype type = MPI_DATATYPE_NULL;

    s->given = b->counts && (b->displs || a->shape == ROTA_MPI_ONE) &&
               (b->types || a->shape != ROTA_MPI_W);
    s->total = 0;
    for (int i = 0; i < s->n && s->given; i++) {
        const int at = b->slots ? b->slots[i] : i;
        const MPI_Count n = s->count[at] = moved_at(a, b, i);
        s->type[at] = n ? rota_mpi_type_at(b, i) : MPI_DATATYPE_NULL;
        if (n && type != s->type[at])
            ROTA_MPI_TRY(know_type(&s->known, type = s->type[at]));
        s->place[at] = s->offset[at] = n ? place_of(s, a, b, i) : 0;
        s->bytes[at] = n ? rota_mpi_scaled(n, s->known.size) : 0;
        plain = plain && (!n || s->known.plain);
        valid = valid && s->bytes[at] >= 0 && s->bytes[at] < PTRDIFF_MAX / s->n;
        s->total += valid ? (size_t)s->bytes[at] : 0;
    }
    s->packed = s->given && valid && !plain;
    if (!s->packed)
        return MPI_SUCCESS;
    line_up(s);
    return make_room(s);
}

static int fill(rota_mpi_side *s, const rota_mpi_run *run,
                const rota_mpi_args *a, const rota_mpi_blocks *b)
{
    s->user = b->buffer;
    if (!run->uniform)
        return fill_each(s, a, b);
    ROTA_MPI_TRY(know_type(&s->known, b->type));
    return fill_one(s, a, b, run->P);
}

static char *base(const rota_mpi_side *s)
{
    return s->packed ? s->stage : s->user;
}

/* Pack block i, or unpack it. Adds the bytes to *at, which is 0. */
static int convert(const rota_mpi_side *s, int i, bool out, MPI_Count *at)
{
    char *const user = s->user + s->place[i];
    char *const packed = s->stage + s->offset[i];
    const MPI_Datatype type = s->type[i];
    const MPI_Count n = s->count[i], bytes = s->bytes[i];

#if ROTA_MPI_HAS_LARGE
    return out ? PMPI_Pack_c(user, n, type, packed, bytes, at, MPI_COMM_SELF)
               : PMPI_Unpack_c(packed, bytes, at, user, n, type, MPI_COMM_SELF);
#else
    /* In pieces whose bytes an int can count. An element of more is MPI's to
     * refuse. */
    const MPI_Count fit = INT_MAX / (bytes / n), most = fit > 0 ? fit : 1;
    MPI_Aint lb, extent;

    ROTA_MPI_TRY(PMPI_Type_get_extent(type, &lb, &extent));
    for (MPI_Count k = 0; k < n; k += most) {
        const int now = (int)(n - k < most ? n - k : most);
        char *const data = user + k * extent;
        int used = 0;
        ROTA_MPI_TRY(out ? PMPI_Pack(data, now, type, packed + *at, INT_MAX,
                                     &used, MPI_COMM_SELF)
                         : PMPI_Unpack(packed + *at, INT_MAX, &used, data, now,
                                       type, MPI_COMM_SELF));
        *at += used;
    }
    return MPI_SUCCESS;
#endif
}

static int pack(const rota_mpi_side *s)
{
    for (int i = 0; i < s->n; i++) {
        MPI_Count at = 0;
        if (s->bytes[i] == 0)
            continue;
        ROTA_MPI_TRY(convert(s, i, true, &at));
        if (at != s->bytes[i])
            return rota_error_raise(MPI_COMM_NULL, MPI_ERR_INTERN,
                                    "packing gave another size");
    }
    return MPI_SUCCESS;
}

static int unpack(const rota_mpi_side *s)
{
    for (int i = 0; i < s->n; i++) {
        MPI_Count at = 0;
        if (s->bytes[i] > 0)
            ROTA_MPI_TRY(convert(s, i, false, &at));
    }
    return MPI_SUCCESS;
}

/* ---- running ------------------------------------------------------------- */

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
        ROTA_MPI_TRY(pack(from));
    if (run->uniform)
        ROTA_MPI_TRY(start_uniform(run, buffer, base(to)));
    else
        ROTA_MPI_TRY(rota_alltoallv_start_c(
            run->plan, buffer, from->given ? from->bytes : NULL, from->offset,
            base(to), to->given ? to->bytes : NULL, to->offset));
    rota_mpi_count_start(from->total);
    return MPI_SUCCESS;
}

/* Is block i the last of consecutive ones with the same type? */
static bool is_last_of_type(const rota_mpi_side *s, int i)
{
    return i == s->n - 1 || s->type[i] != s->type[i + 1];
}

static int free_types(rota_mpi_side *s)
{
    int err = MPI_SUCCESS;

    for (int i = 0; i < s->n; i++)
        if (s->type[i] != MPI_DATATYPE_NULL && is_last_of_type(s, i)) {
            MPI_Datatype type = s->type[i];
            const int freed = PMPI_Type_free(&type);
            err = err == MPI_SUCCESS ? freed : err;
        }
    return err;
}

/* Keep the types: the program may free them before the exchange is complete. */
static int keep_types(rota_mpi_side *s)
{
    MPI_Datatype before = MPI_DATATYPE_NULL, kept = MPI_DATATYPE_NULL;
    int err = MPI_SUCCESS;

    for (int i = 0; i < s->n; i++) {
        const MPI_Datatype type = s->type[i];
        s->type[i] = MPI_DATATYPE_NULL;
        if (type == MPI_DATATYPE_NULL || err != MPI_SUCCESS)
            before = MPI_DATATYPE_NULL;
        else if (type != before)
            err = PMPI_Type_dup(before = type, &kept);
        if (type != MPI_DATATYPE_NULL && err == MPI_SUCCESS)
            s->type[i] = kept;
    }
    if (err != MPI_SUCCESS)
        free_types(s);
    return err;
}

int rota_mpi_run_start(rota_mpi_run *run, const rota_mpi_args *a)
{
    const bool in_place = is_in_place(a);
    rota_mpi_side *const to = &run->recv;
    rota_mpi_blocks recv = a->recv, send = a->send;

    if (recv.buffer == MPI_IN_PLACE) /* MPI takes it where nothing comes */
        recv.buffer = NULL;
    if (send.buffer == MPI_IN_PLACE) /* and among neighbours likewise */
        send.buffer = NULL;
    ROTA_MPI_TRY(fill(to, run, a, &recv));
    if (!in_place)
        ROTA_MPI_TRY(fill(&run->send, run, a, &send));
    if (to->packed && run->request)
        ROTA_MPI_TRY(keep_types(to));
    const int err = start(run, in_place);
    if (err != MPI_SUCCESS && to->packed && run->request)
        free_types(to);
    return err;
}

int rota_mpi_run_finish(rota_mpi_run *run, int err)
{
    rota_mpi_side *const to = &run->recv;

    if (!to->packed)
        return err;
    const int unpacked = err == MPI_SUCCESS ? unpack(to) : err;
    const int freed = run->request ? free_types(to) : MPI_SUCCESS;
    return unpacked == MPI_SUCCESS ? freed : unpacked;
}

/* ---- persistent, with receive blocks in another order -------------------- */

/* Convert arguments to arrays of MPI_Count and MPI_Aint. */
typedef struct arrays {
    MPI_Count *counts;
    MPI_Aint *displs;
    MPI_Datatype *types;
} arrays;

static void free_arrays(arrays *x)
{
    free(x->counts);
    free(x->displs);
    free(x->types);
}

/* If the caller has no array, neither has the result. */
static bool make_arrays(arrays *x, const rota_mpi_args *a, rota_mpi_blocks *b)
{
    const size_t n = (size_t)b->n + 1;
    const bool one = a->shape == ROTA_MPI_ONE;

    *x = (arrays){malloc(n * sizeof *x->counts), malloc(n * sizeof *x->displs),
                  malloc(n * sizeof *x->types)};
    if (!x->counts || !x->displs || !x->types)
        return false;
    for (int i = 0; i < b->n; i++) {
        const int at = b->slots ? b->slots[i] : i;
        const MPI_Count count =
            b->counts ? rota_mpi_count_at(a, b->counts, i) : 0;
        x->counts[at] = count;
        x->displs[at] = one         ? (MPI_Aint)rota_mpi_scaled(count, i)
                        : b->displs ? displ_at(a, b->displs, i)
                                    : 0;
        x->types[at] = b->types ? b->types[i] : MPI_DATATYPE_NULL;
    }
    b->counts = b->counts ? x->counts : NULL;
    b->displs = b->displs || one ? x->displs : NULL;
    b->types = b->types ? x->types : NULL;
    return true;
}

int rota_mpi_make_reordered(const rota_mpi_args *from, MPI_Info info,
                            rota_plan **plan)
{
    rota_mpi_args a = *from;
    arrays send = {0}, recv = {0};
    const bool made =
        make_arrays(&send, from, &a.send) && make_arrays(&recv, from, &a.recv);

    /* Without a place for the plan, Rota refuses on all ranks. */
    a.large = a.far = true;
    if (made && a.shape == ROTA_MPI_ONE) {
        a.shape = ROTA_MPI_V;
        a.call = ROTA_MPI_NEIGHBOR_ALLTOALLV;
    }
    const int err = rota_mpi_make_plan(&a, info, made ? plan : NULL);
    free_arrays(&send);
    free_arrays(&recv);
    return err;
}
