/* pays.c - which arrays of a program rota-run shares by itself: one that stays, none
 * after one was freed that no rank has read, but once ranks have read one, and none
 * so large that its pages would take long to make.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 1 << 20 };

static int wrong;

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "pays.c:%d: %s\n", __LINE__, #condition);          \
            wrong++;                                                           \
        }                                                                      \
    } while (0)

/* In the heap of this process? */
static bool is_shared(const void *p)
{
    FILE *const f = fopen("/proc/self/maps", "r");
    unsigned long begin, end;
    char line[300];
    bool shared = false;

    while (f && fgets(line, sizeof line, f) && !shared)
        shared = strstr(line, "memfd:rota-heap") && strstr(line, " rw-s ") &&
                 sscanf(line, "%lx-%lx", &begin, &end) == 2 &&
                 (unsigned long)p >= begin && (unsigned long)p < end;
    if (f)
        fclose(f);
    return shared;
}

static bool next_is_shared(void)
{
    void *const p = malloc(BYTES);
    const bool shared = is_shared(p);

    free(p);
    return shared;
}

int main(int argc, char *argv[])
{
    int P;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    char *const large = malloc((size_t)1 << 33);
    CHECK(!is_shared(large));
    free(large);
    char *stays = calloc(BYTES, 1);
    for (int i = 0; i < 60 && !is_shared(stays); i++) {
        free(stays); /* MPI itself may have freed some that were shared */
        sleep(1);
        stays = calloc(BYTES, 1);
    }
    char *const other = calloc(BYTES, 1);
    CHECK(is_shared(stays) && is_shared(other));
    CHECK(next_is_shared());
    CHECK(!next_is_shared());
    for (int i = 0; i < 10; i++)
        MPI_Alltoall(stays, BYTES / P, MPI_BYTE, other, BYTES / P, MPI_BYTE,
                     MPI_COMM_WORLD);
    CHECK(next_is_shared());
    CHECK(next_is_shared());
    free(stays);
    free(other);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong != 0;
}
