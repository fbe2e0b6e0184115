/* loop_options.c - what fixed-point loops can be told; see loop.h. */
#include "loop.h"
#include "must.h"

#include <unistd.h>

loop_options loop_options_default(void)
{
    return (loop_options){.exchange = "all",
                          .rounds = 1,
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
