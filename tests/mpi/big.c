/* big.c - a block of more than 2 GiB at a displacement beyond 2 GiB.
 *
 * usage: big ALGORITHM. Needs 2 ranks and 5 GiB of memory.
 */
#include "common/quick.h"
#include "harness.h"
#include "pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t large = ((size_t)1 << 31) + 4104, away = (size_t)5 << 29;

static int enough_memory(void)
{
    const long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    return pages > 0 && (size_t)pages > ((size_t)5 << 30) / (size_t)size;
}

/* Every how many words are filled and looked at: at least one of every page,
 * and all at the end. */
static size_t step = 1;

static size_t after(size_t i, size_t bytes)
{
    enum { END = 1024 };

    return i + (bytes / sizeof(uint64_t) - i > END ? step : 1);
}

static void fill(uint64_t *words, size_t bytes, uint64_t salt)
{
    for (size_t i = 0; i < bytes / sizeof *words; i = after(i, bytes))
        words[i] = (i + salt) * 0x9e3779b97f4a7c15u;
}

static size_t first_wrong(const uint64_t *words, size_t bytes, uint64_t salt)
{
    for (size_t i = 0; i < bytes / sizeof *words; i = after(i, bytes))
        if (words[i] != (i + salt) * 0x9e3779b97f4a7c15u)
            return i * sizeof *words;
    return bytes;
}

/* Rank 0 sends the large block to rank 1; eight bytes go back. */
static void run(MPI_Info info)
{
    const int me = test_me, peer = 1 - me;
    MPI_Count sends[2] = {0}, receives[2] = {0};
    MPI_Aint from[2] = {0}, to[2] = {0};
    rota_plan *plan = NULL;

    sends[peer] = me == 0 ? (MPI_Count)large : 8;
    receives[peer] = me == 0 ? 8 : (MPI_Count)large;
    to[peer] = (MPI_Aint)away;
    char *const send = malloc((size_t)sends[peer]);
    char *const recv = malloc(away + (size_t)receives[peer]);
    CHECK(send && recv);
    fill((uint64_t *)(void *)send, (size_t)sends[peer], (uint64_t)me);
    MUST(rota_alltoallv_init_c(send, sends, from, MPI_BYTE, recv, receives, to,
                               MPI_BYTE, MPI_COMM_WORLD, info, &plan));
    for (int i = 0; plan && i < 2; i++) {
        if (i == 1) /* again, by ordinary messages */
            MUST(rota_plan_set_buffers(plan, send, recv));
        memset(recv + away, 0, (size_t)receives[peer]);
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
        CHECK(first_wrong((const uint64_t *)(const void *)(recv + away),
                          (size_t)receives[peer],
                          (uint64_t)peer) == (size_t)receives[peer]);
    }
    MUST(rota_plan_free(&plan));
    free(send);
    free(recv);
}

int main(int argc, char **argv)
{
    MPI_Info info;

    if (argc < 2)
        return 2;
#if MPI_VERSION < 4
    if (strcmp(argv[1], "mpi") == 0) {
        printf("skipped: MPI's own all-to-all takes no such counts before "
               "MPI 4\n");
        return 77;
    }
#endif
    if (!enough_memory()) {
        printf("skipped: less than 5 GiB of memory free\n");
        return 77;
    }
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    test_case = argv[1];
    if (test_is_quick())
        step = 509;
    info = test_info("rota_algorithm", argv[1], NULL, NULL);
    run(info);
    MPI_Info_free(&info);
    return test_end();
}
