/* random_arrays.c - exchanges of several arrays, for random_plan.h.
 *
 * Each array is drawn as an exchange of its own, which is never made: its counts and
 * its data follow from its own seed.
 */
#include "random_plan.h"

#include <stdlib.h>

enum { MOST = RANDOM_MOST_ARRAYS, ENTRIES = MOST * RANDOM_RANKS };
enum {
    APART = 1000
}; /* of the numbers of the runs of two arrays: their data differ */
enum { HEAD = 15 }; /* bytes of max_block for each array */

void random_arrays_draw(random_plan *r)
{
    static const struct {
        MPI_Datatype type;
        int bytes;
    } element[] = {{MPI_BYTE, 1}, {MPI_INT, 4}, {MPI_DOUBLE, 8}};
    size_t bound = 0;

    r->n_arrays = 1 + (int)random_plan_choose(r, 44, MOST);
    for (int i = 0; i < r->n_arrays; i++) {
        random_plan *const a = r->array[i] = malloc(sizeof *a);
        const uint64_t k = random_plan_choose(r, 45 + (uint64_t)i, 3);
        const int n = element[k].bytes;
        if (!a)
            MPI_Abort(MPI_COMM_WORLD, 1);
        *a = (random_plan){.seed = mix(r->seed, 50 + (uint64_t)i),
                           .kind = RANDOM_EXCHANGE,
                           .comm = r->comm,
                           .layout = {element[k].type, 1, n, n, n},
                           .to = r->to,
                           .from = r->from,
                           .largest = r->largest,
                           .max_block = ROTA_UNBOUNDED,
                           .run = i * APART};
        a->pattern = (pattern)random_plan_choose(a, 12, N_PATTERNS);
        a->args.info = MPI_INFO_NULL;
        a->args.sendcounts = calloc(RANDOM_RANKS, sizeof(MPI_Count));
        a->args.sdispls = calloc(RANDOM_RANKS, sizeof(MPI_Aint));
        a->args.recvcounts = calloc(RANDOM_RANKS, sizeof(MPI_Count));
        a->args.rdispls = calloc(RANDOM_RANKS, sizeof(MPI_Aint));
        bound += 64 * a->largest * (size_t)n + HEAD;
    }
    r->args.max_block = random_plan_choose(r, 14, 2) ? bound : ROTA_UNBOUNDED;
}

void random_arrays_fill(random_plan *r)
{
    for (int i = 0; i < r->n_arrays; i++)
        random_plan_fill(r->array[i]);
}

int random_arrays_init(const random_plan *r)
{
    MPI_Datatype types[MOST];

    for (int i = 0; i < r->n_arrays; i++)
        types[i] = r->array[i]->layout.type;
    return rota_exchange_init_arrays(r->args.max_block, r->n_arrays, types,
                                     r->comm, r->args.info, r->args.plan);
}

/* The arrays' counts and displacements, in either form, for n * P entries. */
int random_arrays_start(const random_plan *r)
{
    const void *base[MOST];
    MPI_Count counts[ENTRIES];
    MPI_Aint displs[ENTRIES];
    int as_int[2][ENTRIES];

    for (int i = 0; i < r->n_arrays; i++) {
        const random_args *const a = &r->array[i]->args;
        base[i] = a->sendbuf;
        for (int q = 0; q < test_P; q++) {
            const int k = i * test_P + q;
            counts[k] = a->sendcounts[q];
            displs[k] = a->sdispls[q];
            as_int[0][k] = (int)counts[k];
            as_int[1][k] = (int)displs[k];
        }
    }
    return r->large
               ? rota_exchange_start_arrays_c(r->plan, base, counts, displs)
               : rota_exchange_start_arrays(r->plan, base, as_int[0],
                                            as_int[1]);
}

/* Parts of array i that have come, by rank, and how many elements each has. */
static void check_array(random_plan *a, const void *const part[],
                        const MPI_Count count[])
{
    for (int q = 0; q < test_P; q++) {
        const MPI_Count n = random_plan_count(a, q, test_me);
        CHECK(count[q] == n);
        if (n > 0 && count[q] == n)
            CHECK(random_plan_count_bad(a, part[q], q, n) == 0);
    }
    a->run++;
}

static int wait_borrow(const random_plan *r)
{
    const void *part[ENTRIES];
    MPI_Count count[ENTRIES];
    int as_int[ENTRIES];
    const int n = r->n_arrays * test_P;
    const int err = r->large ? rota_exchange_wait_borrow_c(r->plan, part, count)
                             : rota_exchange_wait_borrow(r->plan, part, as_int);

    for (int k = 0; k < n && !r->large && err == MPI_SUCCESS; k++)
        count[k] = as_int[k];
    for (int i = 0; i < r->n_arrays && err == MPI_SUCCESS; i++)
        check_array(r->array[i], part + i * test_P, count + i * test_P);
    return err;
}

static int wait_copies(const random_plan *r)
{
    void *recv[MOST];
    const void *part[RANDOM_RANKS];
    MPI_Count count[ENTRIES];
    MPI_Aint at[ENTRIES];
    int as_int[2][ENTRIES];
    const int err =
        r->large
            ? rota_exchange_wait_arrays_c(r->plan, recv, count, at)
            : rota_exchange_wait_arrays(r->plan, recv, as_int[0], as_int[1]);

    for (int i = 0; i < r->n_arrays && err == MPI_SUCCESS; i++) {
        const int size = r->array[i]->layout.extent;
        MPI_Aint next = 0;
        for (int q = 0; q < test_P; q++) {
            const int k = i * test_P + q;
            if (!r->large) {
                count[k] = as_int[0][k];
                at[k] = as_int[1][k];
            }
            CHECK(at[k] == next);
            next += (MPI_Aint)count[k];
            part[q] = count[k] > 0 ? (char *)recv[i] + at[k] * size : NULL;
        }
        check_array(r->array[i], part, count + i * test_P);
    }
    return err;
}

/* On each rank in its own way. */
int random_arrays_wait(const random_plan *r)
{
    const uint64_t chance =
        mix(r->seed + (uint64_t)test_me, 7 + (uint64_t)r->run);

    return chance % 3 == 0 ? wait_borrow(r) : wait_copies(r);
}

void random_arrays_free(random_plan *r)
{
    for (int i = 0; i < r->n_arrays; i++) {
        random_plan_free(r->array[i]);
        free(r->array[i]);
    }
}
