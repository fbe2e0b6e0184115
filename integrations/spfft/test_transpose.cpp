// test_transpose.cpp - RotaTranspose against the numbers of what it moves, without
// SpFFT.
//
// A box of nz planes is held as sticks, some whole columns of z on each rank, or as
// planes of all sticks. The number of an element is stick * nz + z.
#include "RotaTranspose.h"

#include <complex>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace
{

using number = std::complex<double>;

int P, me, wrong;
constexpr int nz = 12;

// Rank q's sticks or planes; the last rank has no sticks where there are several.
int sticks_of(int q)
{
    return P > 1 && q == P - 1 ? 0 : 3 + q % 2;
}
int planes_of(int q)
{
    return nz / P + (q < nz % P);
}
template <class Of> int before(Of of, int q)
{
    int sum = 0;

    for (int i = 0; i < q; i++)
        sum += of(i);
    return sum;
}

number value(int stick, int z, int step)
{
    return {static_cast<double>(stick * nz + z), static_cast<double>(step)};
}

void check(const number &found, int stick, int z, int step, const char *what)
{
    if (found == value(stick, z, step))
        return;
    if (wrong++ == 0)
        std::printf("rank %d: %s: stick %d, plane %d\n", me, what, stick, z);
}

struct blocks {
    std::vector<int> counts, displs;
};

template <class Of> blocks in_order(Of of)
{
    blocks made;
    int total = 0;

    for (int q = 0; q < P; q++) {
        made.counts.push_back(of(q));
        made.displs.push_back(total);
        total += of(q);
    }
    return made;
}

// As the compact and the padded buffers are: a block has whole columns of its
// stick, of the planes of the receiver. room: elements from block to block; 0: none
// is left out.
void buffered(int room)
{
    const int ours = sticks_of(me), planes = planes_of(me);
    const int first = before(sticks_of, me), low = before(planes_of, me);
    blocks out = in_order([&](int q) { return ours * planes_of(q); });
    blocks in = in_order([&](int q) { return sticks_of(q) * planes; });
    MPI_Datatype type;

    if (room) {
        out.counts.assign(P, room);
        in.counts.assign(P, room);
        for (int q = 0; q < P; q++)
            out.displs[q] = in.displs[q] = q * room;
    }
    const std::size_t n =
        static_cast<std::size_t>(nz * before(sticks_of, P) + room * P);
    std::vector<number> a(n), b(n);
    const auto block = [](std::vector<number> &all, const blocks &side, int q) {
        return all.begin() + side.displs[static_cast<std::size_t>(q)];
    };
    MPI_Type_contiguous(2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    RotaTranspose exchange(MPI_COMM_WORLD, type,
                           {a.data(), out.counts, out.displs},
                           {b.data(), in.counts, in.displs});
    MPI_Type_free(&type);

    for (int step = 0; step < 40; step++) {
        for (int q = 0; q < P; q++)
            for (int s = 0; s < ours; s++)
                for (int z = 0; z < planes_of(q); z++)
                    block(a, out, q)[s * planes_of(q) + z] =
                        value(first + s, before(planes_of, q) + z, step);
        exchange.backward();
        exchange.finish();
        a.assign(n, number(-1));
        for (int q = 0; q < P; q++)
            for (int s = 0; s < sticks_of(q); s++)
                for (int z = 0; z < planes; z++)
                    check(block(b, in, q)[s * planes + z],
                          before(sticks_of, q) + s, low + z, step, "backward");
        exchange.forward();
        exchange.finish();
        exchange.finish();
        for (int q = 0; q < P; q++)
            for (int s = 0; s < ours; s++)
                for (int z = 0; z < planes_of(q); z++)
                    check(block(a, out, q)[s * planes_of(q) + z], first + s,
                          before(planes_of, q) + z, step, "forward");
    }
}

MPI_Datatype committed(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

// As without buffers: parts of sticks go to columns of planes, in place.
void unbuffered()
{
    const int ours = sticks_of(me), planes = planes_of(me);
    const int all = before(sticks_of, P);
    const int first = before(sticks_of, me), low = before(planes_of, me);
    std::vector<number> a(static_cast<std::size_t>(ours * nz)),
        b(static_cast<std::size_t>(planes * all));
    std::vector<MPI_Datatype> stick_types, plane_types;
    blocks out, in;

    for (int q = 0; q < P; q++) {
        MPI_Datatype part, column, columns;

        MPI_Type_vector(ours, 2 * planes_of(q), 2 * nz, MPI_DOUBLE, &part);
        stick_types.push_back(committed(part));
        out.counts.push_back(ours && planes_of(q));
        out.displs.push_back(static_cast<int>(sizeof(number)) *
                             before(planes_of, q));
        MPI_Type_vector(planes, 2, 2 * all, MPI_DOUBLE, &column);
        MPI_Type_create_hvector(sticks_of(q), 1, sizeof(number), column,
                                &columns);
        MPI_Type_free(&column);
        plane_types.push_back(committed(columns));
        in.counts.push_back(sticks_of(q) && planes);
        in.displs.push_back(static_cast<int>(sizeof(number)) *
                            before(sticks_of, q));
    }
    RotaTranspose exchange(MPI_COMM_WORLD, {a.data(), out.counts, out.displs},
                           stick_types, {b.data(), in.counts, in.displs},
                           plane_types);
    for (int q = 0; q < P; q++) {
        MPI_Type_free(&stick_types[static_cast<std::size_t>(q)]);
        MPI_Type_free(&plane_types[static_cast<std::size_t>(q)]);
    }

    for (int step = 0; step < 40; step++) {
        for (int s = 0; s < ours; s++)
            for (int z = 0; z < nz; z++)
                a[static_cast<std::size_t>(s * nz + z)] =
                    value(first + s, z, step);
        exchange.backward();
        exchange.finish();
        a.assign(a.size(), number(-1));
        for (int s = 0; s < all; s++)
            for (int z = 0; z < planes; z++)
                check(b[static_cast<std::size_t>(z * all + s)], s, low + z,
                      step, "backward, unbuffered");
        exchange.forward();
        exchange.finish();
        for (int s = 0; s < ours; s++)
            for (int z = 0; z < nz; z++)
                check(a[static_cast<std::size_t>(s * nz + z)], first + s, z,
                      step, "forward, unbuffered");
    }
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    buffered(0);
    buffered(4 * nz);
    unbuffered();
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
