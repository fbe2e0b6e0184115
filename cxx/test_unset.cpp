// test_unset.cpp - waits of exchanges that MPI ends with an error of its own, of the
// class that else says that only a block above the bound is missing. Here are such
// waits, in place of Rota's.
#include <rota.hpp>

#include <cstdio>

static bool fails;
static int wrong;

static void check(bool holds, const char *what)
{
    if (holds)
        return;
    std::printf("%s\n", what);
    wrong++;
}

int rota_exchange_wait_c(rota_plan *, void **recvbuf, MPI_Count counts[],
                         MPI_Aint displs[])
{
    static int blocks[8];

    if (fails)
        return MPI_ERR_TRUNCATE;
    *recvbuf = blocks;
    counts[0] = 7;
    displs[0] = 1;
    return MPI_SUCCESS;
}

int rota_exchange_wait_arrays_c(rota_plan *plan, void *recvbufs[],
                                MPI_Count counts[], MPI_Aint displs[])
{
    return rota_exchange_wait_c(plan, recvbufs, counts, displs);
}

int rota_exchange_wait_borrow_c(rota_plan *plan, const void *blocks[],
                                MPI_Count counts[])
{
    MPI_Aint displ;
    void *block = nullptr;
    const int err = rota_exchange_wait_c(plan, &block, counts, &displ);

    if (err == MPI_SUCCESS)
        blocks[0] = block;
    return err;
}

/* With one rank. A wait that fails leaves nothing of the one before. */
static void waits()
{
    rota::exchange<int> plain(MPI_COMM_SELF);
    rota::arrays_exchange<int> arrays(MPI_COMM_SELF);
    rota::borrowing_exchange<int> borrowing(MPI_COMM_SELF);
    int code;

    for (const bool now : {false, true}) {
        fails = now;
        const MPI_Count n = now ? 0 : 7;
        const std::size_t there = now ? 0 : 7;
        const auto found = plain.wait(&code);
        check(found.counts().size() == 1 && found.counts()[0] == n, "wait");
        check((found.data() == nullptr) == now, "wait: its buffer");
        const auto array = std::get<0>(arrays.wait(&code));
        check(array.counts().size() == 1 && array.counts()[0] == n, "arrays");
        check((array.data() == nullptr) == now, "arrays: their buffer");
        check(std::get<0>(arrays.wait_borrow(&code))[0].size() == there,
              "arrays that are borrowed");
        check(borrowing.wait(&code)[0].size() == there, "blocks");
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    waits();
    MPI_Finalize();
    return wrong > 0;
}
