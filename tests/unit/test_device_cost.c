/* test_device_cost.c - what copies of a device count for. */
#include "algos/algo.h"
#include "choose/device_cost.h"

#include <mpi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { P = 8, ME = 2, SENT = 1000, RECEIVED = 300 };

/* This rank sends all others SENT bytes, and receives RECEIVED from all but
 * itself and rank 0. Returns what the host has left, [n_blocks]. */
static double *count(rota_device_path path, rota_sched *s, rota_terms *terms)
{
    const rota_params params = {.batch = 4};
    rota_topo topo;

    *terms = (rota_terms){{0}};
    assert_int_equal(rota_topo_make(&topo, P, P, 1), MPI_SUCCESS);
    assert_int_equal(rota_sched_init(s, P, ME), MPI_SUCCESS);
    assert_int_equal(rota_algo_multi_pair.build(&topo, &params, s),
                     MPI_SUCCESS);
    double *const bytes = calloc(s->n_blocks, sizeof *bytes);
    assert_non_null(bytes);
    for (int q = 0; q < P; q++) {
        bytes[rota_src(s, q)] = q == ME ? 0 : SENT;
        bytes[rota_dst(s, q)] = q == ME || q == 0 ? 0 : RECEIVED;
    }
    rota_device_count(s, bytes, path, terms);
    rota_topo_free(&topo);
    return bytes;
}

static void staged(void **state)
{
    rota_sched s;
    rota_terms terms;
    double *const bytes = count(ROTA_DEVICE_AUTO, &s, &terms);

    (void)state;
    assert_float_equal(terms.n[ROTA_TERM_STAGED_SIDE], 2, 1e-9);
    assert_float_equal(terms.n[ROTA_TERM_STAGED_BYTE],
                       (P - 1) * SENT + (P - 2) * RECEIVED, 1e-9);
    assert_float_equal(terms.n[ROTA_TERM_DEVICE_COPY], 0, 1e-9);
    assert_float_equal(bytes[rota_src(&s, 0)], SENT, 1e-9);
    free(bytes);
    rota_sched_free(&s);
}

static void from_device_to_device(void **state)
{
    rota_sched s;
    rota_terms terms;
    double *const bytes = count(ROTA_DEVICE_IPC, &s, &terms);

    (void)state;
    assert_float_equal(terms.n[ROTA_TERM_DEVICE_COPY], P - 2, 1e-9);
    assert_float_equal(terms.n[ROTA_TERM_DEVICE_BYTE], (P - 2) * RECEIVED,
                       1e-9);
    assert_float_equal(terms.n[ROTA_TERM_STAGED_SIDE], 0, 1e-9);
    assert_true(bytes[rota_src(&s, 0)] > 0 && bytes[rota_src(&s, 0)] < SENT);
    assert_float_equal(bytes[rota_src(&s, ME)], 0, 1e-9);
    free(bytes);
    rota_sched_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(staged),
        cmocka_unit_test(from_device_to_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
