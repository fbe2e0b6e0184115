/* err.c - the text that belongs to a failing status. */
#include "err.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char text[ROTA_ERR_TEXT];
static _Thread_local bool pending;

int rota_fail(int errorclass, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pending = true;
    return errorclass;
}

int rota_fail_mem(const char *what)
{
    return rota_fail(MPI_ERR_NO_MEM, "no memory for %s", what);
}

const char *rota_fail_text(void)
{
    return pending ? text : NULL;
}

void rota_fail_clear(void)
{
    pending = false;
}
