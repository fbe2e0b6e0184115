/* copies.c - how many copies a start of a plan makes whose buffers are on a device,
 * by way of the host: a table, and limits.
 *
 * usage: copies
 */
#include "harness.h"
#include "standin.h"
#include "testdev.h"

#include <stdio.h>
#include <stdlib.h>

enum { STARTS = 3, PIECE = 1 << 16 };

/* One buffer's blocks, all of a size. */
typedef struct side {
    int *counts, *displs;
    size_t bytes;
    void *memory;
} side;

static side make_side(int block, int gap)
{
    const size_t P = (size_t)test_P;
    side s = {calloc(P, sizeof(int)), calloc(P, sizeof(int)), 0, NULL};

    for (int q = 0; q < test_P; q++) {
        s.counts[q] = block;
        s.displs[q] = q * (block + gap);
    }
    s.bytes = P * (size_t)(block + gap);
    s.memory = testdev_alloc(s.bytes);
    return s;
}

static void free_side(side *s)
{
    testdev_free(s->memory);
    free(s->counts);
    free(s->displs);
}

static void count(rota_plan *plan, int most[2])
{
    most[0] = most[1] = 0;
    for (int i = 0; i < STARTS; i++) {
        const size_t before[2] = {standin_copies(false), standin_copies(true)};
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
        for (int up = 0; up < 2; up++) {
            const int n = (int)(standin_copies(up) - before[up]);
            most[up] = n > most[up] ? n : most[up];
        }
    }
    most[0] = test_max(most[0]);
    most[1] = test_max(most[1]);
}

static MPI_Comm comm = MPI_COMM_WORLD;

/* The most copies of a start on any rank: down, and up. */
static void run(const char *algorithm, int block, int gap, int most[2])
{
    side send = make_side(block, gap), recv = make_side(block, gap);
    MPI_Info info =
        test_info("rota_algorithm", algorithm, "rota_device", "copy_to_cpu");
    rota_plan *plan = NULL;

    MUST(rota_alltoallv_init(send.memory, send.counts, send.displs, MPI_BYTE,
                             recv.memory, recv.counts, recv.displs, MPI_BYTE,
                             comm, info, &plan));
    count(plan, most);
    if (test_me == 0)
        printf("%-18s %8d B, %d between: %4d down, %4d up\n", algorithm, block,
               gap, most[0], most[1]);
    CHECK(most[0] >= 1 && most[0] <= test_P);
    CHECK(most[1] >= 1 && most[1] <= test_P);
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    free_side(&send);
    free_side(&recv);
}

/* In whatever order the schedule reads the blocks; this rank's own stays on the
 * device, between the others. */
static void all_ways(void)
{
    static const char *const algorithms[] = {"multi_pair", "pairwise",
                                             "two_phase_bruck", "parlogna"};
    static const int blocks[] = {64, 2048, 32768, 524288};
    int most[2];

    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++)
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
            for (int gap = 0; gap <= 8; gap += 8) {
                run(algorithms[a], blocks[b], gap, most);
                if (gap == 0 && test_P * blocks[b] <= PIECE)
                    CHECK(most[0] <= 2 && most[1] <= 3);
            }
}

/* On a device that ranks share by time, a rank's own block goes with the others,
 * unless it is long. */
static void by_time(void)
{
    const int long_block = (1 << 21) * test_P + 1;
    int most[2];

    testdev_pretend(0, true);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    run("multi_pair", 64, 0, most);
    CHECK(most[0] == 1);
    run("multi_pair", 524288, 0, most);
    CHECK(most[0] == test_P || test_P == 1);
    if (test_P > 1 && test_P <= 4) {
        run("multi_pair", long_block, 0, most);
        CHECK(most[0] == test_P - 1);
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    all_ways();
    by_time();
    return test_end();
}
