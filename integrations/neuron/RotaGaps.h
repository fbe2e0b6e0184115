/* RotaGaps.h - the transfer of NEURON's gap junctions, planned once.
 *
 *   RotaGaps gaps(comm, outcounts, incounts);     by all ranks of comm
 *   ... write gaps.out()[i]
 *   gaps.transfer();
 *   ... read gaps.in()[i]
 *
 * In each step of a simulation every rank sends the voltages that others need. The
 * counts are found once, so the exchange is a plan, and its buffers stay, in memory
 * that the ranks of a node share.
 */
#ifndef NEURON_ROTA_GAPS_H
#define NEURON_ROTA_GAPS_H

#include <rota.hpp>

#include <cstddef>
#include <vector>

class RotaGaps
{
  public:
    /* outcounts, incounts: [P] or more, doubles that each rank gets and sends. A rank
     * may have none. Collective over comm, which may be freed afterwards. Throws
     * rota::error if comm's errors are returned. */
    RotaGaps(MPI_Comm comm, const std::vector<int> &outcounts,
             const std::vector<int> &incounts)
        : out_(comm, outcounts), in_(comm, incounts)
    {
        plan_ = rota::alltoallv_init({out(), MPI_DOUBLE}, outcounts,
                                     out_.displs, {in(), MPI_DOUBLE}, incounts,
                                     in_.displs, comm);
    }

    /* What is sent and what has come: end to end, in the order of ranks. */
    double *out()
    {
        return out_.values.data();
    }
    double *in()
    {
        return in_.values.data();
    }

    /* By all ranks of comm. */
    void transfer()
    {
        plan_.start();
        plan_.wait();
    }

  private:
    struct Side {
        Side(MPI_Comm comm, const std::vector<int> &counts)
        {
            int P, total = 0;

            MPI_Comm_size(comm, &P);
            for (int q = 0; q < P; q++) {
                displs.push_back(total);
                total += counts[static_cast<std::size_t>(q)];
            }
            values =
                rota::memory<double>(static_cast<std::size_t>(total), comm);
        }

        std::vector<int> displs;
        rota::memory<double> values;
    };

    Side out_, in_;
    rota::plan plan_;
};

#endif /* NEURON_ROTA_GAPS_H */
