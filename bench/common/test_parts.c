/* test_parts.c - the parts of rota-bench that a wrong figure would hide in:
 * block sizes, verification, command line. One process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/dist.h"
#include "common/exchange.h"
#include "common/neighborhood.h"
#include "common/options.h"
#include "common/touch.h"
#include "common/util.h"

#define SEED UINT64_C(7)

/* ---- distributions ------------------------------------------------------- */

static dist parsed(const char *text)
{
    char error[256] = "";
    dist d;

    if (dist_parse(text, &d, error, sizeof error) != 0)
        fail_msg("%s: %s", text, error);
    return d;
}

static double mean_of(const dist *d, size_t max, int P)
{
    double sum = 0;

    for (int src = 0; src < P; src++)
        for (int dst = 0; dst < P; dst++)
            sum += (double)dist_bytes(d, max, P, SEED, src, dst, 0);
    return sum / P / P;
}

static void sizes_are_at_most_max(void **state)
{
    const char *const texts[] = {"uniform",       "window:50", "normal",
                                 "powerlaw:0.99", "fft1",      "fft2",
                                 "sparse:0.05"};
    const size_t sizes[] = {0, 1, 8, 512, 65536};
    const int ranks[] = {1, 2, 3, 7, 17};

    (void)state;
    for (int t = 0; t < 7; t++)
        for (int s = 0; s < 5; s++)
            for (int p = 0; p < 5; p++)
                for (int i = 0; i < ranks[p] * ranks[p]; i++) {
                    const dist d = parsed(texts[t]);

                    assert_true(dist_bytes(&d, sizes[s], ranks[p], SEED,
                                           i / ranks[p], i % ranks[p],
                                           3) <= sizes[s]);
                }
}

static void sizes_change_with_pair_step_and_seed(void **state)
{
    const dist d = parsed("uniform");
    const size_t max = (size_t)1 << 40;
    const size_t size = dist_bytes(&d, max, 4, 1, 2, 3, 5);

    (void)state;
    assert_true(size == dist_bytes(&d, max, 4, 1, 2, 3, 5));
    assert_true(size != dist_bytes(&d, max, 4, 1, 3, 2, 5));
    assert_true(size != dist_bytes(&d, max, 4, 1, 2, 3, 6));
    assert_true(size != dist_bytes(&d, max, 4, 2, 2, 3, 5));
}

/* 64 x 64 draws: the standard error of a mean is S/64 at most. */
static void means_are_as_documented(void **state)
{
    const struct {
        const char *text;
        double mean; /* of S */
    } expected[] = {
        {"uniform", 0.5},
        {"window:20", 0.9},
        {"sparse:0.25", 0.125},
        /* Mean 1000/1024 and deviation 240/1024, cut at 1: */
        {"normal", 0.806},
        /* (1 - B^P) / (P (1 - B)) */
        {"powerlaw:0.95", 0.3007},
        {"fft2", 1 - 0.75 / 64},
    };

    (void)state;
    for (int i = 0; i < 6; i++) {
        const dist d = parsed(expected[i].text);
        const double mean = mean_of(&d, 100000, 64) / 100000;

        if (mean < expected[i].mean - 0.02 || mean > expected[i].mean + 0.02)
            fail_msg("%s: mean %f of S", expected[i].text, mean);
    }
}

static void window_has_a_floor(void **state)
{
    const dist half = parsed("window:50"), none = parsed("window:0");

    (void)state;
    for (int i = 0; i < 1000; i++) {
        const size_t bytes = dist_bytes(&half, 1000, 1000, SEED, i, 0, 0);
        assert_true(bytes >= 500 && bytes <= 1000);
        assert_int_equal(dist_bytes(&none, 1000, 1000, SEED, i, 0, 0), 1000);
    }
}

