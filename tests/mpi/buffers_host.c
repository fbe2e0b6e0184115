/* buffers_host.c - buffers are memory of the host. */
#include "buffers.h"

void test_buffers_begin(void)
{
}

void *test_buffer_make(void *host, size_t bytes, unsigned which)
{
    (void)bytes;
    (void)which;
    return host;
}

void test_buffer_free(void *there, void *host)
{
    (void)there;
    (void)host;
}

void test_buffer_put(void *there, const void *host, size_t bytes)
{
    (void)there;
    (void)host;
    (void)bytes;
}

void test_buffer_get(void *host, const void *there, size_t bytes)
{
    (void)there;
    (void)host;
    (void)bytes;
}

void test_buffers_end(void)
{
}
