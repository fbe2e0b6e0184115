/* attach.h - memory of other processes that is not shared, copied by the kernel
 * (cross-memory attach).
 *
 * Linux lets a process read another one's memory that could also debug it:
 * processes of one user, unless kernel.yama.ptrace_scope or a container forbids
 * it. Some memory cannot be read in this way, such as a device's that is mapped.
 */
#ifndef ROTA_ATTACH_H
#define ROTA_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An address in another process. */
typedef uint64_t rota_foreign;

/* Copy bytes of process pid. false: the kernel refuses, errno says why. */
bool rota_attach_read(int64_t pid, rota_foreign from, char *to, size_t bytes);

/* Can other processes read these bytes of this one, if they may read any? Looks at
 * the first and the last. */
bool rota_attach_is_readable(const char *begin, size_t bytes);

#endif /* ROTA_ATTACH_H */
