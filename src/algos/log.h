/* log.h - the logarithmic exchange that several algorithms are forms of. */
#ifndef ROTA_LOG_H
#define ROTA_LOG_H

#include "algos/algo.h"

typedef struct rota_log_form {
    int radix;
    bool copy_in;  /* all blocks are first copied to scratch */
    bool copy_out; /* and at last from scratch to the receive buffer */
    bool padded;   /* stays are padded */
} rota_log_form;

/* Write the schedule of parlogna.c in one of its forms. */
int rota_build_log(rota_sched *s, const rota_log_form *form);

/* A builder: the plain form in radix 2. */
int rota_build_log2(const rota_topo *topo, const rota_params *params,
                    rota_sched *s);

#endif /* ROTA_LOG_H */
