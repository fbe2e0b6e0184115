/* loop_options.c - what fixed-point loops can be told; see loop.h. */
#include "loop.h"
#include "must.h"

#include <stdlib.h>
#include <unistd.h>

loop_options loop_options_default(void)
{
    return (loop_options){.exchange = "all",
                          .iterations = LOOP_TO_THE_END,
                          .progress = isatty(STDERR_FILENO)};
}

int loop_options_check(loop_options *o)
{
    o->n_forms = exchange_choose(o->exchange, o->form);
    if (o->n_forms == 0)
        return usage_error("unknown exchange: %s", o->exchange);
    if (o->verify && o->iterations != LOOP_TO_THE_END)
        return usage_error("--verify is for a loop to the end, without "
                           "--iterations");
    return 0;
}

int loop_report(const loop_options *o, const loop_result result[],
                const char *what, FILE *csv)
{
    int err = loop_results_differ(o->n_forms, result);

    loop_print(o->n_forms, result, what);
    if (csv != NULL)
        err |= loop_write_csv(csv, o->csv, o->n_forms, result, what);
    return err;
}

int loop_end(const loop_options *o, loop_result result[], int err,
             MPI_Comm comm)
{
    loop_print_memory(comm);
    MUST(MPI_Bcast(&err, 1, MPI_INT, 0, comm));
    for (int i = 0; i < o->n_forms; i++)
        free(result[i].steps);
    return err;
}
