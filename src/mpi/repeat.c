/* repeat.c - see repeat.h. */
#include "mpi/repeat.h"

#include "plan/inside.h"

#include <stdlib.h>

atomic_uint rota_mpi_n_types_freed;

/* ---- types --------------------------------------------------------------- */

static int keyval = MPI_KEYVAL_INVALID;

/* MPI may use the handle for another type from now on. */
static int on_free(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    (void)key;
    (void)value;
    (void)extra;
    atomic_fetch_add(&rota_mpi_n_types_freed, 1);
    return MPI_SUCCESS;
}

void rota_mpi_repeat_begin(void)
{
    PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, on_free, &keyval, NULL);
}

void rota_mpi_repeat_end(void)
{
    if (keyval != MPI_KEYVAL_INVALID)
        PMPI_Type_free_keyval(&keyval);
}

/* From now on it is known when the type is freed. */
static bool watch(MPI_Datatype type)
{
    bool valid;
    int found = 0;
    void *unused;

    if (rota_mpi_is_predefined(type, &valid))
        return true;
    return valid && keyval != MPI_KEYVAL_INVALID &&
           PMPI_Type_get_attr(type, keyval, &unused, &found) == MPI_SUCCESS &&
           (found || PMPI_Type_set_attr(type, keyval, NULL) == MPI_SUCCESS);
}

static bool watch_all(const rota_mpi_args *a, const rota_mpi_blocks *b)
{
    bool all = b->types || watch(b->type);

    for (int i = 0; b->types && i < b->n && all; i++)
        all = rota_mpi_count_at(a, b, i) == 0 ||
              (i > 0 && b->types[i] == b->types[i - 1]) || watch(b->types[i]);
    return all;
}

/* ---- keeping ------------------------------------------------------------- */

static void keep_side(rota_mpi_kept *k, const rota_mpi_args *a,
                      const rota_mpi_blocks *b)
{
    k->type = b->type;
    k->count = a->shape == ROTA_MPI_ONE ? rota_mpi_count_at(a, b, 0) : 0;
}

/* Bytes of each array, in their order. */
static void measure(rota_mpi_repeat *r, const rota_mpi_args *a)
{
    const bool one = a->shape == ROTA_MPI_ONE;
    const size_t n[2] = {one || rota_mpi_is_in_place(a) ? 0 : (size_t)a->send.n,
                         one ? 0 : (size_t)a->recv.n};

    for (int side = 0; side < 2; side++) {
        r->bytes_of[side] =
            n[side] * (a->large ? sizeof(MPI_Count) : sizeof(int));
        r->bytes_of[2 + side] =
            a->shape == ROTA_MPI_W ? n[side] * sizeof(MPI_Datatype) : 0;
        r->bytes_of[4 + side] =
            n[side] * (a->far ? sizeof(MPI_Aint) : sizeof(int));
    }
    const size_t first = r->bytes_of[0];
    const size_t third = r->bytes_of[a->shape == ROTA_MPI_W ? 2 : 4];
    r->bytes = n[0] == n[1] && first == third && first >= 8 ? first : 0;
    r->last = first - 8;
    r->last_displs = r->bytes_of[4] - 8;
}

static void copy_lists(rota_mpi_repeat *r, const rota_mpi_args *a)
{
    const void *const list[ROTA_MPI_LISTS] = {a->send.counts, a->recv.counts,
                                              a->send.types,  a->recv.types,
                                              a->send.displs, a->recv.displs};
    size_t bytes = 0;

    for (int i = 0; i < ROTA_MPI_LISTS; i++)
        bytes += r->bytes_of[i];
    if (bytes > r->room) {
        free(r->memory);
        r->memory = rota_mpi_alloc(bytes, 1);
        r->room = bytes;
    }
    char *at = r->memory;
    for (int i = 0; i < ROTA_MPI_LISTS; at += r->bytes_of[i++])
        if (r->bytes_of[i] > 0)
            memcpy(at, list[i], r->bytes_of[i]);
}

void rota_mpi_repeat_keep(rota_mpi_repeat *r, const rota_mpi_args *a,
                          rota_mpi_fixed *plan)
{
    r->plan = NULL;
    if (!rota_plan_repeats(plan->plan) || !watch_all(a, &a->recv) ||
        (!rota_mpi_is_in_place(a) && !watch_all(a, &a->send)))
        return;
    r->n_freed = rota_mpi_n_types_freed;
    r->large = a->large;
    r->in_place = rota_mpi_is_in_place(a);
    keep_side(&r->send, a, &a->send);
    keep_side(&r->recv, a, &a->recv);
    measure(r, a);
    copy_lists(r, a);
    r->plan = plan;
}

bool rota_mpi_same_each(const rota_mpi_repeat *r,
                        const void *const list[ROTA_MPI_LISTS])
{
    const char *at = r->memory;
    bool same = true;

    for (int i = 0; i < ROTA_MPI_LISTS && same; at += r->bytes_of[i++])
        same = r->bytes_of[i] == 0 || !memcmp(at, list[i], r->bytes_of[i]);
    return same;
}

void rota_mpi_repeat_drop(rota_mpi_repeat *r)
{
    free(r->memory);
    *r = (rota_mpi_repeat){0};
}

/* ---- running ------------------------------------------------------------- */

/* Elsewhere MPI may refuse a buffer, or mean something by it. */
static bool is_usual(const void *buffer)
{
    return buffer && buffer != MPI_IN_PLACE;
}

/* False: these buffers say more than where blocks are. */
static __attribute__((noinline)) bool move(rota_mpi_fixed *f, const void *send,
                                           void *recv, int *err)
{
    const bool stays = send == MPI_IN_PLACE && f->send == MPI_IN_PLACE;

    if (!is_usual(recv) || send == recv ||
        !(stays || (is_usual(send) && f->send != MPI_IN_PLACE)))
        return false;
    *err = rota_plan_move(f->plan, send, recv);
    f->send = send;
    f->recv = recv;
    return true;
}

bool rota_mpi_repeat_run(rota_mpi_repeat *r, const char *function,
                         const void *sendbuf, void *recvbuf, int *err)
{
    rota_mpi_fixed *const f = r->plan;

    *err = MPI_SUCCESS;
    if ((sendbuf != f->send || recvbuf != f->recv) &&
        !move(f, sendbuf, recvbuf, err))
        return false;
    if (*err == MPI_SUCCESS)
        *err = rota_plan_repeat(f->plan, function);
    if (*err != MPI_SUCCESS)
        r->plan = NULL;
    return true;
}
