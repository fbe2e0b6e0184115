// test_halo.cpp - RotaHalo.h against what ranks sent, without AMReX.
#include "RotaHalo.h"

#include <cstdio>
#include <cstdlib>

namespace
{

int size, me;

/* Points that rank src sends dst: as in a row of boxes, and the last rank has no
 * partners where there are more than two. */
int points(int src, int dst)
{
    if (size > 2 && (src == size - 1 || dst == size - 1))
        return 0;
    return src - dst == 1 || dst - src == 1 ? 3 + 2 * src + dst : 0;
}

RotaHalo::Partners partners(bool to)
{
    RotaHalo::Partners found;

    for (int q = 0; q < size; q++) {
        const int n = to ? points(me, q) : points(q, me);
        if (n) {
            found.ranks.push_back(q);
            found.points.push_back(n);
        }
    }
    return found;
}

char value(int src, int dst, int step, std::size_t i)
{
    return static_cast<char>(src * 31 + dst * 17 + step * 7 +
                             static_cast<int>(i));
}

/* Returns the number of wrong bytes. */
int exchange(RotaHalo &halo, const RotaHalo::Partners &from,
             const RotaHalo::Partners &to, std::size_t bytes, int step)
{
    int wrong = 0;

    for (std::size_t k = 0; k < to.ranks.size(); k++)
        for (std::size_t i = 0; i < bytes * to.points[k]; i++)
            halo.sent(k)[i] = value(me, to.ranks[k], step, i);
    halo.start();
    if (halo.begin(bytes)) {
        std::printf("rank %d: a second exchange before the first has ended\n",
                    me);
        wrong++;
    }
    halo.test();
    halo.finish();
    for (std::size_t k = 0; k < from.ranks.size(); k++)
        for (std::size_t i = 0; i < bytes * from.points[k]; i++)
            wrong += halo.received(k)[i] != value(from.ranks[k], me, step, i);
    return wrong;
}

} // namespace

int main(int argc, char **argv)
{
    int wrong = 0, all;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    {
        const RotaHalo::Partners from = partners(false), to = partners(true);
        RotaHalo halo(MPI_COMM_WORLD, from, to);

        /* Ranks without partners go on. */
        if (!from.ranks.empty() || !to.ranks.empty())
            for (int step = 0; step < 60; step++) {
                const std::size_t bytes =
                    8u * (1u + static_cast<unsigned>(step) % 7u);
                if (halo.begin(bytes))
                    wrong += exchange(halo, from, to, bytes, step);
                else
                    wrong++;
            }
        wrong += halo.begin(RotaHalo::most + 8);
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (all && me == 0)
        std::printf("%d bytes or answers are wrong\n", all);
    MPI_Finalize();
    return all ? EXIT_FAILURE : EXIT_SUCCESS;
}
