/* rota_draw.c - draw an exchange, or a run of a plan. */
#include "common/inside.h"
#include "draw/drawing.h"
#include "draw/forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    char *algo;
    rota_hints hints;
    int ranks, node_size, only;
    bool svg;
    const char *trace; /* file for a time line, or NULL */
    int plan, run;     /* in it; -1: the last */
} options;

/* ---- command line -------------------------------------------------------- */

static void print_usage(void)
{
    puts("usage: rota-draw --algo NAME --ranks P [--radix R] [--batch B]\n"
         "                 [--leaders L] [--pieces D] [--node-size Q]\n"
         "                 [--rank ONLY] [--format text|svg]\n"
         "       rota-draw --timeline FILE [--plan N] [--run N]\n"
         "                 [--format text|svg]\n"
         "\n"
         "Draws who sends which blocks to whom, step by step, from the\n"
         "schedules of all ranks. With --rank it draws only what that rank\n"
         "sends. 3>5 is the block of rank 3 for rank 5. After it come the\n"
         "place it is taken from and the place it is put into: S is the send\n"
         "buffer, R the receive buffer, t2 slot 2 of scratch, and r2 the\n"
         "place of the block from rank 2 in the receive buffer, where\n"
         "another block rests in transit.\n"
         "\n"
         "With --timeline it draws what ranks did, and when, in one run of a\n"
         "plan (by default the last), from a file written with\n"
         "ROTA_TRACE=FILE in the environment of all ranks. It shows copies,\n"
         "and MPI messages from posting until they were seen to be complete.\n"
         "For each rank it gives the time of the run, the time spent\n"
         "copying, the time in which MPI messages were in flight, and the\n"
         "time of the run divided by the longer of these two.\n"
         "\n"
         "example: rota-draw --algo parlogna --radix 2 --ranks 4");
}

static void parse_option(options *o, const char *name, char *value)
{
    if (!value)
        inside_die("%s: no such option, or its value is missing", name);
    if (strcmp(name, "--algo") == 0)
        o->algo = value;
    else if (strcmp(name, "--ranks") == 0)
        o->ranks = inside_int(name, value, 1);
    else if (rota_param_find(name + 2))
        *rota_param_of(&o->hints.params, rota_param_find(name + 2)) =
            inside_int(name, value, rota_param_find(name + 2)->least);
    else if (strcmp(name, "--node-size") == 0)
        o->node_size = inside_int(name, value, 1);
    else if (strcmp(name, "--rank") == 0)
        o->only = inside_int(name, value, 0);
    else if (strcmp(name, "--timeline") == 0)
        o->trace = value;
    else if (strcmp(name, "--plan") == 0)
        o->plan = inside_int(name, value, 0);
    else if (strcmp(name, "--run") == 0)
        o->run = inside_int(name, value, 0);
    else if (strcmp(name, "--format") == 0 && strcmp(value, "svg") == 0)
        o->svg = true;
    else if (strcmp(name, "--format") == 0 && strcmp(value, "text") == 0)
        o->svg = false;
    else
        inside_die("%s %s: no such option or value", name, value);
}

static void parse_options(options *o, int argc, char *argv[])
{
    for (int i = 1; i < argc; i += 2)
        parse_option(o, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
    if (o->trace)
        return;
    if (!o->algo || o->ranks == 0)
        inside_die("--timeline, or --algo and --ranks are needed; see --help");
    if (o->ranks > DRAWING_MAX_RANKS)
        inside_die("--ranks: at most %d can be drawn", DRAWING_MAX_RANKS);
    if (o->only >= o->ranks)
        inside_die("--rank: there are ranks 0 to %d", o->ranks - 1);
    const rota_hints named = inside_parse(o->algo);
    o->hints.algo = named.algo;
    for (int i = 0; i < ROTA_N_PARAMS; i++)
        if (rota_param_value(&named.params, &rota_param_table[i]) > 0)
            *rota_param_of(&o->hints.params, &rota_param_table[i]) =
                rota_param_value(&named.params, &rota_param_table[i]);
}

int main(int argc, char *argv[])
{
    options o = {.hints = {.metadata = -1}, .only = -1, .plan = -1, .run = -1};
    drawing d;

    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        print_usage();
        return EXIT_SUCCESS;
    }
    parse_options(&o, argc, argv);
    if (o.trace) {
        draw_timeline(o.trace, o.plan, o.run, o.svg);
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    drawing_make(&d, &o.hints, o.ranks, o.node_size, o.only);
    if (o.svg)
        draw_svg(&d);
    else
        draw_text(&d);
    drawing_free(&d);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
