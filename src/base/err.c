/* err.c - the text that belongs to a failing status. */
#include "base/err.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char text[ROTA_ERR_TEXT];
static _Thread_local bool pending;

_Atomic bool rota_fail_any;

int rota_fail(int errorclass, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pending = true;
    atomic_store_explicit(&rota_fail_any, true, memory_order_relaxed);
    return errorclass;
}

int rota_fail_mem(const char *what)
{
    return rota_fail(MPI_ERR_NO_MEM, "no memory for %s", what);
}

void rota_fail_at(int rank)
{
    char prefix[sizeof "rank -2147483648: "];
    int named, end = 0;

    if (!pending || (sscanf(text, "rank %d:%n", &named, &end), end > 0))
        return;
    const size_t n = (size_t)snprintf(prefix, sizeof prefix, "rank %d: ", rank);
    memmove(text + n, text, sizeof text - n);
    memcpy(text, prefix, n);
    text[sizeof text - 1] = '\0';
}

const char *rota_fail_text(void)
{
    return pending ? text : NULL;
}

void rota_fail_forget(void)
{
    pending = false;
}