static void fft_shapes_are_those_of_the_paper(void **state)
{
    const dist fft1 = parsed("fft1"), fft2 = parsed("fft2");

    (void)state;
    /* P = 7: ceil(0.625 P) = 5 workers send to ceil(0.78125 P) = 6 ranks. */
    for (int src = 0; src < 7; src++)
        for (int dst = 0; dst < 7; dst++) {
            assert_int_equal(dist_bytes(&fft1, 64, 7, SEED, src, dst, 0),
                             src < 5 && dst < 6 ? 64 : 0);
            assert_int_equal(dist_bytes(&fft2, 512, 7, SEED, src, dst, 0),
                             src < 6 ? 512 : 128);
        }
    assert_int_equal(dist_bytes(&fft2, 512, 7, SEED, 5, 0, 1), 128);
}

static int read_matrix(const char *content, int P, dist *d)
{
    static const char path[] = "rota-bench-test-matrix.txt";
    FILE *file = fopen(path, "w");
    char error[256] = "";
    int status;

    assert_non_null(file);
    fputs(content, file);
    fclose(file);
    *d = (dist){.type = DIST_MATRIX, .path = path};
    status = dist_read_matrix(d, P, error, sizeof error);
    assert_int_equal(status != 0, error[0] != '\0');
    remove(path);
    d->path = NULL;
    return status;
}

static void matrices_are_read_and_scaled(void **state)
{
    dist d;

    (void)state;
    assert_int_equal(read_matrix("0 10\n\n 4\t20 \n", 2, &d), 0);
    assert_int_equal(dist_bytes(&d, 20, 2, SEED, 0, 1, 0), 10);
    assert_int_equal(dist_bytes(&d, 20, 2, SEED, 0, 1, 1), 4);
    assert_int_equal(dist_bytes(&d, 200, 2, SEED, 1, 0, 0), 40);
    free(d.matrix);
    assert_int_equal(read_matrix("0 10 4", 2, &d), -1);
    assert_int_equal(read_matrix("0 10 4 20 5", 2, &d), -1);
    assert_int_equal(read_matrix("0 10 4 -20", 2, &d), -1);
    assert_int_equal(read_matrix("0 10 4 2x", 2, &d), -1);
    assert_null(d.matrix);
}

/* ---- verification -------------------------------------------------------- */

/* On MPI_COMM_SELF, so that an exchange is a copy; fft1 is S for one rank. */
static void set_up_kind(exchange *x, const dist *d, bench_kind kind)
{
    const exchange_form form = {
        .kind = kind, .seed = SEED, .mem = &bench_mem_table[0]};

    exchange_create(x, MPI_COMM_SELF, &form, d, 100, 1);
    assert_int_equal(x->sendcounts[0], 100);
    exchange_fill_send(x, 1);
    exchange_poison_recv(x, 1);
    memcpy(x->recvbuf + x->rdispls[0], x->sendbuf + x->sdispls[0], 100);
}

static void set_up(exchange *x, const dist *d)
{
    set_up_kind(x, d, KIND_FIXED);
}

static void a_right_exchange_passes(void **state)
{
    const dist d = parsed("fft1");
    char error[256];
    exchange x;

    (void)state;
    set_up(&x, &d);
    assert_true(exchange_verify(&x, 1, error, sizeof error));
    assert_false(exchange_verify(&x, 2, error, sizeof error));
    exchange_destroy(&x);
}

/* One bit flipped, wherever it is, in either buffer. */
static void every_wrong_byte_is_found(void **state)
{
    const dist d = parsed("fft1");
    char error[256];
    exchange x;

    (void)state;
    set_up(&x, &d);
    for (size_t i = 0; i < x.recv_extent; i++) {
        x.recvbuf[i] ^= 1;
        assert_false(exchange_verify(&x, 1, error, sizeof error));
        x.recvbuf[i] ^= 1;
        x.sendbuf[i] ^= 128;
        assert_false(exchange_verify(&x, 1, error, sizeof error));
        x.sendbuf[i] ^= 128;
    }
    x.recvbuf[x.rdispls[0] + 42] ^= 1;
    assert_false(exchange_verify(&x, 1, error, sizeof error));
    assert_non_null(strstr(error, "offset 42 of the 100 bytes received"));
    exchange_destroy(&x);
}

