/* fuzz_plans.c - plans of all kinds on simulated ranks: a case is one of
 * sim/case.h, whose every part is drawn.
 */
#include "fuzz/fuzz.h"
#include "sim/case.h"

#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

/* Few ranks most often: they come in more ways, and cost less. */
static int draw_ranks(fuzz_bytes *b)
{
    static const uint64_t most[] = {4, 4, 4, 4, 9,  9,  9,  9,
                                    9, 9, 9, 9, 17, 17, 17, 64};

    return 1 + (int)fuzz_draw(b, most[fuzz_draw(b, 16)]);
}

/* How many elements the largest block has, at most: few ranks, large blocks. */
static int draw_scale(fuzz_bytes *b, int P)
{
    static const int scale[] = {0, 0, 0, 7, 100, 2000};
    const uint64_t n = P <= 4 ? 6 : P <= 17 ? 4 : 1;

    return scale[fuzz_draw(b, n)];
}

static spec draw_spec(fuzz_bytes *b)
{
    spec c = {.P = draw_ranks(b)};
    const uint64_t P = (uint64_t)c.P;
    uint64_t n_algos = 0;

    while (rota_algo_table[n_algos])
        n_algos++;
    c.algo = rota_algo_table[fuzz_draw(b, n_algos)];
    c.shape = (shape)fuzz_draw(b, N_SHAPES);
    c.params.batch = 1 + (int)fuzz_draw(b, 2 * P);
    c.params.radix = c.P > 2 ? 2 + (int)fuzz_draw(b, P - 1) : 2;
    c.params.leaders = 1 + (int)fuzz_draw(b, 2 * P);
    c.params.pieces = 1 + (int)fuzz_draw(b, 4);
    c.params.by_datatype = fuzz_draw(b, 2);
    c.pattern = (pattern)fuzz_draw(b, N_PATTERNS);
    c.mode = (mode)fuzz_draw(b, N_MODES);
    c.metadata = (rota_metadata)fuzz_draw(b, ROTA_N_METADATA);
    c.bound = (bound)fuzz_draw(b, N_BOUNDS);
    c.lies = fuzz_draw(b, 2);
    c.typed = fuzz_draw(b, 4) == 0;
    c.parts = fuzz_draw(b, 4) == 0;
    c.nodes = (int)fuzz_draw(b, 4);
    c.scale = draw_scale(b, c.P);
    c.seed = fuzz_draw(b, UINT64_C(1) << 48);
    return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    fuzz_bytes b = {bytes, n};
    const spec c = draw_spec(&b);

    if (!sim_case_run(&c))
        abort();
    return 0;
}
