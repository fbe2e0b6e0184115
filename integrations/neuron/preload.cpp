/* preload.cpp - RotaGaps in a NEURON that is not changed, for its own tests.
 *
 * Preloaded, it takes the place of the functions by which NEURON exchanges
 * voltages, and copies between NEURON's buffers and those of the plan. NEURON
 * does not tell when it has other counts, so the ranks agree on that in each
 * call: this is no way to gain time.
 */
#include "RotaGaps.h"

#include <algorithm>
#include <vector>

/* NEURON's; none in the shells that it starts. */
extern MPI_Comm nrnmpi_comm __attribute__((weak));

namespace
{

struct Transfer {
    std::vector<int> outcounts, incounts; /* [P] */
    RotaGaps gaps;

    Transfer(MPI_Comm comm, const std::vector<int> &out,
             const std::vector<int> &in)
        : outcounts(out), incounts(in), gaps(comm, out, in)
    {
    }
};

int freed(MPI_Comm, int, void *made, void *)
{
    delete static_cast<Transfer *>(made);
    return MPI_SUCCESS;
}

int make_key()
{
    int key;

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freed, &key, nullptr);
    return key;
}

/* That of comm, made anew where one of its ranks has other counts. */
RotaGaps &gaps_of(MPI_Comm comm, const std::vector<int> &out,
                  const std::vector<int> &in)
{
    static const int key = make_key();
    void *found;
    int there, same;

    MPI_Comm_get_attr(comm, key, &found, &there);
    auto *transfer = there ? static_cast<Transfer *>(found) : nullptr;
    same = transfer && transfer->outcounts == out && transfer->incounts == in;
    MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_LAND, comm);
    if (!same) {
        transfer = new Transfer(comm, out, in);
        MPI_Comm_set_attr(comm, key, transfer);
    }
    return transfer->gaps;
}

void exchange(const double *s, const int *scnt, const int *sdispl, double *r,
              const int *rcnt, const int *rdispl)
{
    int P;

    MPI_Comm_size(nrnmpi_comm, &P);
    RotaGaps &gaps = gaps_of(nrnmpi_comm, std::vector<int>(scnt, scnt + P),
                             std::vector<int>(rcnt, rcnt + P));
    double *out = gaps.out();
    for (int q = 0; q < P; q++)
        out = std::copy_n(s + sdispl[q], scnt[q], out);
    gaps.transfer();
    const double *in = gaps.in();
    for (int q = 0; q < P; q++) {
        std::copy_n(in, rcnt[q], r + rdispl[q]);
        in += rcnt[q];
    }
}

} // namespace

extern "C" {

void nrnmpi_dbl_alltoallv(double *s, int *scnt, int *sdispl, double *r,
                          int *rcnt, int *rdispl);
void nrnmpi_dbl_alltoallv(double *s, int *scnt, int *sdispl, double *r,
                          int *rcnt, int *rdispl)
{
    exchange(s, scnt, sdispl, r, rcnt, rdispl);
}

void nrnmpi_dbl_alltoallv_sparse(double *s, int *scnt, int *sdispl, double *r,
                                 int *rcnt, int *rdispl);
void nrnmpi_dbl_alltoallv_sparse(double *s, int *scnt, int *sdispl, double *r,
                                 int *rcnt, int *rdispl)
{
    exchange(s, scnt, sdispl, r, rcnt, rdispl);
}
}
