/* handover.c - what is handed over within a node, by ranks that are never where
 * the others are.
 *
 * usage: handover [starts]
 *
 * Nodes of two or three ranks are pretended. Only some blocks have bytes, so
 * that ranks run ahead of their leaders, and leaders of those that they hand
 * blocks on to. Every rank in turn stands still between start and wait.
 */
#include "harness.h"
#include "pattern.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 200, MOST = 16 };

/* Which blocks have bytes. */
typedef enum traffic { ALL, AWAY, BETWEEN_LAST, N_TRAFFICS } traffic;

static const char *const traffic_name[N_TRAFFICS] = {
    "all blocks", "from the first half to the second",
    "from the last rank of a node to the last of another"};

static bool has_bytes(traffic t, int node_size, int src, int dst)
{
    switch (t) {
    case ALL:
        return true;
    case AWAY:
        return src < test_P / 2 && dst >= test_P / 2;
    default:
        return src % node_size == node_size - 1 &&
               dst % node_size == node_size - 1 && src < dst;
    }
}

typedef struct blocks {
    unsigned char send[MOST * BYTES], recv[MOST * BYTES];
    int sent[MOST], received[MOST], at[MOST];
} blocks;

static void fill(blocks *b, int iteration)
{
    memset(b->recv, 0xa5, sizeof b->recv);
    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < b->sent[q]; i++)
            b->send[b->at[q] + i] = payload(test_me, q, (size_t)i, iteration);
}

static bool is_right(const blocks *b, int iteration)
{
    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < BYTES; i++) {
            const unsigned char expected =
                i < b->received[q] ? payload(q, test_me, (size_t)i, iteration)
                                   : 0xa5;
            if (b->recv[b->at[q] + i] != expected)
                return false;
        }
    return true;
}

/* Nobody meets the others between starts. */
static void run(rota_plan *plan, blocks *b, int starts)
{
    for (int k = 0; k < starts; k++) {
        fill(b, k);
        MUST(rota_start(plan));
        if (k % test_P == test_me)
            test_stand_still(2000);
        MUST(rota_wait(plan));
        if (!is_right(b, k)) {
            test_fail(__FILE__, __LINE__, "wrong bytes in start %d", k);
            return;
        }
    }
}

static void check(const char *algo, const char *leaders, int node_size,
                  traffic t, int starts)
{
    static blocks b;
    static char name[120];
    char size[12];
    rota_plan *plan = NULL;
    MPI_Info info = test_info("rota_algorithm", algo, "rota_leaders", leaders);

    snprintf(size, sizeof size, "%d", node_size);
    snprintf(name, sizeof name, "%s, %s leaders, nodes of %d, %s", algo,
             leaders, node_size, traffic_name[t]);
    test_case = name;
    MPI_Info_set(info, "rota_node_size", size);
    MPI_Info_set(info, "rota_pieces", t == ALL ? "2" : "1");
    for (int q = 0; q < test_P; q++) {
        b.at[q] = q * BYTES;
        b.sent[q] = has_bytes(t, node_size, test_me, q) ? BYTES - q : 0;
        b.received[q] =
            has_bytes(t, node_size, q, test_me) ? BYTES - test_me : 0;
    }
    MUST(rota_alltoallv_init(b.send, b.sent, b.at, MPI_BYTE, b.recv, b.received,
                             b.at, MPI_BYTE, MPI_COMM_WORLD, info, &plan));
    if (plan)
        run(plan, &b, starts);
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
}

int main(int argc, char *argv[])
{
    static const char *const algos[] = {"shared_leaders",
                                        "shared_leaders_overlapped"};
    static const char *const leaders[] = {"1", "2"};

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    const int starts = argc > 1 ? atoi(argv[1]) : 12;
    for (int a = 0; a < 2 && test_P <= MOST; a++)
        for (int l = 0; l < 2; l++)
            for (int size = 2; size <= 3; size++)
                for (int t = 0; t < N_TRAFFICS; t++)
                    check(algos[a], leaders[l], size, (traffic)t, starts);
    return test_end();
}
