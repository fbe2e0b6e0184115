/* testdev.h - memory of a device for tests, of one that is there (cudadev.c) or
 * of a stand-in (standin.c).
 */
#ifndef ROTA_TEST_DEVICE_H
#define ROTA_TEST_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Begin to use the device; false, and why, if there is none. */
bool testdev_open(const char **why);

/* From now on, this process has that device, and processes share it by time, or do
 * not. False: the device is real. */
bool testdev_pretend(int device, bool by_time);

/* The stand-in finds both in its environment. */
static inline void testdev_tell_standin(int device, bool by_time)
{
    char number[16];

    snprintf(number, sizeof number, "%d", device);
    setenv("STANDIN_DEVICE", number, 1);
    if (by_time)
        setenv("STANDIN_BY_TIME", "1", 1);
    else
        unsetenv("STANDIN_BY_TIME");
}

/* Ends the program if there is no memory. Shared: other processes can open it;
 * private: they cannot; else as it comes. */
void *testdev_alloc(size_t bytes);
void *testdev_alloc_shared(size_t bytes);
void *testdev_alloc_private(size_t bytes);
void testdev_free(void *memory);

/* Between memory of the device and of the host, waiting for it. */
void testdev_put(void *to, const void *from, size_t bytes);
void testdev_get(void *to, const void *from, size_t bytes);

/* A stream, as for rota_plan_set_stream; what is put in it is done some time
 * later, in order. put_later reads from when that comes. */
void *testdev_stream_make(void);
void testdev_stream_free(void *stream); /* waits */
void testdev_stream_wait(void *stream);
void testdev_put_later(void *to, const void *from, size_t bytes, void *stream);

/* Queues, marks, pieces of page-locked memory and of other processes' memory that
 * exist, if that is known; else 0. */
size_t testdev_left(void);

#endif /* ROTA_TEST_DEVICE_H */
