/* node_memory.c - what plans take of a node's memory.
 *
 * usage: mpiexec -n P rota-node-memory PLANS BYTES [STARTS]
 *
 * Makes PLANS fixed plans of blocks of BYTES by spread_out, all ranks on one node,
 * and starts each STARTS times (1). Prints a line: the growth of the machine's shared
 * memory from the first half of the plans to all of them, by plan and ordered pair of
 * ranks; all shared memory and page tables; the addresses that Rota takes of a rank;
 * and the time of an init.
 */
#include <rota.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A value of /proc/meminfo or /proc/self/status, in KiB. */
static long read_kib(const char *path, const char *key)
{
    FILE *const f = fopen(path, "r");
    char line[256];
    long kib = -1;

    while (f && kib < 0 && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            kib = atol(line + strlen(key) + 1);
    if (f)
        fclose(f);
    return kib;
}

/* Addresses at which this process has shared memory of Rota's, its own and that of
 * others, in KiB. */
static long read_mapped(void)
{
    FILE *const f = fopen("/proc/self/maps", "r");
    unsigned long begin, end;
    char line[512];
    long kib = 0;

    while (f && fgets(line, sizeof line, f))
        if (strstr(line, "memfd:rota") &&
            sscanf(line, "%lx-%lx", &begin, &end) == 2)
            kib += (long)((end - begin) / 1024);
    if (f)
        fclose(f);
    return kib;
}

/* All ranks stand still meanwhile. Returns rank 0's. */
static long read_once(const char *key)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const long kib = read_kib("/proc/meminfo", key);
    MPI_Barrier(MPI_COMM_WORLD);
    return kib;
}

static void must(int err)
{
    if (err != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static void run(rota_plan *plan, int starts)
{
    for (int i = 0; i < starts; i++) {
        must(rota_start(plan));
        must(rota_wait(plan));
    }
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 40;
    const int bytes = argc > 2 ? atoi(argv[2]) : 8;
    const int starts = argc > 3 ? atoi(argv[3]) : 1;
    rota_plan **const plan = calloc((size_t)n, sizeof *plan);
    double first = 0, later = 0;
    long half = 0;
    MPI_Info info;
    int P, me;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    char *const send = calloc((size_t)P, (size_t)bytes);
    char *const recv = calloc((size_t)P, (size_t)bytes);
    if (!plan || !send || !recv)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Info_create(&info);
    MPI_Info_set(info, "rota_algorithm", "spread_out");
    MPI_Barrier(MPI_COMM_WORLD);
    const long shared = read_once("Shmem:"), tables = read_once("PageTables:");
    for (int i = 0; i < n; i++) {
        const double begin = MPI_Wtime();
        must(rota_alltoall_init(send, bytes, MPI_BYTE, recv, bytes, MPI_BYTE,
                                MPI_COMM_WORLD, info, &plan[i]));
        *(i == 0 ? &first : &later) += MPI_Wtime() - begin;
        run(plan[i], starts);
        if (i + 1 == n / 2)
            half = read_once("Shmem:");
    }
    const long all = read_once("Shmem:"), paged = read_once("PageTables:");
    const double pairs = (double)P * (P - 1);
    if (me == 0)
        printf("P %d plans %d block %d: %.0f B a pair and plan, shared %.1f "
               "MiB, page tables %.1f MiB, mapped %.1f MiB a rank, init first "
               "%.1f ms later %.2f ms\n",
               P, n, bytes, (double)(all - half) * 1024 / (n - n / 2) / pairs,
               (double)(all - shared) / 1024, (double)(paged - tables) / 1024,
               (double)read_mapped() / 1024, first * 1e3,
               n > 1 ? later / (n - 1) * 1e3 : 0.0);
    for (int i = 0; i < n; i++)
        must(rota_plan_free(&plan[i]));
    MPI_Info_free(&info);
    MPI_Finalize();
    free(plan);
    free(send);
    free(recv);
    return EXIT_SUCCESS;
}