static void what_is_found_is_checked(void **state)
{
    const dist d = parsed("fft1");
    char error[256];
    exchange x;

    (void)state;
    set_up_kind(&x, &d, KIND_EXCHANGE);
    assert_ptr_equal(exchange_packed(x.recvbuf), x.recvbuf + x.rdispls[0]);
    assert_int_equal(exchange_packed_room(&x), 100);
    assert_false(exchange_verify(&x, 1, error, sizeof error));
    assert_non_null(strstr(error, "found -1 bytes"));
    x.found_counts[0] = 100;
    assert_false(exchange_verify(&x, 1, error, sizeof error));
    x.found_displs[0] = 0;
    assert_true(exchange_verify(&x, 1, error, sizeof error));
    x.found_counts[0] = 99;
    assert_false(exchange_verify(&x, 1, error, sizeof error));
    exchange_destroy(&x);
}

static int copy_apart(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return MPI_SUCCESS;
}

static int alloc_apart(size_t bytes, void **memory)
{
    return bench_mem_table[0].alloc(bytes, MPI_COMM_SELF, memory);
}

/* Buffers that the host sees in images only. */
static void images_follow_buffers(void **state)
{
    const dist d = parsed("fft1");
    char error[256];
    exchange x;
    bench_mem apart = bench_mem_table[0];
    const exchange_form form = {
        .kind = KIND_FIXED, .seed = SEED, .mem = &apart};

    (void)state;
    apart.copy = copy_apart;
    apart.alloc_host = alloc_apart;
    apart.free_host = apart.free;
    exchange_create(&x, MPI_COMM_SELF, &form, &d, 100, 1);
    assert_ptr_not_equal(x.send_image, x.sendbuf);
    exchange_fill_send(&x, 1);
    exchange_poison_recv(&x, 1);
    assert_false(exchange_verify(&x, 1, error, sizeof error));
    memcpy(x.recvbuf + x.rdispls[0], x.sendbuf + x.sdispls[0], 100);
    assert_true(exchange_verify(&x, 1, error, sizeof error));
    x.sendbuf[x.sdispls[0]] ^= 1;
    assert_false(exchange_verify(&x, 1, error, sizeof error));
    assert_int_equal(exchange_to_host(&x), MPI_SUCCESS);
    memset(x.recv_image, 0, x.recv_extent);
    assert_int_equal(exchange_from_host(&x), MPI_SUCCESS);
    assert_int_equal(x.recvbuf[x.rdispls[0]], 0);
    exchange_fill_send(&x, 1);
    memcpy(x.recv_image + x.rdispls[0], x.send_image + x.sdispls[0], 100);
    exchange_guard(&x, x.recv_image);
    assert_int_equal(exchange_from_host(&x), MPI_SUCCESS);
    assert_true(exchange_verify(&x, 1, error, sizeof error));
    exchange_destroy(&x);
}

/* Nothing of a poisoned buffer passes for data. */
static void an_exchange_that_does_nothing_fails(void **state)
{
    const dist d = parsed("fft1");
    char error[256];
    exchange x;

    (void)state;
    set_up(&x, &d);
    for (int i = 0; i < 100; i++) {
        exchange_poison_recv(&x, 1);
        memcpy(x.recvbuf + x.rdispls[0], x.sendbuf + x.sdispls[0], (size_t)i);
        assert_false(exchange_verify(&x, 1, error, sizeof error));
        assert_true(atoi(strstr(error, "offset ") + 7) == i);
    }
    exchange_destroy(&x);
}

/* ---- touching ------------------------------------------------------------ */

/* Blocks of all lengths modulo a word and longer, at even and odd places. */
enum { RAGGED = 19, RAGGED_BYTES = 600, OUTSIDE = 0xEE };

typedef struct ragged {
    unsigned char bytes[RAGGED_BYTES];
    int counts[RAGGED], displs[RAGGED];
    bool inside[RAGGED_BYTES];
    touch_blocks blocks;
} ragged;

