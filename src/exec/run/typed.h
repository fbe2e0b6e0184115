/* typed.h - how elements of datatypes travel, for descriptions of plans. */
#ifndef ROTA_TYPED_H
#define ROTA_TYPED_H

#include "exec/exec.h"

/* Bytes of a run on this rank, received or copied within it, at least one end
 * of which is known here to have elements of a datatype. */
typedef struct rota_typed_bytes {
    size_t straight;  /* copied from one layout to the other */
    size_t by_layout; /* packed or unpacked by Rota, by layout */
    size_t by_mpi;    /* MPI packs them or has messages of datatypes */
} rota_typed_bytes;

/* Count those of a bound program whose counts are fixed. */
rota_typed_bytes rota_typed_count(const rota_exec *x);

#endif /* ROTA_TYPED_H */
