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

/* The most of a start on any rank: down, and up. */
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

static void run(const char *algorithm, int block, int gap)
{
    side send = make_side(block, gap), recv = make_side(block, gap);
    MPI_Info info =
        test_info("rota_algorithm", algorithm, "rota_device", "copy_to_cpu");
    rota_plan *plan = NULL;
    int most[2];

    MUST(rota_alltoallv_init(send.memory, send.counts, send.displs, MPI_BYTE,
                             recv.memory, recv.counts, recv.displs, MPI_BYTE,
                             MPI_COMM_WORLD, info, &plan));
    count(plan, most);
    if (test_me == 0)
        printf("%-18s %8d B, %d between: %4d down, %4d up\n", algorithm, block,
               gap, most[0], most[1]);
    /* In whatever order the schedule reads them; this rank's own stays on the
     * device, between the others. */
    if (gap == 0 && send.bytes <= PIECE)
        CHECK(most[0] <= 2 && most[1] <= 3);
    CHECK(most[0] >= 1 && most[0] <= test_P);
    CHECK(most[1] >= 1 && most[1] <= test_P);
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    free_side(&send);
    free_side(&recv);
}

int main(int argc, char **argv)
{
    static const char *const algorithms[] = {"multi_pair", "pairwise",
                                             "two_phase_bruck", "parlogna"};
    static const int blocks[] = {64, 2048, 32768, 524288};

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++)
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
            for (int gap = 0; gap <= 8; gap += 8)
                run(algorithms[a], blocks[b], gap);
    return test_end();
}