static void set_up_ragged(ragged *r)
{
    int end = 3;

    *r = (ragged){.blocks = {.n = RAGGED}};
    memset(r->bytes, OUTSIDE, sizeof r->bytes);
    for (int i = 0; i < RAGGED; i++) {
        r->counts[i] = i == 5 ? 0 : i == 7 ? 129 : i;
        r->displs[i] = end;
        memset(r->inside + end, true, (size_t)r->counts[i]);
        end += r->counts[i] + i % 3;
    }
    assert_true(end < RAGGED_BYTES);
    r->blocks.buffer = r->bytes;
    r->blocks.counts = r->counts;
    r->blocks.displs = r->displs;
}

/* All of the blocks changes with every stamp, and nothing else does. */
static void touching_writes_all_that_is_sent(void **state)
{
    unsigned char before[RAGGED_BYTES];
    ragged r;

    (void)state;
    set_up_ragged(&r);
    for (uint64_t stamp = 1; stamp < 520; stamp++) {
        memcpy(before, r.bytes, sizeof before);
        touch_write(&r.blocks, stamp);
        for (int i = 0; i < RAGGED_BYTES; i++)
            if (!r.inside[i])
                assert_int_equal(r.bytes[i], OUTSIDE);
            else if (r.bytes[i] == before[i])
                fail_msg("byte %d is as before, stamp %d", i, (int)stamp);
    }
}

/* The sum changes with each byte of the blocks, and with no other. */
static void touching_reads_all_that_came(void **state)
{
    uint64_t sum;
    ragged r;

    (void)state;
    set_up_ragged(&r);
    sum = touch_read(&r.blocks);
    for (int i = 0; i < RAGGED_BYTES; i++) {
        r.bytes[i] ^= 0x10;
        if ((touch_read(&r.blocks) != sum) != r.inside[i])
            fail_msg("byte %d is %sread", i, r.inside[i] ? "not " : "");
        r.bytes[i] ^= 0x10;
    }
}

/* The buffers of an exchange: no guard byte is written, and what arrives is what
 * was written. */
static void touching_keeps_to_the_blocks_of_an_exchange(void **state)
{
    const dist d = parsed("fft1");
    char error[256];
    exchange x;

    (void)state;
    set_up(&x, &d);
    const touch_blocks sent = {x.sendbuf, x.sendcounts, x.sdispls, x.P};
    const touch_blocks received = {x.recvbuf, x.recvcounts, x.rdispls, x.P};

    touch_write(&sent, 1);
    assert_false(exchange_verify(&x, 1, error, sizeof error));
    memcpy(x.recvbuf + x.rdispls[0], x.sendbuf + x.sdispls[0], 100);
    assert_true(touch_read(&received) == touch_read(&sent));
    for (int i = 0; i < 100; i++)
        x.sendbuf[x.sdispls[0] + i] ^= 0xff;
    assert_true(touch_read(&received) != touch_read(&sent));
    touch_write(&sent, 7);
    touch_write(&received, 7);
    for (size_t i = 0; i < x.send_extent; i++)
        assert_int_equal(x.sendbuf[i],
                         i - (size_t)x.sdispls[0] < 100 ? 7 : 0xA5);
    exchange_destroy(&x);
}

/* ---- command line -------------------------------------------------------- */

static int parse(char *line, options *o, char *error, size_t errlen)
{
    char *argv[32] = {"rota-bench"};
    int argc = 1;

    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    error[0] = '\0';
    return options_parse(argc, argv, 6, o, error, errlen);
}

