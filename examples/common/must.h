/* must.h - calls that may not fail, and memory.
 *
 * A rank that cannot go on says why on stderr and ends the whole job: the
 * other ranks may be waiting for it. */
#ifndef MUST_H
#define MUST_H

#include <stddef.h>
#include <stdint.h>

/* End the job unless an MPI or Rota call returned MPI_SUCCESS. */
#define MUST(call) must((call), #call)
void must(int code, const char *call);

/* The program's name in what the functions here print: the last part of path,
 * such as argv[0]. The text must stay. */
void must_name(const char *path);

/* Print "NAME: rank R: text" and end the job. */
_Noreturn void die(const char *format, ...);

/* On rank 0, print "NAME: text". For what all ranks find alike. */
void complain(const char *format, ...);

/* realloc(old, n * bytes_each) that checks the product, or ends the job. */
void *must_realloc(void *old, size_t n, size_t bytes_each);

/* n * bytes_each, likewise, that begin on a page: where malloc happens to put
 * large arrays can make copies between them many times slower, and one of
 * several that are compared would have the luck. */
void *must_pages(size_t n, size_t bytes_each);

/* Let them refuse what would give this process more than so many MiB of
 * memory, so that an input that is too large ends in a message and not in the
 * machine running out of memory, of which malloc says nothing. 0: this rank's
 * share of the machine's memory. Collective. */
void memory_limit(uint64_t mib);

/* The most memory that this process has had so far, in MiB. */
uint64_t memory_peak(void);

#endif
