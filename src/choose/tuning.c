/* tuning.c - rows of tuning: find, put, free. */
#include "choose/tuning.h"

#include <stdlib.h>
#include <string.h>

/* The number of ranges in a row. */
enum { N_RANGES = 8 };

/* Copy the ranges of a row. Bounds beyond what text can say become
 * unbounded. */
static void ranges_of(const rota_tuning_row *row, rota_range range[N_RANGES])
{
    const rota_range all[N_RANGES] = {
        row->ranks,   row->nodes, row->node_size, row->cores,
        row->largest, row->mean,  row->density,   row->imbalance,
    };

    memcpy(range, all, sizeof all);
    for (int i = 0; i < N_RANGES; i++)
        if (range[i].most > ROTA_TUNING_UNBOUNDED)
            range[i].most = ROTA_TUNING_UNBOUNDED;
}

static void values_of(const rota_stats *stats, double value[N_RANGES])
{
    const double all[N_RANGES] = {
        stats->P,       stats->n_nodes,         stats->node_size,
        stats->cores,   (double)stats->largest, stats->mean,
        stats->density, stats->imbalance,
    };

    memcpy(value, all, sizeof all);
}

static bool is_for(const rota_tuning_row *row, const rota_stats *stats)
{
    rota_range range[N_RANGES];
    double value[N_RANGES];

    ranges_of(row, range);
    values_of(stats, value);
    for (int i = 0; i < N_RANGES; i++)
        if (!(value[i] >= range[i].least && value[i] <= range[i].most))
            return false;
    return row->kind == stats->kind &&
           row->choice.algo->neighbors == stats->neighbors;
}

static bool for_the_same(const rota_tuning_row *a, const rota_tuning_row *b)
{
    rota_range of_a[N_RANGES], of_b[N_RANGES];

    ranges_of(a, of_a);
    ranges_of(b, of_b);
    for (int i = 0; i < N_RANGES; i++)
        if (of_a[i].least < of_b[i].least || of_a[i].least > of_b[i].least ||
            of_a[i].most < of_b[i].most || of_a[i].most > of_b[i].most)
            return false;
    return a->kind == b->kind &&
           a->choice.algo->neighbors == b->choice.algo->neighbors;
}

static void free_provenance(rota_provenance *from)
{
    free(from->machine);
    free(from->date);
    free(from->command);
}

void rota_tuning_free(rota_tuning *t)
{
    for (int i = 0; i < t->n_rows; i++)
        free_provenance(&t->row[i].from);
    free(t->row);
    free_provenance(&t->machine_from);
    *t = (rota_tuning){0};
}

const rota_tuning_row *rota_tuning_find(const rota_tuning *t,
                                        const rota_stats *stats)
{
    for (int i = 0; i < t->n_rows; i++)
        if (is_for(&t->row[i], stats))
            return &t->row[i];
    return NULL;
}

static bool copy_provenance(const rota_provenance *from, rota_provenance *to)
{
    to->machine = strdup(from->machine ? from->machine : "");
    to->date = strdup(from->date ? from->date : "");
    to->command = strdup(from->command ? from->command : "");
    return to->machine && to->date && to->command;
}

/* Drop the rows for the same case as row. */
static void drop(rota_tuning *t, const rota_tuning_row *row)
{
    int kept = 0;

    for (int i = 0; i < t->n_rows; i++) {
        if (for_the_same(&t->row[i], row))
            free_provenance(&t->row[i].from);
        else
            t->row[kept++] = t->row[i];
    }
    t->n_rows = kept;
}

int rota_tuning_put(rota_tuning *t, const rota_tuning_row *row)
{
    rota_tuning_row copy = *row;
    const bool copied = copy_provenance(&row->from, &copy.from);
    rota_tuning_row *const grown =
        copied ? realloc(t->row, (size_t)(t->n_rows + 1) * sizeof *grown)
               : NULL;

    if (!grown) {
        free_provenance(&copy.from);
        return rota_fail_mem("a row of tuning");
    }
    t->row = grown;
    drop(t, &copy);
    memmove(t->row + 1, t->row, (size_t)t->n_rows * sizeof *t->row);
    t->row[0] = copy;
    t->n_rows++;
    return MPI_SUCCESS;
}
