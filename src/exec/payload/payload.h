/* payload.h - for the files that each have a payload: see rota_payload. */
#ifndef ROTA_PAYLOAD_H
#define ROTA_PAYLOAD_H

#include "exec/exec.h"
#include "exec/move/blocks.h"

#include <stdlib.h>

#define ROTA_PAYLOAD(name, source)                                             \
    extern const rota_payload rota_payload_##name;
#include "exec/payloads.h"

/* The first block of a message. */
static inline rota_block rota_payload_first(const rota_exec *x, rota_dir dir,
                                            uint32_t m)
{
    const rota_msgs *const l = &x->blocks.s->msgs[dir];

    return l->item[l->msg[m].first];
}

#endif /* ROTA_PAYLOAD_H */
