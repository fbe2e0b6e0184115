/* touch.h - what a program does between exchanges: it writes what it sends, and
 * reads what it received.
 *
 * What another core has read must be taken back before it is written, and what
 * another core has written must be fetched. An exchange between buffers that
 * nobody touches is spared both.
 */
#ifndef BENCH_TOUCH_H
#define BENCH_TOUCH_H

#include <stdint.h>

/* Bits. */
typedef enum bench_touch {
    TOUCH_NONE = 0,
    TOUCH_SEND = 1,
    TOUCH_RECV = 2,
    TOUCH_BOTH = TOUCH_SEND | TOUCH_RECV
} bench_touch;

/* Blocks of a buffer that the host may touch; all borrowed. */
typedef struct touch_blocks {
    unsigned char *buffer;
    const int *counts, *displs; /* [n] bytes */
    int n;
} touch_blocks;

/* Write every byte of the blocks, none outside of them: other values with every
 * stamp. */
void touch_write(const touch_blocks *blocks, uint64_t stamp);

/* Read every byte of the blocks. Returns a sum that each of them is in. */
uint64_t touch_read(const touch_blocks *blocks);

#endif
