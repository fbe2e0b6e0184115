/* no_memfd.c - a system without memfd_create, to be preloaded. */
#include <errno.h>

int memfd_create(const char *name, unsigned flags);

int memfd_create(const char *name, unsigned flags)
{
    (void)name;
    (void)flags;
    errno = ENOSYS;
    return -1;
}
