/* collected.h - where the blocks of an exchange are collected.
 *
 * They go into the plan's own buffer, in rank order, end to end, if they can: when
 * a block comes, the sizes of all blocks before it must be known. A block's size
 * is x->blocks.bytes, and ROTA_NOT_COME until it is known.
 */
#ifndef ROTA_COLLECTED_H
#define ROTA_COLLECTED_H

#include "exec/exec.h"

#include <stdint.h>

#define ROTA_NOT_COME SIZE_MAX

/* Where receive block b, of so many bytes, is collected; NULL: nowhere yet, or the
 * buffer is too small. Only while it is empty may the buffer grow. */
char *rota_collected_place(rota_exec *x, rota_block b, size_t bytes);

#endif /* ROTA_COLLECTED_H */