static void options_are_understood(void **state)
{
    char line[] = "--kind varying --bound none --block 7 --starts 4 "
                  "--sizes=8,512 "
                  "--dist window:50,normal "
                  "--algos scattered:batch=8,parlogna:radix=2:batch=4,mpi "
                  "--iters 5 --seed 3 --json out";
    char error[256];
    options o;

    (void)state;
    assert_int_equal(parse(line, &o, error, sizeof error), 0);
    assert_int_equal(o.kind, KIND_VARYING);
    assert_false(o.bounded);
    assert_int_equal(o.block, 7);
    assert_int_equal(o.starts, 4);
    assert_int_equal(o.touch, TOUCH_BOTH);
    assert_string_equal(o.touch_name, "both");
    assert_int_equal(o.n_sizes, 2);
    assert_int_equal(o.sizes[1], 512);
    assert_int_equal(o.n_dists, 2);
    assert_int_equal(o.dists[1].type, DIST_NORMAL);
    assert_int_equal(o.n_algos, 3);
    assert_string_equal(o.algos[1].name, "parlogna");
    assert_string_equal(o.algos[1].params, "radix=2:batch=4");
    assert_int_equal(o.iters, 5);
    assert_string_equal(o.json, "out");
    options_free(&o);
}

static void sweeps_make_entries(void **state)
{
    static const char *const expected[] = {
        "radix=2:batch=4",  "radix=2:batch=6", "radix=5:batch=4",
        "radix=5:batch=6",  "radix=6:batch=4", "radix=6:batch=6",
        "tuning_file=a+b/P"};
    char line[] = "--algos parlogna:radix=2+5..P:batch=4+P,"
                  "auto:tuning_file=a+b/P";
    char error[256];
    options o;

    (void)state;
    assert_int_equal(parse(line, &o, error, sizeof error), 0);
    assert_int_equal(o.n_algos, sizeof expected / sizeof *expected);
    for (int i = 0; i < o.n_algos; i++)
        assert_string_equal(o.algos[i].params, expected[i]);
    options_free(&o);
}

static void mistakes_are_named(void **state)
{
    /* Arguments, and a word of the error. */
    const char *const cases[][2] = {
        {"--bogus", "--bogus"},
        {"--sizes 8,", "--sizes"},
        {"--sizes -8", "-8"},
        {"--sizes 99999999999999999999999", "--sizes"},
        {"--iters 0", "--iters"},
        {"--iters", "needs a value"},
        {"--help=1", "takes no value"},
        {"--kind fix", "fixed, varying, exchange"},
        {"--kind varying --bound 8", "known, none"},
        {"--bound none", "not for --kind fixed"},
        {"--block 0", "--block"},
        {"--mem disk", "malloc, heap, local, window, cuda"},
        {"--touch all", "both, send, recv, none"},
        {"--dist gauss", "gauss"},
        {"--dist uniform:3", "takes no parameter"},
        {"--dist sparse", "needs a density"},
        {"--dist sparse:0", "not a density"},
        {"--dist powerlaw:1", "not a base"},
        {"--dist window:nan", "not a percentage"},
        {"--dist window:-0.5", "not a percentage"},
        {"--algos mpi,,auto", "empty"},
        {"--algos auto:radix", "key=value"},
        {"--algos auto:=3", "key=value"},
        {"--algos auto:radix=2+", "empty"},
        {"--algos auto:radix=3..2", "not a range"},
        {"--algos auto:radix=2..x", "not a range"},
        {"--algos auto:radix=2..999", "more than"},
        {"--algos mpi:batch=3", "does not take 'batch=3'"},
        {"--algos nmpml_published", "is for --mem window"},
        {"--mem window --algos nmpml_published:radix=2", "does not take"},
        {"--mem window --algos nmpml_published:lead=2", "does not take"},
        {"--mem window --algos nmpml_published:leaders=0", "does not take"},
        {"--mem window --algos nmpml_published:leaders=2x", "does not take"},
        {"--mem window --algos l_a2a_published:leaders=2", "does not take"},
        {"--mem window --kind varying --algos nmpml_published",
         "not for this --kind"},
        {"--kind varying --algos mpi_persistent", "not for this --kind"},
        {"--kind exchange --algos mpi_persistent", "not for this --kind"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[128], error[256];
        options o;

        snprintf(line, sizeof line, "%s", cases[i][0]);
        assert_int_equal(parse(line, &o, error, sizeof error), -1);
        if (strstr(error, cases[i][1]) == NULL)
            fail_msg("%s: %s", cases[i][0], error);
        options_free(&o);
    }
}

/* ---- neighbours ---------------------------------------------------------- */

/* The k-th block from p to q is the k-th that q has from p, on both sides. */
static void check_sides(const neighborhood *n)
{
    for (int p = 0; p < n->P; p++)
        for (size_t i = n->first[0][p]; i < n->first[0][p + 1]; i++) {
            const int q = n->peer[0][i];
            size_t nth = 0, j = n->first[1][q];
            for (size_t k = n->first[0][p]; k < i; k++)
                nth += n->peer[0][k] == q;
            for (;; j++) {
                assert_true(j >= n->first[1][q] && j < n->first[1][q + 1]);
                if (n->peer[1][j] == p && nth-- == 0)
                    break;
            }
            assert_int_equal(n->bytes[0][i], n->bytes[1][j]);
        }
}

static void halos_have_two_sides(void **state)
{
    char why[100];
    neighborhood n;

    (void)state;
    for (int P = 1; P <= 30; P++) {
        assert_int_equal(neighborhood_make(&n, "halo", P, 32, why, sizeof why),
                         0);
        assert_int_equal(n.first[0][P], 26 * P);
        check_sides(&n);
        neighborhood_free(&n);
    }
}

/* Vertices 0 1 | 2 3 | 4 5: rank 0 needs 2, rank 1 needs 0, 1 and 4, rank 2
 * needs 3. */
static void graphs_are_dealt(void **state)
{
    static const int sent_to[] = {1, 0, 2, 1}, count[] = {2, 1, 1, 1};
    char name[] = "/tmp/rota_graph_XXXXXX", why[100];
    const int fd = mkstemp(name);
    FILE *const file = fdopen(fd, "w");
    neighborhood n;

    (void)state;
    assert_non_null(file);
    fputs("# a path and more\n0 2\n1 2 0.5\n2 1\n3 4\n5 5\n", file);
    fclose(file);
    assert_int_equal(neighborhood_make(&n, name, 3, 8, why, sizeof why), 0);
    assert_int_equal(n.first[0][3], 4);
    assert_int_equal(neighborhood_degree(&n, 0, 1), 2);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(n.peer[0][i], sent_to[i]);
        assert_int_equal(n.bytes[0][i], 8 * count[i]);
    }
    check_sides(&n);
    neighborhood_free(&n);
    unlink(name);
    assert_int_equal(neighborhood_make(&n, name, 3, 8, why, sizeof why), -1);
    assert_non_null(strstr(why, "cannot be read"));
    neighborhood_free(&n);
}

