/* buffers.h - where the buffers of a test lie: buffers_host.c or
 * buffers_device.c.
 */
#ifndef ROTA_TEST_BUFFERS_H
#define ROTA_TEST_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>

/* After test_begin; skips the test where it cannot run. */
void test_buffers_begin(void);

/* The memory to hand over for contents at host, in which the test writes and
 * looks: that itself, or memory elsewhere. which: draws it. */
void *test_buffer_make(void *host, size_t bytes, unsigned which);
void test_buffer_free(void *there, void *host);

/* Have what is at host there, and the other way round. */
void test_buffer_put(void *there, const void *host, size_t bytes);
void test_buffer_get(void *host, const void *there, size_t bytes);

/* Before test_end: has the library given back what it took of the device? */
void test_buffers_end(void);

#endif /* ROTA_TEST_BUFFERS_H */
