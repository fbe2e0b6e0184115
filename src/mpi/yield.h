/* yield.h - what librota_yield tells librota_mpi. */
#ifndef ROTA_MPI_YIELD_H
#define ROTA_MPI_YIELD_H

#include <stdbool.h>

/* Does MPI give way while it waits? NULL where that library is not preloaded. */
bool rota_yield_is_on(void) __attribute__((weak));

static inline bool rota_mpi_gives_way(void)
{
    return rota_yield_is_on && rota_yield_is_on();
}

#endif /* ROTA_MPI_YIELD_H */
