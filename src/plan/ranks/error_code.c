/* error_code.c - MPI error codes with Rota's texts.
 *
 * MPI lets a program add codes to a class and attach a text to each. Codes are
 * never given back, so every class has a few, used in turn: a text lasts until
 * as many further errors of its class have occurred.
 *
 * MPICH 4.0 accepts codes of predefined classes, but then shows an unrelated
 * text for them. There, Rota makes classes of its own.
 */
#include "plan/ranks/error_code.h"
#include "base/err.h"
#include "plan/inside.h"
#include "rota.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CODES = 8 };

typedef struct class_codes {
    int errorclass; /* an MPI class */
    int used_class; /* that class, or Rota's own in its place */
    int code[CODES];
    int n, next;
} class_codes;

static class_codes table[] = {
    {.errorclass = MPI_ERR_ARG},     {.errorclass = MPI_ERR_COUNT},
    {.errorclass = MPI_ERR_BUFFER},  {.errorclass = MPI_ERR_TYPE},
    {.errorclass = MPI_ERR_COMM},    {.errorclass = MPI_ERR_NO_MEM},
    {.errorclass = MPI_ERR_REQUEST}, {.errorclass = MPI_ERR_OTHER},
    {.errorclass = MPI_ERR_INTERN},  {.errorclass = MPI_ERR_TOPOLOGY},
    {.errorclass = MPI_ERR_OP},      {.errorclass = MPI_ERR_TRUNCATE},
};
enum { N_CLASSES = sizeof table / sizeof table[0] };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

/* Does MPI show the text of a code in this class? */
static bool shows_text(int errorclass, int *code)
{
    static const char probe[] = "rota";
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    return MPI_Add_error_code(errorclass, code) == MPI_SUCCESS &&
           MPI_Add_error_string(*code, probe) == MPI_SUCCESS &&
           MPI_Error_string(*code, text, &length) == MPI_SUCCESS &&
           strcmp(text, probe) == 0;
}

static int add_code(class_codes *c, int *code)
{
    if (c->n == 0) {
        c->used_class = c->errorclass;
        if (!shows_text(c->errorclass, code)) {
            ROTA_TRY(MPI_Add_error_class(&c->used_class));
            ROTA_TRY(MPI_Add_error_code(c->used_class, code));
        }
    } else {
        ROTA_TRY(MPI_Add_error_code(c->used_class, code));
    }
    c->code[c->n++] = *code;
    return MPI_SUCCESS;
}

static int code_with_text(class_codes *c, const char *text)
{
    int code = c->code[c->next];

    if (c->n < CODES && add_code(c, &code) != MPI_SUCCESS)
        return c->errorclass; /* better a bare class than no error */
    if (c->n == CODES)
        c->next = (c->next + 1) % CODES;
    MPI_Add_error_string(code, text);
    return code;
}

static _Thread_local const char *called; /* the function that the program
                                            called; NULL: Rota's */

void rota_error_name(const char *function)
{
    called = function;
}

int rota_error_code(const char *function, int status)
{
    const char *const text = rota_fail_text();
    char whole[MPI_MAX_ERROR_STRING]; /* MPI refuses longer texts */
    int code = status;

    if (status == MPI_SUCCESS || !text)
        return status;
    snprintf(whole, sizeof whole, "%s: %s", called ? called : function, text);
    pthread_mutex_lock(&table_lock);
    for (int i = 0; i < N_CLASSES; i++)
        if (table[i].errorclass == status)
            code = code_with_text(&table[i], whole);
    pthread_mutex_unlock(&table_lock);
    return code;
}

static int (*raise)(MPI_Comm comm, int code) = MPI_Comm_call_errhandler;

void rota_error_raise_by(int (*function)(MPI_Comm comm, int code))
{
    raise = function;
}

int rota_error_report(MPI_Comm comm, int code)
{
#if MPI_VERSION >= 4
    const MPI_Comm nobodys = MPI_COMM_SELF;
#else
    const MPI_Comm nobodys = MPI_COMM_WORLD;
#endif

    raise(comm == MPI_COMM_NULL ? nobodys : comm, code);
    return code;
}

int rota_error_raise(MPI_Comm comm, int errorclass, const char *text)
{
    rota_fail(errorclass, "%s", text);
    return rota_error_report(comm, rota_error_code("rota", errorclass));
}

int rota_error_class(int code, int *errorclass)
{
    if (!errorclass) /* MPI would make several errors of this */
        return rota_error_report(
            MPI_COMM_NULL,
            rota_error_code(__func__,
                            rota_fail(MPI_ERR_ARG, "errorclass is NULL")));
    ROTA_TRY(MPI_Error_class(code, errorclass));
    for (int i = 0; i < N_CLASSES; i++)
        if (table[i].n > 0 && table[i].used_class == *errorclass)
            *errorclass = table[i].errorclass;
    return MPI_SUCCESS;
}
