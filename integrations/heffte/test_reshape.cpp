// test_reshape.cpp - RotaReshape against MPI_Alltoallv, without HeFFTe.
#include "RotaReshape.h"

#include <complex>
#include <cstdio>
#include <vector>

namespace
{

int P, me, wrong;

// Some pairs of ranks exchange nothing.
int amount(int src, int dst)
{
    return (5 * src + 3 * dst + 1) % 4;
}

// Blocks of one field, one behind the other in order of ranks, with a gap between.
struct side {
    std::vector<int> counts, displs;
    int total = 0;

    template <class Amount> explicit side(Amount of)
    {
        for (int q = 0; q < P; q++) {
            counts.push_back(of(q));
            displs.push_back(total);
            total += counts.back() + 1;
        }
    }
};

std::vector<int> times(std::vector<int> values, int batch)
{
    for (int &value : values)
        value *= batch;
    return values;
}

template <class T>
void compare(RotaReshape &reshape, MPI_Comm comm, const side &out,
             const side &in, int batch)
{
    const MPI_Datatype type = rota::datatype<T>::get();
    const auto n = static_cast<std::size_t>(out.total * batch);
    const auto m = static_cast<std::size_t>(in.total * batch);
    std::vector<T> send(n), expected(m, T(-1)), found(m, T(-1));

    for (std::size_t i = 0; i < n; i++)
        send[i] = T(static_cast<float>(100000 * me) + static_cast<float>(i));
    MPI_Alltoallv(send.data(), times(out.counts, batch).data(),
                  times(out.displs, batch).data(), type, expected.data(),
                  times(in.counts, batch).data(),
                  times(in.displs, batch).data(), type, comm);
    reshape.run(batch, send.data(), found.data());
    if (found != expected) {
        std::printf("rank %d: batch of %d scalars of %zu bytes\n", me, batch,
                    sizeof(T));
        wrong++;
    }
}

void run(MPI_Comm comm)
{
    const side out([](int q) { return amount(me, q); });
    const side in([](int q) { return amount(q, me); });
    RotaReshape reshape(comm, out.counts, out.displs, in.counts, in.displs);

    // 200 complex doubles have more bytes than the first plan has room for.
    for (int batch : {1, 3, 200, 1}) {
        compare<float>(reshape, comm, out, in, batch);
        compare<double>(reshape, comm, out, in, batch);
        compare<std::complex<float>>(reshape, comm, out, in, batch);
        compare<std::complex<double>>(reshape, comm, out, in, batch);
    }
    // As HeFFTe's reshape does: its communicator goes first.
    MPI_Comm_free(&comm);
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Comm comm;

    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_size(comm, &P);
    MPI_Comm_rank(comm, &me);
    run(comm);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong != 0;
}
