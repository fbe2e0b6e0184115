/* standin.h - see standin.c. */
#ifndef ROTA_TEST_STANDIN_H
#define ROTA_TEST_STANDIN_H

#include "device/device.h"

#include <stdint.h>

extern const rota_device standin_device;

/* Where memory of the stand-in really is; other memory is where it is. Ends the
 * program if fewer than so many bytes from p on were allocated. */
void *standin_place(const void *p, size_t bytes);

/* Copies put in queues so far, to memory of the stand-in and to other memory. */
size_t standin_copies(bool up);

/* What is put in a queue has numbers from 1 on: that of the last. */
uint64_t standin_put(const rota_queue *q);

/* Has a queue, which may be gone, got as far as that? Time goes by. */
bool standin_passed(const rota_queue *q, uint64_t number);

/* Put into q: wait until the other one has got so far; call a function. */
void standin_await(rota_queue *q, rota_queue *of, uint64_t number);
void standin_call(rota_queue *q, void (*call)(void *state), void *state);

#endif /* ROTA_TEST_STANDIN_H */
