/* fuzz.c - a target of fuzz.h on cases drawn at random.
 *
 *   fuzz_NAME [--seed S] [--cases N] [--seconds T]
 *                           cases S, S + 1, ... until N are done or T seconds
 *                           are over; 2,000 from 1 on if nothing is said
 *   fuzz_NAME --case S      this one alone, in this process
 *   fuzz_NAME FILE          the bytes of a file, such as libFuzzer writes
 *
 * Cases run in a child, so that whatever ends it - a signal, a sanitizer, a
 * case of more than CASE_SECONDS - leaves the parent to say which it was.
 */
#define _DEFAULT_SOURCE
#include "fuzz/fuzz.h"
#include "common/pattern.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CASES = 2000, MOST_BYTES = 4096, CASE_SECONDS = 60 };

typedef struct work {
    uint64_t seed, cases; /* cases from seed on; no more after */
    time_t until;         /* this time; 0: whatever the time */
} work;

static void run_case(uint64_t seed)
{
    static uint8_t bytes[MOST_BYTES];
    const size_t n = (size_t)(test_hash(seed) % (MOST_BYTES + 1));

    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(test_hash(test_hash(seed) + i / 8) >> i % 8 * 8);
    LLVMFuzzerTestOneInput(bytes, n);
}

/* The child: *seed is the case that it is at. */
static void run_all(const work *w, volatile uint64_t *seed)
{
    for (uint64_t i = 0; i < w->cases && (!w->until || time(NULL) < w->until);
         i++, ++*seed) {
        alarm(CASE_SECONDS);
        run_case(*seed);
    }
    alarm(0);
}

static int run_file(const char *path)
{
    FILE *const f = fopen(path, "rb");
    uint8_t *const bytes = malloc((size_t)1 << 20);

    if (!f || !bytes) {
        perror(path);
        return EXIT_FAILURE;
    }
    LLVMFuzzerTestOneInput(bytes, fread(bytes, 1, (size_t)1 << 20, f));
    fclose(f);
    free(bytes);
    return EXIT_SUCCESS;
}

/* A failure of the child's is its last case's. */
static int supervise(const work *w, int argc, char **argv)
{
    volatile uint64_t *const seed =
        mmap(NULL, sizeof *seed, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status;

    if (seed == MAP_FAILED)
        return EXIT_FAILURE;
    *seed = w->seed;
    const pid_t child = fork();
    if (child == 0) {
        LLVMFuzzerInitialize(&argc, &argv);
        run_all(w, seed);
        exit(EXIT_SUCCESS);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return EXIT_FAILURE;
    printf("%llu cases, the first %llu\n",
           (unsigned long long)(*seed - w->seed), (unsigned long long)w->seed);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
        return EXIT_SUCCESS;
    printf("FAILED by %s %d; again: %s --case %llu\n",
           WIFEXITED(status) ? "exit code" : "signal",
           WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), argv[0],
           (unsigned long long)*seed);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'},
        {"cases", required_argument, NULL, 'n'},
        {"seconds", required_argument, NULL, 't'},
        {"case", required_argument, NULL, 'c'},
        {NULL, 0, NULL, 0},
    };
    work w = {.seed = 1, .cases = CASES};

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        const uint64_t n = optarg ? strtoull(optarg, NULL, 10) : 0;
        if (o == 's')
            w.seed = n;
        else if (o == 'n')
            w.cases = n;
        else if (o == 't')
            w = (work){w.seed, UINT64_MAX, time(NULL) + (time_t)n};
        else if (o != 'c')
            return EXIT_FAILURE;
        if (o != 'c')
            continue;
        LLVMFuzzerInitialize(&argc, &argv);
        run_case(n);
        return EXIT_SUCCESS;
    }
    if (optind == argc)
        return supervise(&w, argc, argv);
    LLVMFuzzerInitialize(&argc, &argv);
    return run_file(argv[optind]);
}
