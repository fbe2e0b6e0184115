/* counted.c - see counted.h. */
#include "plan/kinds/counted.h"
#include "exec/move/blocks.h"

#include <limits.h>
#include <stdlib.h>

/* ---- making -------------------------------------------------------------- */

/* Blocks are put end to end, so elements must not reach beyond their extent. */
static int check_extent(MPI_Datatype type)
{
    MPI_Aint lb, extent, true_lb, true_extent;

    ROTA_TRY(MPI_Type_get_extent(type, &lb, &extent));
    ROTA_TRY(MPI_Type_get_true_extent(type, &true_lb, &true_extent));
    if (true_lb < 0 || true_lb + true_extent > extent)
        return rota_fail(MPI_ERR_TYPE,
                         "type has data outside 0 to its extent, %lld bytes",
                         (long long)extent);
    return MPI_SUCCESS;
}

/* Elements of no more bytes than they are apart, from the buffer's first on. */
static bool is_usual(const rota_unit *unit)
{
    return unit->small && unit->true_lb == 0 &&
           unit->displ == (ptrdiff_t)unit->element;
}

int rota_counted_prepare(rota_task *t, const rota_args *args)
{
    rota_counted *const own = t->own = calloc(1, t->kind->own_bytes);

    if (!own)
        return rota_fail_mem("a plan");
    ROTA_TRY(rota_types_make(args->recv.type, "type", t->comm->dup,
                             &t->problem.recv.types, &own->unit));
    t->problem.recv.element = own->unit.element;
    own->plain = rota_types_are_bytes(&t->problem.recv.types);
    own->usual = own->plain && is_usual(&own->unit) && !t->problem.neighbors &&
                 !t->leaves_own && !t->use.device;
    return t->kind->collects ? check_extent(args->recv.type) : MPI_SUCCESS;
}

/* Counts are in elements of one size. */
void rota_counted_vote(const rota_task *t, rota_alike *alike, rota_vote *vote)
{
    const rota_counted *const own = t->own;

    (void)vote;
    rota_alike_add(alike, "size of type", own ? own->unit.element : 0);
}

void rota_counted_forget(rota_task *t)
{
    free(t->own);
    t->own = NULL;
}

/* ---- starting ------------------------------------------------------------ */

/* Anything but ints of a common type. */
int rota_counted_fill_any(const rota_built *b, const rota_start_args *args,
                          rota_region side, size_t *largest)
{
    const rota_sched *const s = &b->sched;
    const bool sent = side == ROTA_SRC;
    const rota_start_side *const from = sent ? &args->send : &args->recv;
    const rota_block first = sent ? rota_src(s, 0) : rota_dst(s, 0);
    size_t *const bytes = b->exec.blocks.bytes + first;
    const rota_side_args a = {.form = args->form,
                              .base = from->base,
                              .counts = from->counts,
                              .displs = from->displs,
                              .name = sent ? "send" : "recv",
                              .n = sent ? s->n_send : s->n_recv,
                              .unit = &rota_counted_of(b)->unit};

    ROTA_TRY(rota_side_fill(&a, bytes, b->exec.blocks.offset + first));
    *largest = 0;
    for (int i = 0; i < a.n; i++)
        *largest = bytes[i] > *largest ? bytes[i] : *largest;
    return MPI_SUCCESS;
}

void rota_counted_leave_own(const rota_built *b, rota_region side)
{
    const rota_sched *const s = &b->sched;

    for (int k = 0; k < rota_n_own(s); k++) {
        const rota_own own = rota_own_block(s, k);
        b->exec.blocks.bytes[side == ROTA_SRC ? rota_src(s, own.send)
                                              : rota_dst(s, own.recv)] = 0;
    }
}

void rota_counted_find_left_out(rota_built *b, rota_block end)
{
    const rota_sched *const s = &b->sched;
    const bool sized = b->choice.metadata != ROTA_META_ONCE;
    rota_exec *const x = &b->exec;
    size_t *const bytes = x->blocks.bytes;

    for (rota_block i = 0; i < end; i++) {
        const bool sent = i < (rota_block)s->n_send;
        const int slot = (int)rota_block_slot(s, i);
        const int peer = sent ? rota_to(s, slot) : rota_from(s, slot);
        if (bytes[i] <= x->max_block)
            continue;
        rota_status_note(&x->status, ROTA_ABOVE_BOUND, peer, bytes[i], 0);
        bytes[i] =
            sized && sent && peer != s->me ? bytes[i] | ROTA_LEFT_OUT : 0;
    }
}

/* ---- collecting ---------------------------------------------------------- */

int rota_counted_find_buffer(const rota_built *b, size_t bytes, char **out,
                             size_t *room, char **buffer)
{
    const rota_counted *const own = rota_counted_of(b);

    if (own->buffer && bytes > own->room)
        return rota_fail(MPI_ERR_BUFFER,
                         "blocks of %zu bytes in all do not fit the buffer of "
                         "%zu",
                         bytes, own->room);
    if (!own->buffer)
        ROTA_TRY(rota_grow(out, room, bytes, "what an exchange receives"));
    *buffer = own->buffer ? own->buffer : *out;
    return MPI_SUCCESS;
}

bool rota_counted_note(const rota_found *found, int i, size_t n, size_t at)
{
    if (found->large && found->counts)
        ((MPI_Count *)found->counts)[i] = (MPI_Count)n;
    else if (found->counts)
        ((int *)found->counts)[i] = (int)n;
    if (found->large && found->displs)
        ((MPI_Aint *)found->displs)[i] = (MPI_Aint)at;
    else if (found->displs)
        ((int *)found->displs)[i] = (int)at;
    return found->large || ((!found->counts || n <= INT_MAX) &&
                            (!found->displs || at <= INT_MAX));
}
