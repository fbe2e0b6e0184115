/* loaded.h - libraries that a process has loaded, whoever has done it. */
#ifndef ROTA_LOADED_H
#define ROTA_LOADED_H

#include <stdbool.h>

/* Should one look for LIBRARY (NAME.so.VERSION) by dlopen with RTLD_NOLOAD? That
 * takes 0.25 ms where it finds nothing, as it searches the file system. False if
 * the process has no object of such a NAME, or has loaded none since the last
 * call with *seen, which begins as zero. */
bool rota_loaded_since(const char *library, unsigned long long *seen);

#endif /* ROTA_LOADED_H */
