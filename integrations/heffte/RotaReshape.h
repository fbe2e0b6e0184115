/* RotaReshape.h - the exchange of HeFFTe's reshape3d_alltoallv, planned once.
 *
 *   RotaReshape exchange(comm, sendcounts, senddispls, recvcounts, recvdispls);
 *   exchange.run(batch, send_buffer, recv_buffer);
 *
 * One plan serves all scalars and batches: counts are those of one field, and
 * the unit and the buffers change between runs.
 */
#ifndef HEFFTE_ROTA_RESHAPE_H
#define HEFFTE_ROTA_RESHAPE_H

#include <rota.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

class RotaReshape
{
  public:
    /* counts, displs: [P] of one field, in scalars. Local; comm is used by the
     * first run and must not be freed before it. */
    RotaReshape(MPI_Comm comm, std::vector<int> sendcounts,
                std::vector<int> senddispls, std::vector<int> recvcounts,
                std::vector<int> recvdispls)
        : comm_(comm), sendcounts_(std::move(sendcounts)),
          senddispls_(std::move(senddispls)),
          recvcounts_(std::move(recvcounts)), recvdispls_(std::move(recvdispls))
    {
    }

    /* As MPI_Alltoallv with counts and displacements times batch; batch is the
     * same on all ranks. Collective over comm. The first run makes the plan, and
     * so does one whose scalars times batch have more bytes than that has room
     * for. Throws rota::error if comm's errors are returned. */
    template <class T> void run(int batch, const T *send, T *recv)
    {
        const MPI_Datatype type = rota::datatype<T>::get();
        const std::size_t unit = sizeof(T) * static_cast<std::size_t>(batch);

        if (unit > largest_)
            make(unit, {send, type}, {recv, type});
        plan_.set_unit(type, batch);
        plan_.set_buffers({send, type}, {recv, type});
        plan_.start();
        plan_.wait();
    }

  private:
    /* With room for units of so many bytes. */
    void make(std::size_t unit, rota::const_buffer send, rota::buffer recv)
    {
        const std::size_t room = std::max(unit, least_room);
        MPI_Info info;

        MPI_Info_create(&info);
        MPI_Info_set(info, "rota_largest_unit", std::to_string(room).c_str());
        plan_ = rota::alltoallv_init(send, sendcounts_, senddispls_, recv,
                                     recvcounts_, recvdispls_, comm_, info);
        MPI_Info_free(&info);
        largest_ = room;
    }

    /* 64 complex doubles */
    static constexpr std::size_t least_room = 1024;

    MPI_Comm comm_;
    std::vector<int> sendcounts_, senddispls_, recvcounts_, recvdispls_;
    std::size_t largest_ = 0; /* bytes of a unit that plan_ has room for */
    rota::plan plan_;
};

#endif /* HEFFTE_ROTA_RESHAPE_H */
