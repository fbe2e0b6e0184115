#include "common/touch.h"

#include <stddef.h>
#include <string.h>

/* The same in each of its bytes, so that it changes all of them: 256 values. */
#define EVERY_BYTE UINT64_C(0x0101010101010101)

static void write_block(unsigned char *block, size_t bytes, uint64_t word)
{
    size_t at = 0;

    for (; at + sizeof word <= bytes; at += sizeof word)
        memcpy(block + at, &word, sizeof word);
    memcpy(block + at, &word, bytes - at);
}

void touch_write(const touch_blocks *blocks, uint64_t stamp)
{
    const uint64_t word = EVERY_BYTE * (stamp & 0xff);

    for (int i = 0; i < blocks->n; i++)
        write_block(blocks->buffer + blocks->displs[i],
                    (size_t)blocks->counts[i], word);
}

static uint64_t read_block(const unsigned char *block, size_t bytes)
{
    uint64_t sum = 0, word;
    size_t at = 0;

    for (; at + sizeof word <= bytes; at += sizeof word) {
        memcpy(&word, block + at, sizeof word);
        sum += word;
    }
    word = 0;
    memcpy(&word, block + at, bytes - at);
    return sum + word;
}

/* What keeps the reading from being left out. */
static volatile uint64_t sink;

uint64_t touch_read(const touch_blocks *blocks)
{
    uint64_t sum = 0;

    for (int i = 0; i < blocks->n; i++)
        sum += read_block(blocks->buffer + blocks->displs[i],
                          (size_t)blocks->counts[i]);
    sink = sum;
    return sum;
}
