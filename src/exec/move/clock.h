/* clock.h - a monotonic clock. */
#ifndef ROTA_CLOCK_H
#define ROTA_CLOCK_H

#include <stdint.h>

int64_t rota_now_ns(void); /* nanoseconds */

#endif /* ROTA_CLOCK_H */
