/* fakecuda.h - for libraries that stand in for others beside the driver. */
#ifndef ROTA_TEST_FAKECUDA_H
#define ROTA_TEST_FAKECUDA_H

#include "standin.h"

#include <cuda.h>

rota_queue *fakecuda_queue(CUstream stream);

/* Where so many bytes of memory really are: for functions in a stream. */
void *fakecuda_place(const void *p, size_t bytes);

/* Have a function called when all that is in the stream has been done. */
void fakecuda_call(CUstream stream, void (*call)(void *state), void *state);

#endif /* ROTA_TEST_FAKECUDA_H */
