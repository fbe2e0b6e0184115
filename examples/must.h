/* must.h - calls that may not fail, and memory.
 *
 * A rank that cannot go on says why on stderr and ends the whole job: the
 * other ranks may be waiting for it. */
#ifndef MUST_H
#define MUST_H

#include <stddef.h>

/* Each program says what it is called. */
extern const char program_name[];

/* End the job unless an MPI or Rota call returned MPI_SUCCESS. */
#define MUST(call) must((call), #call)
void must(int code, const char *call);

/* Print "PROGRAM: rank R: text" and end the job. */
_Noreturn void die(const char *format, ...);

/* realloc(old, n * bytes_each) that checks the product, or ends the job. */
void *must_realloc(void *old, size_t n, size_t bytes_each);

#endif
