/* local.h - this process's heap (base/heap.h), if it has one. */
#ifndef ROTA_LOCAL_H
#define ROTA_LOCAL_H

#include "base/heap.h"

/* Load librota_heap.so, if it can be, and make the heap. NULL: there is none, and
 * *why says why not. */
const rota_heap *rota_local_open(const char **why);

/* The heap, if anything of this process has made it; else NULL. */
const rota_heap *rota_local_find(void);

#endif /* ROTA_LOCAL_H */
