/* RotaHalo.h - the messages of AMReX's FillBoundary, planned once.
 *
 *   RotaHalo halo(comm, tags of receives, tags of sends);   by all ranks of comm
 *   if (halo.begin(bytes of a point)) {
 *       ... write halo.sent(k), for each rank that gets something
 *       halo.start();
 *       halo.finish();
 *       ... read halo.received(k), for each rank that sends something
 *   }
 *
 * One plan serves all numbers of components. Its buffers are kept, so that an
 * exchange allocates nothing, and ranks without partners may leave it out.
 */
#ifndef AMREX_ROTA_HALO_H
#define AMREX_ROTA_HALO_H

#include <rota.hpp>

#include <cstddef>
#include <string>
#include <vector>

class RotaHalo
{
  public:
    /* Ranks of comm and how many points of which they get: in the order of the
     * blocks. */
    struct Partners {
        std::vector<int> ranks, points;
    };

    /* Collective over comm; also ranks without partners call it. comm may be freed
     * after it. Throws rota::error if comm's errors are returned. */
    RotaHalo(MPI_Comm comm, const Partners &from, const Partners &to)
        : recv_(from), send_(to)
    {
        make_room(sizeof(double));
        const rota::graph graph(comm, from.ranks, to.ranks);
        const Hints hints;

        plan_ = rota::neighbor_alltoallv_init(
            {send_.bytes(), MPI_BYTE}, to.points, send_.displs,
            {recv_.bytes(), MPI_BYTE}, from.points, recv_.displs, graph,
            hints.info);
    }

    /* Prepare an exchange of so many bytes of each point, the same on all ranks.
     * Returns false, as on all other ranks with partners, if that is none or more
     * than `most`, or if another exchange of this halo is not finished. Local. */
    bool begin(std::size_t bytes)
    {
        if (busy_ || bytes == 0 || bytes > most)
            return false;
        if (bytes > room_)
            make_room(bytes);
        plan_.set_unit(MPI_BYTE, static_cast<int>(bytes));
        plan_.set_buffers({send_.bytes(), MPI_BYTE}, {recv_.bytes(), MPI_BYTE});
        unit_ = bytes;
        busy_ = true;
        return true;
    }

    /* The block for the k-th rank of to, and that of the k-th of from. */
    char *sent(std::size_t k)
    {
        return send_.bytes() +
               unit_ * static_cast<std::size_t>(send_.displs[k]);
    }
    char *received(std::size_t k)
    {
        return recv_.bytes() +
               unit_ * static_cast<std::size_t>(recv_.displs[k]);
    }

    /* Local. */
    void start()
    {
        plan_.start();
    }

    /* Whether all has come and may be read; until then finish waits. */
    bool test()
    {
        return plan_.test();
    }
    void finish()
    {
        plan_.wait();
        busy_ = false;
    }

    /* Bytes of a point. */
    static constexpr std::size_t most = 1024;

  private:
    struct Side {
        explicit Side(const Partners &partners)
        {
            for (const int n : partners.points) {
                displs.push_back(points);
                points += n;
            }
        }

        char *bytes()
        {
            return data.data();
        }

        int points = 0;
        std::vector<int> displs;
        std::vector<char, rota::allocator<char>> data;
    };

    struct Hints {
        Hints()
        {
            MPI_Info_create(&info);
            MPI_Info_set(info, "rota_largest_unit",
                         std::to_string(most).c_str());
            MPI_Info_set(info, "rota_starts", "partners");
        }
        ~Hints()
        {
            MPI_Info_free(&info);
        }
        Hints(const Hints &) = delete;
        Hints &operator=(const Hints &) = delete;

        MPI_Info info;
    };

    void make_room(std::size_t bytes)
    {
        for (Side *side : {&recv_, &send_})
            side->data.resize(bytes * static_cast<std::size_t>(side->points));
        room_ = bytes;
    }

    Side recv_, send_;
    std::size_t room_ = 0, unit_ = 0; /* bytes of a point */
    bool busy_ = false;
    rota::plan plan_;
};

#endif /* AMREX_ROTA_HALO_H */
