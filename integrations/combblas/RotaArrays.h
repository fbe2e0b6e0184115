/* RotaArrays.h - several arrays with one set of counts, exchanged together by Rota.
 *
 * In place of an MPI_Alltoall of the counts and an MPI_Alltoallv for each array:
 *
 *   auto & both = RotaArrays<int32_t, NT>::of(comm);
 *   both.exchange(sendcnt, sdispls, sendinds, sendnums);
 *   ... both.counts(), both.displs(), both.array<0>(), both.array<1>()
 *
 * Nothing is allocated or freed by the caller. What came stays where it is until the
 * next exchange of this kind on comm.
 */
#ifndef COMBBLAS_ROTA_ARRAYS_H
#define COMBBLAS_ROTA_ARRAYS_H

#include "MPIType.h"

#include <rota.h>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

namespace combblas
{

template <class... Ts> class RotaArrays
{
    static constexpr std::size_t n = sizeof...(Ts);

  public:
    /* That of comm. The first call makes it, on all ranks of comm; it is freed with
     * comm. */
    static RotaArrays &of(MPI_Comm comm)
    {
        static const int key = make_key();
        void *made;
        int there;

        MPI_Comm_get_attr(comm, key, &made, &there);
        if (!there) {
            made = new RotaArrays(comm);
            MPI_Comm_set_attr(comm, key, made);
        }
        return *static_cast<RotaArrays *>(made);
    }

    RotaArrays(const RotaArrays &) = delete;
    RotaArrays &operator=(const RotaArrays &) = delete;

    ~RotaArrays()
    {
        rota_plan_free(&plan_);
    }

    /* counts, displs: [P], of each array. Called by all ranks of comm. */
    void exchange(const int *counts, const int *displs, const Ts *...arrays)
    {
        const void *const all[] = {arrays...};

        for (std::size_t i = 0; i < n; i++) {
            std::copy_n(counts, ranks_, sendcounts_.begin() + i * ranks_);
            std::copy_n(displs, ranks_, senddispls_.begin() + i * ranks_);
        }
        must(rota_exchange_start_arrays(plan_, all, sendcounts_.data(),
                                        senddispls_.data()));
        must(rota_exchange_wait_arrays(plan_, arrays_, counts_.data(),
                                       displs_.data()));
    }

    /* Of what came: [P] counts by source, alike for all arrays, and positions. */
    int *counts()
    {
        return counts_.data();
    }
    int *displs()
    {
        return displs_.data();
    }
    int total() const
    {
        return counts_[ranks_ - 1] + displs_[ranks_ - 1];
    }

    /* Array I of what came, in the order of sources. */
    template <std::size_t I> auto array()
    {
        using T = std::tuple_element_t<I, std::tuple<Ts...>>;
        return static_cast<T *>(arrays_[I]);
    }

  private:
    explicit RotaArrays(MPI_Comm comm)
    {
        const MPI_Datatype types[] = {MPIType<Ts>()...};
        int size;

        MPI_Comm_size(comm, &size);
        ranks_ = static_cast<std::size_t>(size);
        for (auto *all : {&sendcounts_, &senddispls_, &counts_, &displs_})
            all->resize(n * ranks_);
        must(rota_exchange_init_arrays(ROTA_UNBOUNDED, n, types, comm,
                                       MPI_INFO_NULL, &plan_));
    }

    static int make_key()
    {
        int key;

        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freed, &key, nullptr);
        return key;
    }

    static int freed(MPI_Comm, int, void *made, void *)
    {
        delete static_cast<RotaArrays *>(made);
        return MPI_SUCCESS;
    }

    static void must(int result)
    {
        if (result != MPI_SUCCESS)
            MPI_Abort(MPI_COMM_WORLD, result);
    }

    std::size_t ranks_;
    rota_plan *plan_ = nullptr;
    void *arrays_[n];
    std::vector<int> sendcounts_, senddispls_, counts_, displs_; /* [n * P] */
};

} // namespace combblas

#endif /* COMBBLAS_ROTA_ARRAYS_H */
