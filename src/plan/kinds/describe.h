/* describe.h - describes a plan, as text or JSON. */
#ifndef ROTA_DESCRIBE_H
#define ROTA_DESCRIBE_H

#include "plan/kinds/plan.h"

/* Give a text to a caller as rota_plan_describe says, and free it. If it is
 * NULL, fail for want of memory for `what`. */
int rota_text_give(char *text, const char *what, char *buf, size_t *len);
int rota_describe(const rota_plan *plan, int format, char *buf, size_t *len);

/* Describe the plan on rank 0's standard error if ROTA_EXPLAIN is 1. */
void rota_explain(const rota_plan *plan);

/* Count the terms of a run of p on this rank. */
void rota_plan_terms(const rota_plan *p, rota_terms step[ROTA_STEPS]);

#endif /* ROTA_DESCRIBE_H */
