/* buffers_device.c - three buffers in four are memory of a device. */
#include "buffers.h"
#include "harness.h"
#include "testdev.h"

#include <stdio.h>
#include <stdlib.h>

void test_buffers_begin(void)
{
    const char *why;

    if (testdev_open(&why))
        return;
    if (test_me == 0)
        printf("skipped: %s\n", why);
    MPI_Finalize();
    exit(77);
}

void *test_buffer_make(void *host, size_t bytes, unsigned which)
{
    return which % 4 == 3 ? host : testdev_alloc(bytes);
}

/* Other ranks may have it open until they have freed their plans. */
void test_buffer_free(void *there, void *host)
{
    if (there == host)
        return;
    test_barrier();
    testdev_free(there);
}

void test_buffer_put(void *there, const void *host, size_t bytes)
{
    if (there != host)
        testdev_put(there, host, bytes);
}

void test_buffer_get(void *host, const void *there, size_t bytes)
{
    if (there != host)
        testdev_get(host, there, bytes);
}

void test_buffers_end(void)
{
    CHECK(testdev_left() == 0);
}
