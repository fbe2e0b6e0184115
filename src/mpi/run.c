/* run.c - see run.h. */
#include "mpi/run.h"
#include "mpi/plans.h"
#include "mpi/stats.h"

#include "plan/inside.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

/* A block as the program has it, for packing. */
typedef struct block {
    MPI_Count count;
    MPI_Aint place;    /* bytes from the program's buffer */
    MPI_Datatype type; /* MPI_DATATYPE_NULL if it is empty */
} block;

/* One side of an exchange, in n blocks of bytes; of a uniform one all blocks of a
 * side count as one. */
typedef struct side {
    int n;
    MPI_Count *bytes; /* [n] as Rota is told, as is offset */
    MPI_Aint *offset; /* [n] */
    char *user;       /* the program's buffer */
    char *stage;      /* what is packed */
    size_t room;      /* bytes of stage */
    size_t total;     /* bytes of all blocks */
    bool given;       /* arrays are not NULL */
    bool packed;      /* by way of stage */
    block *block;     /* [n] */
    rota_mpi_type known;
} side;

struct rota_mpi_run {
    bool uniform;
    int together; /* blocks of one size that count as one: P if uniform, else 1 */
    rota_mpi_fixed plan;
    side send, recv;
};

/* ---- making -------------------------------------------------------------- */

static void make_side(side *s, int n_blocks)
{
    const size_t n = (size_t)n_blocks;

    s->n = n_blocks;
    s->known.type = MPI_DATATYPE_NULL;
    s->bytes = rota_mpi_alloc(n, sizeof *s->bytes);
    s->offset = rota_mpi_alloc(n, sizeof *s->offset);
    s->block = rota_mpi_alloc(n, sizeof *s->block);
}

static void destroy_side(side *s)
{
    free(s->bytes);
    free(s->offset);
    free(s->block);
    free(s->stage);
}

int rota_mpi_run_make(const rota_mpi_args *args, MPI_Count bytes, bool little,
                      MPI_Comm ours, rota_mpi_run **run)
{
    rota_mpi_run *const r = rota_mpi_alloc(1, sizeof *r);

    r->uniform = bytes > 0;
    r->together = r->uniform ? args->send.n : 1;
    make_side(&r->send, r->uniform ? 1 : args->send.n);
    make_side(&r->recv, r->uniform ? 1 : args->recv.n);
    *run = r;
    return rota_mpi_make_bytes(ours, args, bytes, little, &r->plan.plan);
}

void rota_mpi_run_destroy(rota_mpi_run *run)
{
    if (!run)
        return;
    rota_plan_free(&run->plan.plan);
    destroy_side(&run->send);
    destroy_side(&run->recv);
    free(run);
}

/* ---- one side's arguments ------------------------------------------------ */

static int make_room(side *s)
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

/* Bytes from the buffer to block i, whose type has been looked up. */
static MPI_Aint place_of(const side *s, const rota_mpi_args *a,
                         const rota_mpi_blocks *b, int i)
{
    if (a->shape == ROTA_MPI_W)
        return rota_mpi_displ_at(a, b, i);
    if (a->shape == ROTA_MPI_V)
        return rota_mpi_scaled(rota_mpi_displ_at(a, b, i), s->known.extent);
    return rota_mpi_scaled(i * rota_mpi_count_at(a, b, i), s->known.extent);
}

/* Packed blocks lie end to end. */
static void line_up(side *s)
{
    MPI_Aint at = 0;

    for (int i = 0; i < s->n; i++) {
        s->offset[i] = at;
        at += s->bytes[i];
    }
}

/* If there are NULL arrays, negative counts or other mistakes, nothing is packed:
 * Rota reports them. One count for all blocks becomes one for each. The type of a
 * block without elements may be any handle. together: blocks that count as one. */
static int fill(side *s, int together, const rota_mpi_args *a,
                const rota_mpi_blocks *b)
{
    bool valid = true, plain = true;
    MPI_Datatype type = MPI_DATATYPE_NULL;

    s->user = b->buffer;
    s->given = b->counts && (b->displs || a->shape == ROTA_MPI_ONE) &&
               (b->types || a->shape != ROTA_MPI_W);
    s->total = 0;
    for (int i = 0; i < s->n && s->given; i++) {
        const int at = b->slots ? b->slots[i] : i;
        const MPI_Count n = s->block[at].count =
            rota_mpi_scaled(rota_mpi_moved_at(a, b, i), together);
        s->block[at].type = n ? rota_mpi_type_at(b, i) : MPI_DATATYPE_NULL;
        if (n && type != s->block[at].type)
            ROTA_MPI_TRY(rota_mpi_know(&s->known, type = s->block[at].type));
        s->block[at].place = s->offset[at] = n ? place_of(s, a, b, i) : 0;
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

static char *base(const side *s)
{
    return s->packed ? s->stage : s->user;
}

/* Pack block i, or unpack it. Adds the bytes to *at, which is 0. */
static int convert(const side *s, int i, bool out, MPI_Count *at)
{
    char *const user = s->user + s->block[i].place;
    char *const packed = s->stage + s->offset[i];
    const MPI_Datatype type = s->block[i].type;
    const MPI_Count n = s->block[i].count, bytes = s->bytes[i];

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

static int convert_all(const side *s, bool out)
{
    for (int i = 0; i < s->n; i++) {
        MPI_Count at = 0;
        if (s->bytes[i] == 0)
            continue;
        ROTA_MPI_TRY(convert(s, i, out, &at));
        if (out && at != s->bytes[i])
            return rota_error_raise(MPI_COMM_NULL, MPI_ERR_INTERN,
                                    "packing gave another size");
    }
    return MPI_SUCCESS;
}

/* ---- running ------------------------------------------------------------- */

/* Of blocks of various sizes. */
static int start_varying(rota_mpi_fixed *f, const side *from, const void *send,
                         const side *to, void *recv)
{
    f->send = send;
    f->recv = recv;
    return rota_alltoallv_start_c(
        f->plan, send, from->given ? from->bytes : NULL, from->offset, recv,
        to->given ? to->bytes : NULL, to->offset);
}

int rota_mpi_run_exchange(rota_mpi_run *run, const rota_mpi_args *a,
                          rota_mpi_repeat *r)
{
    const bool in_place = rota_mpi_is_in_place(a);
    side *const to = &run->recv, *const from = in_place ? to : &run->send;

    r->plan = NULL;
    ROTA_MPI_TRY(fill(to, run->together, a, &a->recv));
    if (!in_place)
        ROTA_MPI_TRY(fill(from, run->together, a, &a->send));
    if (from->packed)
        ROTA_MPI_TRY(convert_all(from, true));
    const void *const buffer = in_place ? MPI_IN_PLACE : base(from);
    if (run->uniform)
        ROTA_MPI_TRY(rota_mpi_start_on(&run->plan, buffer, base(to)));
    else
        ROTA_MPI_TRY(start_varying(&run->plan, from, buffer, to, base(to)));
    rota_mpi_count_start(from->total);
    ROTA_MPI_TRY(rota_wait(run->plan.plan));
    if (!from->packed && !to->packed)
        rota_mpi_repeat_keep(r, a, &run->plan);
    return to->packed ? convert_all(to, false) : MPI_SUCCESS;
}