/* ---- samples ------------------------------------------------------------- */

static void samples_are_small_and_odd(void **state)
{
    (void)state;
    for (int P = 1; P <= 20000; P++) {
        const int stride = bench_stride(P), n = (P - 1) / stride + 1;

        assert_int_equal(stride % 2, 1);
        assert_true(n >= (P < BENCH_SAMPLE ? P : 1) && n <= BENCH_SAMPLE);
    }
}

int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_at_most_max),
        cmocka_unit_test(sizes_change_with_pair_step_and_seed),
        cmocka_unit_test(means_are_as_documented),
        cmocka_unit_test(window_has_a_floor),
        cmocka_unit_test(fft_shapes_are_those_of_the_paper),
        cmocka_unit_test(matrices_are_read_and_scaled),
        cmocka_unit_test(a_right_exchange_passes),
        cmocka_unit_test(every_wrong_byte_is_found),
        cmocka_unit_test(what_is_found_is_checked),
        cmocka_unit_test(images_follow_buffers),
        cmocka_unit_test(an_exchange_that_does_nothing_fails),
        cmocka_unit_test(touching_writes_all_that_is_sent),
        cmocka_unit_test(touching_reads_all_that_came),
        cmocka_unit_test(touching_keeps_to_the_blocks_of_an_exchange),
        cmocka_unit_test(options_are_understood),
        cmocka_unit_test(sweeps_make_entries),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(halos_have_two_sides),
        cmocka_unit_test(graphs_are_dealt),
        cmocka_unit_test(samples_are_small_and_odd),
    };
    int failed;

    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
