// transforms.cpp - times transforms of HeFFTe there and back, and the exchanges in
// them, of which HeFFTe's tracing tells. Built with and without the adapter.
//
//   mpiexec -n P transforms [N [pairs [batch]]]
//
// Prints N, P, microseconds of a transform and of its exchanges (means, of the
// slowest rank), and the largest error.
#include <heffte.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char **argv)
{
    using number = std::complex<double>;
    const int n = argc > 1 ? std::atoi(argv[1]) : 32;
    const int pairs = argc > 2 ? std::atoi(argv[2]) : 100;
    const int batch = argc > 3 ? std::atoi(argv[3]) : 1;
    int P, me;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    {
        const heffte::box3d<> world({0, 0, 0}, {n - 1, n - 1, n - 1});
        const auto boxes = heffte::split_world(
            world, heffte::proc_setup_min_surface(world, P));
        const auto &mine = boxes[static_cast<std::size_t>(me)];
        auto options = heffte::default_options<heffte::backend::fftw>();
        options.algorithm = heffte::reshape_algorithm::alltoallv;
        heffte::fft3d<heffte::backend::fftw> fft(mine, mine, MPI_COMM_WORLD,
                                                 options);
        const auto b = static_cast<std::size_t>(batch);
        std::vector<number> data(b * fft.size_inbox()), first;
#ifdef HEFFTE_ROTA_RESHAPE_H
        std::vector<number, rota::allocator<number>> workspace(
            b * fft.size_workspace());
#else
        std::vector<number> workspace(b * fft.size_workspace());
#endif
        double times[3] = {0, 0, 0};

        for (std::size_t i = 0; i < data.size(); i++)
            data[i] = number(static_cast<double>(i % 97), me);
        first = data;
        const auto pair = [&] {
            fft.forward(batch, data.data(), data.data(), workspace.data(),
                        heffte::scale::full);
            fft.backward(batch, data.data(), data.data(), workspace.data());
        };
        for (int i = 0; i < 3; i++)
            pair();
        heffte::event_log.clear();
        MPI_Barrier(MPI_COMM_WORLD);
        times[0] = -MPI_Wtime();
        for (int i = 0; i < pairs; i++)
            pair();
        times[0] += MPI_Wtime();
        for (const auto &event : heffte::event_log)
            if (event.name == "all2allv")
                times[1] += event.duration;
        for (std::size_t i = 0; i < data.size(); i++)
            times[2] = std::max(times[2], std::abs(data[i] - first[i]));
        MPI_Allreduce(MPI_IN_PLACE, times, 3, MPI_DOUBLE, MPI_MAX,
                      MPI_COMM_WORLD);
        if (me == 0)
            std::printf("%d %d %.1f %.1f %.1e\n", n, P,
                        1e6 * times[0] / (2 * pairs),
                        1e6 * times[1] / (2 * pairs), times[2]);
    }
    MPI_Finalize();
}
