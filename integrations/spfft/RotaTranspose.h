/* RotaTranspose.h - the exchanges of SpFFT's transposes, planned once.
 *
 *   RotaTranspose exchange(comm, type, {sticks, counts, displs},
 *                          {planes, counts, displs});
 *   exchange.backward();     sticks to planes
 *   exchange.finish();
 *   exchange.forward();      planes to sticks
 *   exchange.finish();
 *
 * Each direction has a plan, with the buffers of the transform. In memory of
 * rota_aligned_alloc a block is copied once.
 */
#ifndef SPFFT_ROTA_TRANSPOSE_H
#define SPFFT_ROTA_TRANSPOSE_H

#include <rota.hpp>

#include <utility>
#include <vector>

class RotaTranspose
{
  public:
    /* A side of the exchange: sticks, in the domain of frequencies, or planes, in
     * that of space. */
    struct Side {
        void *buffer;
        const std::vector<int> &counts, &displs; /* [P] */
    };

    /* Counts and displacements are in elements of type. Collective over comm, which
     * may be freed afterwards, as may type and the arrays of both sides. The buffers
     * stay. Throws rota::error if comm's errors are returned. */
    RotaTranspose(MPI_Comm comm, MPI_Datatype type, const Side &sticks,
                  const Side &planes)
        : RotaTranspose(
              rota::alltoallv_init({sticks.buffer, type}, sticks.counts,
                                   sticks.displs, {planes.buffer, type},
                                   planes.counts, planes.displs, comm),
              sticks, planes)
    {
    }

    /* The same with a type for each block, and displacements in bytes. */
    RotaTranspose(MPI_Comm comm, const Side &sticks,
                  const std::vector<MPI_Datatype> &stick_types,
                  const Side &planes,
                  const std::vector<MPI_Datatype> &plane_types)
        : RotaTranspose(rota::alltoallw_init(sticks.buffer, sticks.counts,
                                             sticks.displs, stick_types,
                                             planes.buffer, planes.counts,
                                             planes.displs, plane_types, comm),
                        sticks, planes)
    {
    }

    /* Start an exchange, by all ranks of comm. The last one has been finished.
     * Local. */
    void backward()
    {
        start(backward_);
    }
    void forward()
    {
        start(forward_);
    }

    /* Wait until it is done; nothing if none was started. */
    void finish()
    {
        if (started_)
            started_->wait();
        started_ = nullptr;
    }

  private:
    RotaTranspose(rota::plan backward, const Side &sticks, const Side &planes)
        : backward_(std::move(backward)),
          forward_(backward_.init_reverse({planes.buffer, MPI_BYTE},
                                          {sticks.buffer, MPI_BYTE}))
    {
    }

    void start(rota::plan &plan)
    {
        plan.start();
        started_ = &plan;
    }

    rota::plan backward_, forward_, *started_ = nullptr;
};

#endif /* SPFFT_ROTA_TRANSPOSE_H */
