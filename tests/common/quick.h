/* quick.h - which form of a test is wanted. A short form has every kind of case
 * that the long one has, but fewer of them. */
#ifndef ROTA_TEST_QUICK_H
#define ROTA_TEST_QUICK_H

#include <stdbool.h>
#include <stdlib.h>

/* By tools/test.sh without --full: short ones, wherever there are two. */
static inline bool test_is_quick(void)
{
    return getenv("ROTA_TEST_QUICK") != NULL;
}

/* By CMake in builds with sanitizers: short ones of what would take longest. */
static inline bool test_is_slow(void)
{
    return getenv("ROTA_TEST_SLOW") != NULL;
}

#endif /* ROTA_TEST_QUICK_H */
