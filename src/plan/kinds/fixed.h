/* fixed.h - what kinds have in common whose counts are those of the call that makes
 * the plan. */
#ifndef ROTA_FIXED_H
#define ROTA_FIXED_H

#include "plan/kinds/built.h"

/* As in rota_kind_table. */
int rota_fixed_prepare(rota_task *task, const rota_args *args);
void rota_fixed_vote(const rota_task *task, rota_alike *alike, rota_vote *vote);

/* Set the sizes and places of blocks to those of the problem, and make room for
 * what is sent in place. May fail on one rank alone. */
int rota_fixed_fill(rota_built *b);

/* Other buffers must be like those that the plan was made with. */
int rota_fixed_check_buffers(const rota_built *b, const void *sendbuf,
                             const void *recvbuf);

#endif /* ROTA_FIXED_H */
