/* share.c - a program of MPI that allocates and frees all the time, for rota-run:
 * random steps of malloc and its kin, forks, and exchanges. Prints whether rank 0 has
 * read memory of others where it lies.
 *
 *   share N     N steps
 */
#define _GNU_SOURCE
#include "../common/held.h"

#include <malloc.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HELD = 60 };

static int P, me, wrong;
static unsigned state = 1;

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition) && wrong++ < 5)                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);    \
    } while (0)

static unsigned draw(void)
{
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

/* Around the size from which memory is shared, most of it below. */
static size_t draw_bytes(void)
{
    const unsigned kind = draw() % 10;

    return draw() % (kind < 6 ? 1000 : kind < 9 ? 600000 : 3000000);
}

static void *aligned(size_t bytes)
{
    const size_t alignment = (size_t)16 << draw() % 10;
    void *p = NULL;

    switch (draw() % 3) {
    case 0:
        p = memalign(alignment, bytes);
        break;
    case 1:
        p = aligned_alloc(alignment, bytes);
        break;
    default:
        CHECK(posix_memalign(&p, alignment, bytes) == 0);
    }
    CHECK((uintptr_t)p % alignment == 0);
    return p;
}

static void change(held *h)
{
    const size_t bytes = draw_bytes();

    CHECK(is_whole(h));
    switch (draw() % 4) {
    case 0:
        h->p = realloc(h->p, bytes);
        CHECK(h->bytes == 0 || bytes == 0 ||
              h->p[0] == (unsigned char)h->bytes);
        break;
    case 1:
        free(h->p);
        h->p = calloc(bytes, 1);
        CHECK(bytes == 0 || (h->p[0] == 0 && h->p[bytes - 1] == 0));
        break;
    case 2:
        free(h->p);
        h->p = aligned(bytes);
        break;
    default:
        free(h->p);
        h->p = malloc(bytes);
    }
    CHECK(!h->p || malloc_usable_size(h->p) >= bytes);
    h->bytes = bytes;
    touch(h);
}

/* A child has what there was, and changes nothing here. */
static void fork_once(held all[])
{
    int status = -1;
    const pid_t child = fork();

    if (child == 0) {
        bool good = true;
        for (int i = 0; i < HELD; i++) {
            good = good && is_whole(&all[i]);
            memset(all[i].p, 0, all[i].bytes);
            free(all[i].p);
        }
        _exit(!good);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    for (int i = 0; i < HELD; i++)
        CHECK(is_whole(&all[i]));
}

static void exchange(unsigned char *from, unsigned char *to, int each)
{
    for (int q = 0; q < P; q++)
        memset(from + (size_t)q * (size_t)each, me * P + q + each % 7,
               (size_t)each);
    MPI_Alltoall(from, each, MPI_BYTE, to, each, MPI_BYTE, MPI_COMM_WORLD);
    for (int q = 0; q < P; q++) {
        const unsigned char what = (unsigned char)(q * P + me + each % 7);
        const unsigned char *const at = to + (size_t)q * (size_t)each;
        for (int i = 0; i < each; i++)
            if (at[i] != what) {
                CHECK(at[i] == what);
                return;
            }
    }
}

static void steps(int n)
{
    held all[HELD] = {{NULL, 0}};

    for (int i = 0; i < n && wrong == 0; i++) {
        change(&all[draw() % HELD]);
        if (i % 100 == 99) {
            const int each = 150000 + i % 5 * 40000;
            unsigned char *const from = malloc((size_t)(P * each));
            unsigned char *const to = malloc((size_t)(P * each));
            exchange(from, to, each);
            free(from);
            free(to);
        }
        if (i % 3000 == 2999)
            fork_once(all);
    }
    for (int i = 0; i < HELD; i++)
        free(all[i].p);
}

static void of_mpi(void)
{
    enum { EACH = 150000 };
    unsigned char *from, *to;

    MPI_Alloc_mem((MPI_Aint)P * EACH, MPI_INFO_NULL, &from);
    MPI_Alloc_mem((MPI_Aint)P * EACH, MPI_INFO_NULL, &to);
    for (int i = 0; i < 20; i++)
        exchange(from, to, EACH);
    MPI_Free_mem(from);
    MPI_Free_mem(to);
}

/* KiB of other ranks' memory that this one has read where it lies. */
static unsigned long read_of_others(void)
{
    FILE *const f = fopen("/proc/self/smaps", "r");
    unsigned long all = 0, kib;
    char line[300];
    bool theirs = false;

    while (f && fgets(line, sizeof line, f)) {
        if (strstr(line, "memfd:rota-heap"))
            theirs = strstr(line, " r--s ");
        if (theirs && sscanf(line, "Rss: %lu kB", &kib) == 1) {
            all += kib;
            theirs = false;
        }
    }
    if (f)
        fclose(f);
    return all;
}

int main(int argc, char *argv[])
{
    char *const early = malloc(400000);

    memset(early, 1, 400000);
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    state += (unsigned)me;
    if (argc < 2)
        return EXIT_FAILURE;
    of_mpi();
    const unsigned long others = read_of_others();
    steps(atoi(argv[1]));
    CHECK(system("exit 3") == 3 << 8);
    CHECK(early[399999] == 1);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    free(early);
    if (me == 0 && wrong == 0)
        printf("ok, %s\n", others > 100 ? "shared" : "not shared");
    return wrong != 0;
}
