/* harness.h - what the programs that run under mpiexec share. */
#ifndef ROTA_TEST_HARNESS_H
#define ROTA_TEST_HARNESS_H

#include <mpi.h>
#include <rota.h>

extern int test_P, test_me;
extern const char *test_case; /* named in every failure */

/* MPI_Init with errors returned; SKIP is CTest's code for "not run". */
void test_begin(int *argc, char ***argv, int thread_level);

/* Count a failure and print it (a few only). */
void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

int test_failures(void); /* so far, on this rank */

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition))                                                      \
            test_fail(__FILE__, __LINE__, "%s", #condition);                   \
    } while (0)

/* The call must return MPI_SUCCESS. */
#define MUST(call) test_must(call, #call, __FILE__, __LINE__)
int test_must(int code, const char *call, const char *file, int line);

/* The call must return an error of the class, whose text contains the words. */
#define MUST_FAIL(call, errorclass, words)                                     \
    test_must_fail(call, errorclass, words, #call, __FILE__, __LINE__)
void test_must_fail(int code, int errorclass, const char *words,
                    const char *call, const char *file, int line);

/* An info object with one key, or two if key2 is not NULL. */
MPI_Info test_info(const char *key, const char *value, const char *key2,
                   const char *value2);

/* Ranks wait for each other without holding the processor. */
void test_barrier(void);

/* From now on a failure, a signal that ends the program, or so many seconds
 * before the next call are followed by the words that make it happen again. */
void test_watch(const char *again, unsigned seconds);
void test_watch_end(void);

/* Leave the processor to others for so many microseconds. */
void test_stand_still(long us);

/* The largest value of all ranks, which wait for each other likewise. */
int test_max(int value);

/* The number that a description of the plan has under the key; -1: none. */
long test_stated(const rota_plan *plan, const char *key);

/* Add failures over all ranks, finalise, and return the exit status. */
int test_end(void);

#endif /* ROTA_TEST_HARNESS_H */
