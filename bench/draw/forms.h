/* forms.h - what can be drawn, and as what. */
#ifndef BENCH_DRAW_FORMS_H
#define BENCH_DRAW_FORMS_H

#include "draw/drawing.h"

/* To standard output. */
void draw_text(const drawing *d);
void draw_svg(const drawing *d);

/* A run of a plan, as a file of ROTA_TRACE has it; plan or run below 0: the
 * last. Dies where there is no such run. */
void draw_timeline(const char *path, int plan, long run, bool svg);

#endif
