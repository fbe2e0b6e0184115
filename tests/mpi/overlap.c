/* overlap.c - which blocks share bytes, compared with counting every byte, for
 * types of every constructor.
 *
 * usage: overlap [SEED]
 */
#include "common/quick.h"
#include "harness.h"
#include "pattern.h"

#include "plan/args/overlap.h"
#include "plan/args/pieces.h"
#include "plan/args/types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 20000, P = 4, ROOM = 1 << 16, MIDDLE = ROOM / 2 };

static uint64_t seed;
static unsigned char image[ROOM]; /* bit 0: received, bit 1: sent */
static char again[100];

static int draw(int n)
{
    seed++;
    return (int)(test_hash(seed) % (uint64_t)n);
}

/* ---- types --------------------------------------------------------------- */

static MPI_Datatype make_type(int depth);

static MPI_Datatype leaf(void)
{
    static const MPI_Datatype all[] = {MPI_BYTE, MPI_INT, MPI_SHORT};

    return all[draw(3)];
}

static MPI_Datatype make_subarray(MPI_Datatype inner)
{
    int size[3], sub[3], start[3];
    const int n = 1 + draw(3);
    MPI_Datatype type;

    for (int i = 0; i < n; i++) {
        size[i] = 1 + draw(4);
        sub[i] = 1 + draw(size[i]);
        start[i] = draw(size[i] - sub[i] + 1);
    }
    MPI_Type_create_subarray(n, size, sub, start,
                             draw(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, inner,
                             &type);
    return type;
}

static MPI_Datatype make_darray(MPI_Datatype inner)
{
    const int size[2] = {4, 6}, grid[2] = {2, 2};
    const int how[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
    const int by[2] = {1, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Datatype type;

    /* Open MPI 4.1 refuses some. */
    if (MPI_Type_create_darray(4, draw(4), 2, size, how, by, grid, MPI_ORDER_C,
                               inner, &type) != MPI_SUCCESS)
        MPI_Type_dup(inner, &type);
    return type;
}

static MPI_Datatype make_listed(MPI_Datatype inner, int kind)
{
    int length[3], place[3];
    MPI_Aint at[3];
    MPI_Datatype type, inners[3] = {inner, MPI_BYTE, inner};

    for (int i = 0; i < 3; i++) {
        length[i] = draw(3);
        place[i] = 4 * i + draw(5);
        at[i] = 40 * i + draw(50) - 20;
    }
    switch (kind) {
    case 0:
        MPI_Type_indexed(3, length, place, inner, &type);
        break;
    case 1:
        MPI_Type_create_hindexed(3, length, at, inner, &type);
        break;
    case 2:
        MPI_Type_create_indexed_block(3, 1 + draw(2), place, inner, &type);
        break;
    case 3:
        MPI_Type_create_hindexed_block(3, 1 + draw(2), at, inner, &type);
        break;
    default:
        MPI_Type_create_struct(3, length, at, inners, &type);
    }
    return type;
}

static MPI_Datatype make_of(MPI_Datatype inner)
{
    MPI_Datatype type;
    const int kind = draw(12);

    switch (kind) {
    case 0:
        MPI_Type_dup(inner, &type);
        return type;
    case 1:
        MPI_Type_contiguous(1 + draw(3), inner, &type);
        return type;
    case 2:
    case 3:
        MPI_Type_vector(1 + draw(4), 1 + draw(3), draw(7) - 1, inner, &type);
        return type;
    case 4:
        MPI_Type_create_hvector(1 + draw(4), 1 + draw(3), 8 * draw(12), inner,
                                &type);
        return type;
    case 5:
        return make_subarray(inner);
    case 6:
        return make_darray(inner);
    default:
        return make_listed(inner, kind - 7);
    }
}

static MPI_Datatype make_type(int depth)
{
    MPI_Datatype inner = depth > 0 ? make_type(depth - 1) : leaf(), type, sized;

    if (depth == 0)
        return inner;
    type = make_of(inner);
    if (depth > 1)
        MPI_Type_free(&inner);
    if (draw(3))
        return type;
    MPI_Type_create_resized(type, 0, 4 * (1 + draw(6)), &sized);
    MPI_Type_free(&type);
    return sized;
}

/* ---- one case ------------------------------------------------------------ */

/* Mark a row; is one of its bytes also of another block, or comes twice? */
static bool mark_row(ptrdiff_t at, size_t width, int bit)
{
    bool clash = false;

    for (size_t b = 0; b < width; b++) {
        unsigned char *const byte = &image[MIDDLE + at + (ptrdiff_t)b];
        clash = clash || (*byte && (bit == 1 || *byte & 1));
        *byte |= (unsigned char)bit;
    }
    return clash;
}

/* Packing finds rows in nests of one dimension at most. */
static bool mark_element(const rota_layout *l, ptrdiff_t at, int bit)
{
    bool clash = false;

    for (size_t i = 0; i < l->n; i++) {
        const rota_nest *const nest = &l->nest[i];
        const rota_dim rows = nest->depth ? nest->dim[0] : (rota_dim){1, 0};
        for (size_t k = 0; k < rows.n; k++)
            if (mark_row(at + nest->at + (ptrdiff_t)k * rows.step, nest->width,
                         bit))
                clash = true;
    }
    return clash;
}

static bool mark(const rota_side *side, const rota_layout *l, int bit)
{
    const rota_type *const type = side->types.type;
    bool clash = false;

    for (int q = 0; q < P; q++)
        for (size_t e = 0; e < side->bytes[q] / type->size; e++)
            if (mark_element(l, side->offset[q] + (ptrdiff_t)e * type->extent,
                             bit))
                clash = true;
    return clash;
}

/* The places of an element's bytes in the order of packing, so many at most. */
enum { PLACES = 1 << 12 };

static size_t add_places(const rota_nest *nest, int d, ptrdiff_t at,
                         ptrdiff_t place[], size_t n)
{
    if (d == ROTA_NEST_DEPTH || d == nest->depth) {
        for (size_t i = 0; i < nest->width && n < PLACES; i++)
            place[n++] = at + (ptrdiff_t)i;
        return n;
    }
    for (size_t i = 0; i < nest->dim[d].n; i++)
        n = add_places(nest, d + 1, at + (ptrdiff_t)i * nest->dim[d].step,
                       place, n);
    return n;
}

/* What a type is made of says the same as how MPI packs it. */
static void compare_layouts(void)
{
    static ptrdiff_t place[2][PLACES];
    rota_layout l[2] = {{0}};
    size_t n[2] = {0};
    MPI_Datatype type = make_type(1 + draw(2));

    MPI_Type_commit(&type);
    MUST(rota_layout_find(type, MPI_COMM_SELF, &l[0]));
    MUST(rota_layout_probe(type, MPI_COMM_SELF, &l[1]));
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < l[k].n; i++)
            n[k] =
                add_places(&l[k].nest[i], 0, l[k].nest[i].at, place[k], n[k]);
    if (!l[0].unknown)
        CHECK(n[0] == n[1] &&
              memcmp(place[0], place[1], n[0] * sizeof place[0][0]) == 0);
    for (int k = 0; k < 2; k++)
        rota_layout_free(&l[k]);
    MPI_Type_free(&type);
}

static void make_side(rota_side *side, size_t bytes[], ptrdiff_t offset[])
{
    rota_unit unit;
    MPI_Datatype type = draw(4) ? make_type(1 + draw(2)) : MPI_BYTE;
    const int spread = draw(2) ? 600 : 40;

    if (type != MPI_BYTE)
        MPI_Type_commit(&type);
    *side = (rota_side){
        .base = (char *)image + MIDDLE, .bytes = bytes, .offset = offset};
    MUST(rota_types_make(type, "type", MPI_COMM_SELF, &side->types, &unit));
    if (type != MPI_BYTE)
        MPI_Type_free(&type);
    for (int q = 0; q < P; q++) {
        bytes[q] = (size_t)draw(4) * unit.element;
        offset[q] = draw(spread) + (draw(2) ? q * spread : 0) + unit.true_lb;
    }
}

/* With Open MPI the layouts of some types are not (pieces.c). */
static bool is_known(const rota_side *side)
{
    return rota_types_are_bytes(&side->types) || side->types.type->layout;
}

static void compare(void)
{
    size_t bytes[2][P];
    ptrdiff_t offset[2][P];
    rota_side send, recv;
    rota_problem problem = {0};
    rota_layout l[2] = {{0}};
    const bool both = draw(2);

    make_side(&recv, bytes[0], offset[0]);
    make_side(&send, bytes[1], offset[1]);
    MUST(rota_layout_probe(recv.types.type->mpi, MPI_COMM_SELF, &l[0]));
    MUST(rota_layout_probe(send.types.type->mpi, MPI_COMM_SELF, &l[1]));
    memset(image, 0, sizeof image);
    const bool received = mark(&recv, &l[0], 1);
    const bool sent = both && mark(&send, &l[1], 2);
    problem.in_place = !both;
    problem.send = send;
    problem.recv = recv;
    problem.send.n = problem.recv.n = P;
    const int found = rota_overlap_check(&problem, true);
    if (!is_known(&recv) || !is_known(&send))
        CHECK(found == MPI_SUCCESS || received || sent);
    else if (received || sent)
        CHECK((found == MPI_ERR_ARG && received) ||
              (found == MPI_ERR_BUFFER && sent));
    else
        CHECK(found == MPI_SUCCESS);
    rota_fail_clear();
    for (int i = 0; i < 2; i++)
        rota_layout_free(&l[i]);
    rota_types_free(&recv.types);
    rota_types_free(&send.types);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const uint64_t cases = test_is_slow() ? CASES / 20 : CASES;
    const uint64_t end = argc > 1 ? first + 1 : cases + 1;
    for (uint64_t i = first; i < end && !test_failures(); i++) {
        seed = i << 32;
        snprintf(again, sizeof again, "seed %llu", (unsigned long long)i);
        test_case = again;
        compare_layouts();
        compare();
    }
    return test_end();
}
