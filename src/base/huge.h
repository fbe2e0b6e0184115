/* huge.h - huge pages for memory that processes share.
 *
 * By itself Linux gives them to no such memory, unless its administrator says so
 * (shmem_enabled), but to a program that asks for certain addresses, by MADV_COLLAPSE
 * of Linux 6.1. Where programs may not ask for huge pages of ordinary memory either
 * (transparent_hugepage/enabled is never), this file does not.
 */
#ifndef ROTA_BASE_HUGE_H
#define ROTA_BASE_HUGE_H

#include <stdbool.h>
#include <stddef.h>

enum { ROTA_HUGE = 1 << 21 }; /* bytes of a huge page */

/* May programs ask? Of other sizes, no. */
bool rota_huge_allowed(void);

/* Map a file, shared, without reserving memory. Long mappings lie so that their huge
 * pages may be the file's. MAP_FAILED: errno says why. */
char *rota_huge_map(int fd, size_t at, size_t bytes, int protection);

/* The first whole huge page of a range, and how many there are. */
size_t rota_huge_pages(char *memory, size_t bytes, char **first);

/* Back n huge pages of a shared mapping, of which no page exists. What the system
 * has none for exists when it is touched, as ever. */
void rota_huge_back(char *memory, size_t n);

#endif /* ROTA_BASE_HUGE_H */
