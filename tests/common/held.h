/* held.h - memory that a test holds, with bytes by which it is known again. */
#ifndef ROTA_TEST_HELD_H
#define ROTA_TEST_HELD_H

#include <stdbool.h>
#include <stddef.h>

typedef struct held {
    unsigned char *p;
    size_t bytes;
} held;

/* Are the first byte, the last and the one between as touch left them? */
static inline bool is_whole(const held *h)
{
    const unsigned char what = (unsigned char)h->bytes;

    return h->bytes == 0 || (h->p[0] == what && h->p[h->bytes - 1] == what &&
                             h->p[h->bytes / 2] == what);
}

static inline void touch(held *h)
{
    if (h->bytes > 0)
        h->p[0] = h->p[h->bytes / 2] = h->p[h->bytes - 1] =
            (unsigned char)h->bytes;
}

#endif /* ROTA_TEST_HELD_H */
