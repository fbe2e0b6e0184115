/* run.c - one MPI_Alltoallv by a varying plan of bytes.
 *
 * Counts and displacements become bytes; elements that are not bytes end to
 * end are packed on this rank into a stage, and unpacked from one.
 */
#include "mpi/shim.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ----------------------------------------------------------------- */

static bool make_side(rota_mpi_side *s, size_t P)
{
    s->known = MPI_DATATYPE_NULL;
    s->bytes = malloc(P * sizeof *s->bytes);
    s->offset = malloc(P * sizeof *s->offset);
    s->count = malloc(P * sizeof *s->count);
    s->place = malloc(P * sizeof *s->place);
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

rota_mpi_run *rota_mpi_run_make(int P, bool with_request)
{
    rota_mpi_run *const run = calloc(1, sizeof *run);

    if (!run)
        return NULL;
    run->P = P;
    const bool send_ok = make_side(&run->send, (size_t)P);
    const bool recv_ok = make_side(&run->recv, (size_t)P);
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
static int know_type(rota_mpi_side *s, MPI_Datatype type)
{
    MPI_Aint lb;
    bool predefined = false;

    if (type == s->known && type != MPI_DATATYPE_NULL)
        return MPI_SUCCESS;
    s->known = MPI_DATATYPE_NULL;
    ROTA_MPI_TRY(PMPI_Type_size_x(type, &s->size));
    ROTA_MPI_TRY(PMPI_Type_get_extent(type, &lb, &s->extent));
    ROTA_MPI_TRY(is_plain(type, &s->plain, &predefined));
    if (predefined)
        s->known = type;
    return MPI_SUCCESS;
}

/* ---- one side's arguments --------------------------------------------------- */

/* n * size, or a size beyond all memory, which Rota refuses. */
static MPI_Count scaled(MPI_Count n, MPI_Count size)
{
    const MPI_Count limit = PTRDIFF_MAX;

    if (size != 0 && (n > limit / size || n < -limit / size))
        return n > 0 ? limit : -limit;
    return n * size;
}

static MPI_Aint displaced(MPI_Aint n, MPI_Aint extent)
{
    const MPI_Aint far = extent < 0 ? -extent : extent;
    const MPI_Count product = scaled(n, far);

    return extent < 0 ? -(MPI_Aint)product : (MPI_Aint)product;
}

static MPI_Count count_at(const void *array, bool large, int i)
{
    return large ? ((const MPI_Count *)array)[i] : ((const int *)array)[i];
}

static MPI_Aint displ_at(const void *array, bool large, int i)
{
    return large ? ((const MPI_Aint *)array)[i] : ((const int *)array)[i];
}

size_t rota_mpi_args_bytes(const rota_mpi_args *a, MPI_Comm comm)
{
    const bool in_place = a->sendbuf == MPI_IN_PLACE;
    MPI_Count elements = 0, size = 0;
    int P = 0;

    PMPI_Comm_size(comm, &P);
    PMPI_Type_size_x(in_place ? a->recvtype : a->sendtype, &size);
    for (int i = 0; i < P; i++)
        elements +=
            count_at(in_place ? a->recvcounts : a->sendcounts, a->large, i);
    return (size_t)(elements * size);
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

/* NULL arrays, negative counts and other mistakes are left for Rota to find:
 * then nothing is packed. */
static int fill(rota_mpi_side *s, int P, char *user, const void *counts,
                const void *displs, bool large, MPI_Datatype type)
{
    bool valid = user != MPI_IN_PLACE;

    ROTA_MPI_TRY(know_type(s, type));
    s->user = user;
    s->type = type;
    s->given = counts && displs;
    s->total = 0;
    for (int i = 0; i < P && s->given; i++) {
        s->count[i] = count_at(counts, large, i);
        s->place[i] = displaced(displ_at(displs, large, i), s->extent);
        s->bytes[i] = scaled(s->count[i], s->size);
        s->offset[i] = s->plain ? s->place[i] : (MPI_Aint)s->total;
        valid = valid && s->bytes[i] >= 0 && s->bytes[i] < PTRDIFF_MAX / P;
        s->total += valid ? (size_t)s->bytes[i] : 0;
    }
    s->packed = s->given && valid && !s->plain;
    return s->packed ? make_room(s) : MPI_SUCCESS;
}

static char *base(const rota_mpi_side *s)
{
    return s->packed ? s->stage : s->user;
}

static int pack(const rota_mpi_side *s, int P)
{
    for (int i = 0; i < P; i++) {
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

static int unpack(const rota_mpi_side *s, int P)
{
    for (int i = 0; i < P; i++) {
        MPI_Count at = 0;
        if (s->bytes[i] > 0)
            ROTA_MPI_TRY(PMPI_Unpack_c(s->stage + s->offset[i], s->bytes[i],
                                       &at, s->user + s->place[i], s->count[i],
                                       s->type, MPI_COMM_SELF));
    }
    return MPI_SUCCESS;
}

/* ---- running ---------------------------------------------------------------- */

static int start(rota_mpi_run *run, bool in_place)
{
    rota_mpi_side *const from = in_place ? &run->recv : &run->send;
    rota_mpi_side *const to = &run->recv;

    if (from->packed)
        ROTA_MPI_TRY(pack(from, run->P));
    ROTA_MPI_TRY(rota_alltoallv_start_c(
        run->plan, in_place ? MPI_IN_PLACE : base(from),
        from->given ? from->bytes : NULL, from->offset, base(to),
        to->given ? to->bytes : NULL, to->offset));
    rota_mpi_count_start(from->total);
    return MPI_SUCCESS;
}

int rota_mpi_run_start(rota_mpi_run *run, const rota_mpi_args *a)
{
    const bool in_place = a->sendbuf == MPI_IN_PLACE;
    rota_mpi_side *const to = &run->recv;
    /* MPI takes it where nothing comes. */
    void *const recvbuf = a->recvbuf == MPI_IN_PLACE ? NULL : a->recvbuf;

    ROTA_MPI_TRY(fill(to, run->P, recvbuf, a->recvcounts, a->rdispls, a->large,
                      a->recvtype));
    /* What MPI takes as const it does not write. */
    if (!in_place)
        ROTA_MPI_TRY(fill(&run->send, run->P, (char *)a->sendbuf, a->sendcounts,
                          a->sdispls, a->large, a->sendtype));
    /* The program may free the type before the exchange is complete. */
    if (to->packed)
        ROTA_MPI_TRY(PMPI_Type_dup(to->type, &to->type));
    const int err = start(run, in_place);
    if (err != MPI_SUCCESS && to->packed)
        PMPI_Type_free(&to->type);
    return err;
}

int rota_mpi_run_finish(rota_mpi_run *run, int err)
{
    rota_mpi_side *const to = &run->recv;

    if (!to->packed)
        return err;
    const int unpacked = err == MPI_SUCCESS ? unpack(to, run->P) : err;
    const int freed = PMPI_Type_free(&to->type);
    return unpacked == MPI_SUCCESS ? freed : unpacked;
}
