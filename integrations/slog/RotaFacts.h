/* RotaFacts.h - the outputs of several rules, each with its own counts and width,
 * exchanged together by Rota.
 *
 * In place of gathering all blocks for a rank, an MPI_Alltoall of the counts of each
 * rule and an MPI_Alltoallv:
 *
 *   RotaFacts &facts = RotaFacts::of(comm, rules);
 *   facts.send(rule, rank, block, bytes);     for each rule and rank
 *   const uint64_t all = facts.exchange(found);
 *   ... facts.received(rule, rank), facts.words(rule, rank)
 *
 * The sum of found over all ranks travels with the facts, in place of an
 * MPI_Allreduce that asks whether any rank has found something new.
 *
 * Blocks lie where the program has them. What has come may be read until the next
 * exchange of as many rules on comm: it is copied once on the way from another rank,
 * and never from the rank itself. The program allocates nothing.
 */
#ifndef SLOG_ROTA_FACTS_H
#define SLOG_ROTA_FACTS_H

#include <rota.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

class RotaFacts
{
  public:
    /* That of comm for so many rules. The first call makes it, on all ranks of comm;
     * it is freed with comm. */
    static RotaFacts &of(MPI_Comm comm, int rules)
    {
        static const int key = make_key();
        void *made;
        int there;

        MPI_Comm_get_attr(comm, key, &made, &there);
        if (!there) {
            made = new Made;
            MPI_Comm_set_attr(comm, key, made);
        }
        auto &facts = (*static_cast<Made *>(made))[rules];
        if (!facts)
            facts.reset(new RotaFacts(comm, rules));
        return *facts;
    }

    RotaFacts(const RotaFacts &) = delete;
    RotaFacts &operator=(const RotaFacts &) = delete;

    ~RotaFacts()
    {
        rota_plan_free(&plan_);
    }

    /* The next exchange sends this block of whole words (8 bytes) to rank. It stays
     * in use until then; the rank's own block, which is read where it lies, until the
     * exchange after it. */
    void send(int rule, int rank, const void *block, std::size_t bytes)
    {
        const std::size_t at = index(rule, rank);

        sendcounts_[at] = static_cast<MPI_Count>(bytes / sizeof(std::uint64_t));
        if (bytes == 0)
            return;
        if (!arrays_[rule])
            arrays_[rule] = block;
        senddispls_[at] =
            static_cast<MPI_Aint>(word(block) - word(arrays_[rule]));
    }

    /* Free a block of malloc when it is no longer in use. Before exchange. */
    void give(void *block)
    {
        given_.emplace_back(block);
    }

    /* Called by all ranks of comm. value is any number of this rank, such as that of
     * the facts that it has newly found since the last exchange. Returns the sum of
     * all ranks. */
    std::uint64_t exchange(std::uint64_t value = 0)
    {
        value_ = value;
        must(rota_exchange_start_arrays_c(
            plan_, arrays_.data(), sendcounts_.data(), senddispls_.data()));
        must(rota_exchange_wait_borrow_c(plan_, blocks_.data(),
                                         recvcounts_.data()));
        arrays_.assign(arrays_.size(), nullptr);
        sendcounts_.assign(sendcounts_.size(), 0);
        in_use_.swap(given_);
        given_.clear();
        return sum_;
    }

    /* What rank sent for a rule, and how many words. NULL: none */
    const std::uint64_t *received(int rule, int rank) const
    {
        return static_cast<const std::uint64_t *>(blocks_[index(rule, rank)]);
    }
    std::size_t words(int rule, int rank) const
    {
        return static_cast<std::size_t>(recvcounts_[index(rule, rank)]);
    }

  private:
    using Made = std::map<int, std::unique_ptr<RotaFacts>>;

    struct Freed {
        void operator()(void *block) const
        {
            std::free(block);
        }
    };
    using Blocks = std::vector<std::unique_ptr<void, Freed>>;

    RotaFacts(MPI_Comm comm, int rules)
    {
        const std::vector<MPI_Datatype> types(rules, MPI_UINT64_T);

        MPI_Comm_size(comm, &ranks_);
        arrays_.resize(rules);
        sendcounts_.resize(index(rules, 0));
        senddispls_.resize(index(rules, 0));
        recvcounts_.resize(index(rules, 0));
        blocks_.resize(index(rules, 0));
        must(rota_exchange_init_arrays(ROTA_UNBOUNDED, rules, types.data(),
                                       comm, MPI_INFO_NULL, &plan_));
        must(rota_plan_set_reduction(plan_, &value_, &sum_, 1, MPI_UINT64_T,
                                     MPI_SUM));
    }

    std::size_t index(int rule, int rank) const
    {
        return static_cast<std::size_t>(rule) *
                   static_cast<std::size_t>(ranks_) +
               static_cast<std::size_t>(rank);
    }

    static std::intptr_t word(const void *block)
    {
        return reinterpret_cast<std::intptr_t>(block) /
               static_cast<std::intptr_t>(sizeof(std::uint64_t));
    }

    static int make_key()
    {
        int key;

        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freed, &key, nullptr);
        return key;
    }

    static int freed(MPI_Comm, int, void *made, void *)
    {
        delete static_cast<Made *>(made);
        return MPI_SUCCESS;
    }

    static void must(int result)
    {
        if (result != MPI_SUCCESS)
            MPI_Abort(MPI_COMM_WORLD, result);
    }

    int ranks_;
    rota_plan *plan_ = nullptr;
    std::vector<const void *> arrays_; /* [rules]: its first block */
    std::vector<const void *> blocks_; /* [rules * P] received */
    std::vector<MPI_Count> sendcounts_, recvcounts_; /* [rules * P] */
    std::vector<MPI_Aint> senddispls_;               /* [rules * P] */
    Blocks given_, in_use_;
    std::uint64_t value_ = 0, sum_ = 0;
};

#endif /* SLOG_ROTA_FACTS_H */
