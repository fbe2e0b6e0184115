// test_facts.cpp - RotaFacts.h against what ranks sent, without slog.
#include "RotaFacts.h"

#include <cstdio>
#include <cstdlib>

namespace
{

const int rules = 3;
const int steps = 40;
const int widths[rules] = {2, 3, 5};

/* Tuples of a rule that rank sends to to in a step: none often, many now and then. */
int tuples(int step, int rule, int rank, int to)
{
    const int drawn = (step * 7 + rule * 5 + rank * 3 + to * 11) % 13;

    return drawn < 4 ? 0 : drawn < 12 ? drawn : 3000 + drawn * step;
}

std::uint64_t word(int step, int rule, int rank, int to, std::size_t i)
{
    return (((static_cast<std::uint64_t>(step) * rules + rule) * 64 + rank) *
                64 +
            to) << 32 |
           i;
}

} // namespace

int main(int argc, char **argv)
{
    int rank, size, wrong = 0, all;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);

    for (int step = 0; step < steps; step++) {
        /* Another number of rules is another plan; blocks are new in each step. */
        const int n = step % 4 == 3 ? 1 : rules;
        RotaFacts &facts = RotaFacts::of(comm, n);
        std::vector<std::vector<std::uint64_t>> blocks;

        for (int rule = 0; rule < n; rule++)
            for (int to = 0; to < size; to++) {
                const std::size_t words =
                    static_cast<std::size_t>(tuples(step, rule, rank, to)) *
                    widths[rule];
                const std::size_t bytes = words * sizeof(std::uint64_t);
                std::uint64_t *block;
                if (to == rank) { /* what it has for itself is read later */
                    block = static_cast<std::uint64_t *>(std::malloc(bytes));
                    facts.give(block);
                } else {
                    blocks.emplace_back(words);
                    block = blocks.back().data();
                }
                for (std::size_t i = 0; i < words; i++)
                    block[i] = word(step, rule, rank, to, i);
                facts.send(rule, to, block, bytes);
            }
        const std::uint64_t found =
            static_cast<std::uint64_t>(rank) + static_cast<std::uint64_t>(step);
        const std::uint64_t ranks = static_cast<std::uint64_t>(size);
        wrong +=
            facts.exchange(found) !=
            ranks * (ranks - 1) / 2 + ranks * static_cast<std::uint64_t>(step);
        blocks.clear();

        for (int from = 0; from < size; from++)
            for (int rule = 0; rule < n; rule++) {
                const std::size_t words = facts.words(rule, from);
                const std::uint64_t *const came = facts.received(rule, from);

                wrong += words != static_cast<std::size_t>(
                                      tuples(step, rule, from, rank)) *
                                      widths[rule];
                for (std::size_t i = 0; i < words; i++)
                    wrong += came[i] != word(step, rule, from, rank, i);
            }
    }
    MPI_Comm_free(&comm);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (all && rank == 0)
        std::fprintf(stderr, "%d words or counts are wrong\n", all);
    MPI_Finalize();
    return all ? EXIT_FAILURE : EXIT_SUCCESS;
}
