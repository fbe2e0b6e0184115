/* layout.c - see layout.h. */
#include "base/layout.h"

#include <stdlib.h>
#include <string.h>

void rota_layout_free(rota_layout *l)
{
    free(l->nest);
    *l = (rota_layout){0};
}

static int append(rota_layout *l, const rota_nest *nest)
{
    if (l->n == ROTA_MOST_NESTS) {
        l->unknown = true;
        return MPI_SUCCESS;
    }
    if (l->n == l->room) {
        const size_t room = l->room ? 2 * l->room : 1;
        rota_nest *const more = realloc(l->nest, room * sizeof *more);
        if (!more)
            return rota_fail_mem("the layout of a datatype");
        l->nest = more;
        l->room = room;
    }
    l->nest[l->n++] = *nest;
    return MPI_SUCCESS;
}

/* Extend the last nest by a row that starts where it ends, or that continues
 * its rows at their distance. Returns false if the row does neither. */
static bool extend(rota_nest *last, ptrdiff_t at, size_t width)
{
    const ptrdiff_t apart = at - last->at;

    if (last->depth == 0 && apart == (ptrdiff_t)last->width) {
        last->width += width;
        return true;
    }
    if (last->depth > 1 || width != last->width)
        return false;
    if (last->depth == 0) {
        last->depth = 1;
        last->dim[0] = (rota_dim){2, apart};
        return true;
    }
    if (apart != (ptrdiff_t)last->dim[0].n * last->dim[0].step)
        return false;
    last->dim[0].n++;
    return true;
}

int rota_layout_add_row(rota_layout *l, ptrdiff_t at, size_t width)
{
    rota_nest *const last = l->n > 0 ? &l->nest[l->n - 1] : NULL;

    if (width == 0 || l->unknown)
        return MPI_SUCCESS;
    if (last && extend(last, at, width))
        return MPI_SUCCESS;
    return append(l, &(rota_nest){.at = at, .width = width});
}

int rota_layout_add(rota_layout *l, const rota_layout *more, ptrdiff_t shift)
{
    l->unknown = l->unknown || more->unknown;
    for (size_t i = 0; i < more->n && !l->unknown; i++) {
        rota_nest nest = more->nest[i];
        nest.at += shift;
        ROTA_TRY(nest.depth == 0 ? rota_layout_add_row(l, nest.at, nest.width)
                                 : append(l, &nest));
    }
    return MPI_SUCCESS;
}

/* Make one nest of n copies of a nest. Returns false if it would be too
 * deep. */
static bool deepen(rota_nest *nest, size_t n, ptrdiff_t step)
{
    if (nest->depth == 0 && step == (ptrdiff_t)nest->width) {
        nest->width *= n;
        return true;
    }
    if (nest->depth > 0 &&
        step == (ptrdiff_t)nest->dim[0].n * nest->dim[0].step) {
        nest->dim[0].n *= n;
        return true;
    }
    if (nest->depth == ROTA_NEST_DEPTH)
        return false;
    memmove(nest->dim + 1, nest->dim,
            (size_t)nest->depth * sizeof nest->dim[0]);
    nest->dim[0] = (rota_dim){n, step};
    nest->depth++;
    return true;
}

/* Append n - 1 copies of all nests. */
static int write_out(rota_layout *l, size_t n, ptrdiff_t step)
{
    const size_t before = l->n;

    for (size_t k = 1; k < n && !l->unknown; k++)
        for (size_t i = 0; i < before && !l->unknown; i++) {
            rota_nest nest = l->nest[i];
            nest.at += (ptrdiff_t)k * step;
            ROTA_TRY(append(l, &nest));
        }
    return MPI_SUCCESS;
}

int rota_layout_repeat(rota_layout *l, size_t n, ptrdiff_t step)
{
    if (n == 0)
        l->n = 0;
    if (n <= 1 || l->n == 0)
        return MPI_SUCCESS;
    if (l->n == 1 && deepen(&l->nest[0], n, step))
        return MPI_SUCCESS;
    return write_out(l, n, step);
}

void rota_layout_seal(rota_layout *l)
{
    size_t before = 0;

    for (size_t i = 0; i < l->n; i++) {
        l->nest[i].before = before;
        before += rota_nest_bytes(&l->nest[i]);
    }
}
