/* rota_info.c - what there is to choose from, and where it would run.
 *
 *   rota-info                      or, to see the ranks of a job:
 *   mpiexec -n P rota-info
 */
#include "common/memory.h"
#include "common/util.h"
#include "exec/memory/local.h"
#include "plan/ranks/node.h"
#include "plan/ranks/topo_detect.h"
#include "rota.h"

#include <stdlib.h>
#include <string.h>

/* ---- the library --------------------------------------------------------- */

static void print_library(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    const int version = rota_version();
    int length, major, minor;

    bench_must(MPI_Get_library_version(text, &length),
               "MPI_Get_library_version");
    bench_must(MPI_Get_version(&major, &minor), "MPI_Get_version");
    text[strcspn(text, "\r\n")] = '\0';
    printf("Rota %d.%d.%d\n", version >> 16, version >> 8 & 0xff,
           version & 0xff);
    printf("  MPI              %d.%d, %s\n", major, minor, text);
    printf("  hwloc            %s\n", INFO_HWLOC);
    printf("  cJSON            %s\n", INFO_CJSON);
    printf("  CUDA             %s\n",
           cuda_unavailable() ? cuda_unavailable() : "yes");
}

static void print_params(const rota_algo *algo)
{
    const char *before = "parameters: ";

    for (int i = 0; i <= ROTA_N_PARAMS; i++) {
        const bool number = i < ROTA_N_PARAMS;
        if (!(algo->params &
              (number ? rota_param_table[i].bit : ROTA_P_PACKING)))
            continue;
        printf("%s%s", before, number ? rota_param_table[i].name : "packing");
        before = ", ";
    }
    printf("%s", algo->params ? "; " : "");
}

static void print_table(const rota_algo *const table[])
{
    for (int i = 0; table[i]; i++) {
        const rota_algo *const algo = table[i];
        printf("  %-20s %s\n  %-20s ", algo->name, algo->summary, "");
        print_params(algo);
        printf("%s%s%s\n", algo->source, algo->nodes ? "; follows nodes" : "",
               algo->uniform ? "; for blocks of one size" : "");
    }
}

static void print_algorithms(void)
{
    printf("\nAlgorithms\n");
    print_table(rota_algo_table);
    printf("\nAlgorithms among neighbours\n");
    print_table(rota_neighbor_table);
}

static void print_value(const char *variable)
{
    const char *const value = getenv(variable);

    printf("%s%s\n", value ? "; set to " : "", value ? value : "");
}

static void print_hints(void)
{
    printf("\nHints: keys of MPI_Info, and environment variables\n");
    for (const rota_hint *h = rota_hint_table; h->key; h++) {
        char values[100];
        rota_hint_values(h, values, sizeof values);
        printf("  %-21s %-21s %s (usually %s)", h->key,
               h->promise ? "(none)" : h->variable, values, h->usual);
        if (h->promise)
            printf("\n");
        else
            print_value(h->variable);
    }
}

static void print_variables(void)
{
    printf("\nOther environment variables\n");
    for (const rota_variable *v = rota_variable_table; v->name; v++) {
        printf("  %-23s %s", v->name, v->meaning);
        print_value(v->name);
    }
}

/* ---- where it runs ------------------------------------------------------- */

static void print_node(const rota_topo *t, int node)
{
    const int first = t->first[node], end = t->first[node + 1];
    int bound = 0;

    printf("  node %-4d ranks ", node);
    for (int i = first; i < end; i++) {
        int last = i;
        while (last + 1 < end && t->ranks[last + 1] == t->ranks[last] + 1)
            last++;
        printf(last > i ? "%s%d-%d" : "%s%d", i > first ? "," : "", t->ranks[i],
               t->ranks[last]);
        i = last;
    }
    for (int i = first; i < end; i++)
        bound += t->domain[t->ranks[i]] >= 0;
    printf("; in one domain each: %d of %d\n", bound, end - first);
}

/* Memory of rota_malloc. */
static void print_heap(void)
{
    const char *why;
    const rota_heap *const heap = rota_local_open(&why);

    if (heap)
        printf("  rota_malloc      shared, up to %zu GiB\n", heap->bytes >> 30);
    else
        printf("  rota_malloc      ordinary memory: %s\n", why);
}

static void print_places(rota_comm *c)
{
    const rota_topo *const t = &c->topo;

    printf("\nHere\n");
    printf("  ranks            %d\n", c->P);
    printf("  nodes            %d\n", t->n_nodes);
    printf("  cores of a node  %d (the fewest)\n", c->cores);
    printf("  NUMA domains     %d (of a node, the most)\n", t->n_domains);
    for (int n = 0; n < t->n_nodes; n++)
        print_node(t, n);
    printf("  shared memory    %s\n", c->node ? "yes" : c->node_why);
    print_heap();
}

/* ---- tuning -------------------------------------------------------------- */

static int count_rows(const rota_tuning *t, rota_kind kind)
{
    int n = 0;

    for (int i = 0; i < t->n_rows; i++)
        n += t->row[i].kind == kind;
    return n;
}

static void print_prices(const rota_tuning *t)
{
    if (!t->has_machine) {
        printf("  prices           the usual ones\n");
        return;
    }
    printf("  prices           measured: %s; %s; %s\n", t->machine_from.machine,
           t->machine_from.date, t->machine_from.command);
}

static void print_crossing(const rota_tuning *t)
{
    if (t->copied_once_from > 0)
        printf("  copied once      from %d bytes on, of rota_mem_alloc\n",
               t->copied_once_from);
}

static void print_rows(const rota_tuning *t)
{
    printf("  rows             %d", t->n_rows);
    for (int kind = 0; kind < ROTA_N_KINDS; kind++)
        printf("%s %d %s", kind > 0 ? "," : ":", count_rows(t, (rota_kind)kind),
               rota_kind_name((rota_kind)kind));
    printf("\n");
}

/* err: of looking for a file. */
static void print_tuning(const rota_comm *c, int err)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    printf("\nTuning\n");
    if (err != MPI_SUCCESS) {
        MPI_Error_string(err, text, &length);
        printf("  %s\n", text);
        return;
    }
    printf("  file             %s\n",
           c->learnt.path ? c->learnt.path : "none found");
    if (c->learnt.note[0])
        printf("  ignored          %s\n", c->learnt.note);
    print_prices(&c->learnt.tuning);
    print_crossing(&c->learnt.tuning);
    print_rows(&c->learnt.tuning);
}

/* ---- all of it ----------------------------------------------------------- */

int main(int argc, char *argv[])
{
    rota_comm *c = NULL;

    bench_program = "rota-info";
    if (argc > 1) {
        puts("usage: rota-info, or mpiexec -n P rota-info\n\n"
             "Prints the algorithms, hints and environment variables of Rota, "
             "the ranks and\nnodes of the job, and which tuning file there "
             "is.");
        return strcmp(argv[1], "--help") == 0 ? EXIT_SUCCESS : 2;
    }
    bench_must(MPI_Init(&argc, &argv), "MPI_Init");
    bench_must(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN),
               "MPI_Comm_set_errhandler");
    const int err = rota_tuning_import(NULL, MPI_COMM_WORLD);
    bench_must(rota_comm_find(MPI_COMM_WORLD, &c), "communicator");
    bench_must(rota_comm_open_node(c), "shared memory");
    if (c->me == 0) {
        print_library();
        print_algorithms();
        print_hints();
        print_variables();
        print_places(c);
        print_tuning(c, err);
    }
    bench_must(MPI_Finalize(), "MPI_Finalize");
    return EXIT_SUCCESS;
}
