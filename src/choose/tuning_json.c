/* tuning_json.c - tuning as text.
 *
 *   {"rota_tuning": 1,
 *    "machine": {"ns": {"net_per_byte": 0.1, ...},
 *                "copied_once_from": 2048,
 *                "network": {"shape": "torus", "dims": 3, ...},
 *                "from": {"machine": "", "date": "", "command": ""}},
 *    "rows": [{"kind": "fixed", "ranks": [8, 8], "largest": [513, 1024], ...,
 *              "algorithm": "parlogna", "radix": 4, "metadata": "once",
 *              "intranode": "auto", "us": 12.3, "from": {...}}, ...]}
 *
 * Objects are read by tables of their keys. "where" says which object it is,
 * for errors.
 */
#include "choose/hints.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, MOST_PARAM = 1 << 20 };

/* ---- errors -------------------------------------------------------------- */

static int wrong(const char *where, const cJSON *item, const char *valid)
{
    char *const text = cJSON_PrintUnformatted(item);
    const int err =
        rota_fail(MPI_ERR_ARG, "%s: %.30s = %.30s; valid: %s", where,
                  item->string ? item->string : "", text ? text : "", valid);

    cJSON_free(text);
    return err;
}

/* ---- values -------------------------------------------------------------- */

typedef int read_value(const char *where, const cJSON *item, void *into);

static bool is_number(const cJSON *item, double least, double most)
{
    return cJSON_IsNumber(item) && isfinite(item->valuedouble) &&
           item->valuedouble >= least && item->valuedouble <= most;
}

static int read_int(const char *where, const cJSON *item, int least, int *into)
{
    char valid[40];

    snprintf(valid, sizeof valid, "%d to %d", least, MOST_PARAM);
    if (!is_number(item, least, MOST_PARAM) ||
        item->valuedouble > floor(item->valuedouble))
        return wrong(where, item, valid);
    *into = (int)item->valuedouble;
    return MPI_SUCCESS;
}

static int read_count(const char *where, const cJSON *item, void *into)
{
    return read_int(where, item, 1, into);
}

/* A parameter of params.h. */
static int read_param(const char *where, const cJSON *item, void *into)
{
    return read_int(where, item, rota_param_find(item->string)->least, into);
}

static int read_amount(const char *where, const cJSON *item, void *into)
{
    if (!is_number(item, 0, HUGE_VAL))
        return wrong(where, item, "a number from 0");
    *(double *)into = item->valuedouble;
    return MPI_SUCCESS;
}

/* Read one of n names. */
static int read_name(const char *where, const cJSON *item,
                     const char *const name[], int n, int *found)
{
    char names[ROTA_ERR_TEXT - 100] = "";

    for (*found = 0; *found < n; ++*found) {
        if (cJSON_IsString(item) &&
            strcmp(item->valuestring, name[*found]) == 0)
            return MPI_SUCCESS;
        rota_hints_append_name(names, sizeof names, name[*found]);
    }
    return wrong(where, item, names);
}

static int read_kind(const char *where, const cJSON *item, void *into)
{
    const char *name[ROTA_N_KINDS];
    int found;

    for (int i = 0; i < ROTA_N_KINDS; i++)
        name[i] = rota_kind_name((rota_kind)i);
    ROTA_TRY(read_name(where, item, name, ROTA_N_KINDS, &found));
    *(rota_kind *)into = (rota_kind)found;
    return MPI_SUCCESS;
}

static int read_metadata(const char *where, const cJSON *item, void *into)
{
    int found;

    ROTA_TRY(read_name(where, item, rota_metadata_words.word, ROTA_N_METADATA,
                       &found));
    *(rota_metadata *)into = (rota_metadata)found;
    return MPI_SUCCESS;
}

static int read_intranode(const char *where, const cJSON *item, void *into)
{
    int found;

    ROTA_TRY(read_name(where, item, rota_intranode_words.word, ROTA_N_INTRANODE,
                       &found));
    *(rota_intranode *)into = (rota_intranode)found;
    return MPI_SUCCESS;
}

static int read_packing(const char *where, const cJSON *item, void *into)
{
    int found;

    ROTA_TRY(read_name(where, item, rota_packing_words.word, 2, &found));
    *(bool *)into = found != 0;
    return MPI_SUCCESS;
}

static int read_algorithm(const char *where, const cJSON *item, void *into)
{
    const rota_algo *const algo =
        cJSON_IsString(item) ? rota_algo_find(item->valuestring) : NULL;
    char names[ROTA_ERR_TEXT - 100] = "";

    if (algo) {
        *(const rota_algo **)into = algo;
        return MPI_SUCCESS;
    }
    for (int i = 0; rota_algo_table[i]; i++)
        rota_hints_append_name(names, sizeof names, rota_algo_table[i]->name);
    for (int i = 0; rota_neighbor_table[i]; i++)
        rota_hints_append_name(names, sizeof names,
                               rota_neighbor_table[i]->name);
    return wrong(where, item, names);
}

static bool read_end(const cJSON *item, double *end)
{
    if (cJSON_IsString(item) && strcmp(item->valuestring, "unbounded") == 0) {
        *end = ROTA_TUNING_UNBOUNDED;
        return true;
    }
    *end = item->valuedouble;
    return is_number(item, 0, ROTA_TUNING_UNBOUNDED);
}

static int read_range(const char *where, const cJSON *item, void *into)
{
    rota_range range;

    if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != 2 ||
        !read_end(cJSON_GetArrayItem(item, 0), &range.least) ||
        !read_end(cJSON_GetArrayItem(item, 1), &range.most) ||
        range.least > range.most)
        return wrong(where, item,
                     "[LEAST, MOST], numbers from 0 or \"unbounded\"");
    *(rota_range *)into = range;
    return MPI_SUCCESS;
}

static int read_text(const char *where, const cJSON *item, void *into)
{
    char **const text = into;

    if (!cJSON_IsString(item))
        return wrong(where, item, "a string");
    free(*text);
    *text = strdup(item->valuestring);
    return *text ? MPI_SUCCESS : rota_fail_mem("tuning");
}

/* ---- objects ------------------------------------------------------------- */

typedef struct object_key {
    const char *name;
    read_value *read;
    size_t at; /* where the value goes: offset in the structure */
    bool required;
} object_key;

enum { MOST_KEYS = 64 };
_Static_assert((int)ROTA_N_PRICES <= (int)MOST_KEYS,
               "prices are keys of an object");

static int unknown_key(const char *where, const cJSON *item,
                       const object_key key[], int n)
{
    char names[ROTA_ERR_TEXT - 100] = "";

    for (int i = 0; i < n; i++)
        rota_hints_append_name(names, sizeof names, key[i].name);
    return rota_fail(MPI_ERR_ARG, "%s: unknown key %.30s; valid: %s", where,
                     item->string, names);
}

static int read_entry(const char *where, const cJSON *item,
                      const object_key key[], int n, bool seen[], void *into)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(item->string, key[i].name) != 0)
            continue;
        if (seen[i])
            return rota_fail(MPI_ERR_ARG, "%s: %s comes twice", where,
                             key[i].name);
        seen[i] = true;
        return key[i].read(where, item, (char *)into + key[i].at);
    }
    return unknown_key(where, item, key, n);
}

static int read_object(const char *where, const cJSON *object,
                       const object_key key[], int n, void *into)
{
    bool seen[MOST_KEYS] = {false};
    const cJSON *item;

    if (!cJSON_IsObject(object))
        return rota_fail(MPI_ERR_ARG, "%s is not an object", where);
    cJSON_ArrayForEach(item, object)
        ROTA_TRY(read_entry(where, item, key, n, seen, into));
    for (int i = 0; i < n; i++)
        if (key[i].required && !seen[i])
            return rota_fail(MPI_ERR_ARG, "%s: %s is missing", where,
                             key[i].name);
    return MPI_SUCCESS;
}

#define N_KEYS(keys) ((int)(sizeof(keys) / sizeof(keys)[0]))

static const object_key provenance_keys[] = {
    {"machine", read_text, offsetof(rota_provenance, machine), false},
    {"date", read_text, offsetof(rota_provenance, date), false},
    {"command", read_text, offsetof(rota_provenance, command), false},
};

static int read_from(const char *where, const cJSON *item, void *into)
{
    char place[80];

    snprintf(place, sizeof place, "%.60s, from", where);
    return read_object(place, item, provenance_keys, N_KEYS(provenance_keys),
                       into);
}

static int init_from(rota_provenance *from)
{
    from->machine = strdup("");
    from->date = strdup("");
    from->command = strdup("");
    return from->machine && from->date && from->command
               ? MPI_SUCCESS
               : rota_fail_mem("tuning");
}

/* ---- rows ---------------------------------------------------------------- */

#define RANGE(name)                                                            \
    {                                                                          \
#name, read_range, offsetof(rota_tuning_row, name), false              \
    }
#define CHOICE(name, read, member, required)                                   \
    {                                                                          \
        name, read, offsetof(rota_tuning_row, choice.member), required         \
    }
static const object_key row_keys[] = {
    {"kind", read_kind, offsetof(rota_tuning_row, kind), true},
    RANGE(ranks),
    RANGE(nodes),
    RANGE(node_size),
    RANGE(cores),
    RANGE(largest),
    RANGE(mean),
    RANGE(density),
    RANGE(imbalance),
    CHOICE("algorithm", read_algorithm, algo, true),
#define ROTA_PARAM(name, NAME, least, usual)                                   \
    CHOICE(#name, read_param, params.name, false),
#include "algos/params.h"
#undef ROTA_PARAM
    CHOICE("packing", read_packing, params.by_datatype, false),
    CHOICE("metadata", read_metadata, metadata, true),
    CHOICE("intranode", read_intranode, intranode, false),
    {"us", read_amount, offsetof(rota_tuning_row, us), false},
    {"from", read_from, offsetof(rota_tuning_row, from), false},
};
#undef RANGE
#undef CHOICE

/* The bit in rota_algo.params of a row's key; 0: not a parameter. */
static unsigned parameter(const char *key)
{
    const rota_param *const p = rota_param_find(key);

    return p ? p->bit : strcmp(key, "packing") == 0 ? ROTA_P_PACKING : 0;
}

/* A row must have all parameters that its algorithm takes (packing is
 * optional), and no others. */
static int check_params(const char *where, const cJSON *object,
                        const rota_algo *algo)
{
    unsigned given = ROTA_P_PACKING;
    const cJSON *item;

    cJSON_ArrayForEach(item, object)
    {
        const unsigned bit = parameter(item->string);
        if (bit & ~algo->params)
            return rota_fail(MPI_ERR_ARG, "%s: algorithm %s takes no %s", where,
                             algo->name, item->string);
        given |= bit;
    }
    for (int i = 0; i < N_KEYS(row_keys); i++)
        if (parameter(row_keys[i].name) & algo->params & ~given)
            return rota_fail(MPI_ERR_ARG, "%s: %s is missing, for algorithm %s",
                             where, row_keys[i].name, algo->name);
    return MPI_SUCCESS;
}

static int read_row(int number, const cJSON *item, rota_tuning_row *row)
{
    char where[20];

    snprintf(where, sizeof where, "row %d", number);
    *row = (rota_tuning_row){
        .ranks = ROTA_TUNING_ANY,
        .nodes = ROTA_TUNING_ANY,
        .node_size = ROTA_TUNING_ANY,
        .cores = ROTA_TUNING_ANY,
        .largest = ROTA_TUNING_ANY,
        .mean = ROTA_TUNING_ANY,
        .density = ROTA_TUNING_ANY,
        .imbalance = ROTA_TUNING_ANY,
    };
    ROTA_TRY(init_from(&row->from));
    ROTA_TRY(read_object(where, item, row_keys, N_KEYS(row_keys), row));
    const rota_algo *const algo = row->choice.algo;
    row->choice.params.by_datatype =
        row->choice.params.by_datatype || algo->by_datatype;
    return check_params(where, item, algo);
}

static int read_rows(const char *where, const cJSON *array, void *into)
{
    rota_tuning *const t = into;
    const cJSON *item;

    if (!cJSON_IsArray(array))
        return wrong(where, array, "an array");
    const int n = cJSON_GetArraySize(array);
    t->row = calloc((size_t)n + 1, sizeof *t->row);
    if (!t->row)
        return rota_fail_mem("tuning");
    cJSON_ArrayForEach(item, array)
    {
        t->n_rows++;
        ROTA_TRY(read_row(t->n_rows, item, &t->row[t->n_rows - 1]));
    }
    return MPI_SUCCESS;
}

/* ---- the machine --------------------------------------------------------- */

/* With what prices of MPI's own all-to-all begin. */
#define NATIVE "native_"

static int read_prices(const char *where, const cJSON *item, void *into)
{
    rota_machine *const machine = into;
    object_key terms[ROTA_N_PRICES];
    const cJSON *price;

    (void)where;
    for (int i = 0; i < ROTA_N_PRICES; i++)
        terms[i] = (object_key){rota_term_name(i), read_amount,
                                (size_t)i * sizeof machine->ns[0], false};
    ROTA_TRY(
        read_object("machine, ns", item, terms, ROTA_N_PRICES, machine->ns));
    machine->native = false;
    cJSON_ArrayForEach(price, item) machine->native |=
        strncmp(price->string, NATIVE, sizeof NATIVE - 1) == 0;
    return MPI_SUCCESS;
}

static int read_shape(const char *where, const cJSON *item, void *into)
{
    const char *name[ROTA_N_SHAPES];
    int found;

    for (int i = 0; i < ROTA_N_SHAPES; i++)
        name[i] = rota_shape_name((rota_shape)i);
    ROTA_TRY(read_name(where, item, name, ROTA_N_SHAPES, &found));
    *(rota_shape *)into = (rota_shape)found;
    return MPI_SUCCESS;
}

static int read_dims(const char *where, const cJSON *item, void *into)
{
    if (!is_number(item, 1, ROTA_MOST_DIMS))
        return wrong(where, item, "1 to 6");
    return read_count(where, item, into);
}

static int read_taper(const char *where, const cJSON *item, void *into)
{
    ROTA_TRY(read_amount(where, item, into));
    return *(double *)into > 0 ? MPI_SUCCESS
                               : wrong(where, item, "a number above 0");
}

#define AT(member) offsetof(rota_network, member)
static const object_key network_keys[] = {
    {"shape", read_shape, AT(shape), true},
    {"group", read_count, AT(group), false},
    {"dims", read_dims, AT(dims), false},
    {"ports", read_count, AT(ports), false},
    {"domains", read_count, AT(domains), false},
    {"far", read_amount, AT(far), false},
    {"taper", read_taper, AT(taper), false},
    {"hop", read_amount, AT(hop), false},
    {"link_byte", read_amount, AT(link_byte), false},
    {"posted_receive", read_amount, AT(posted_receive), false},
    {"short", read_amount, AT(short_bytes), false},
    {"past_short", read_amount, AT(past_short), false},
    {"past_short_gap", read_amount, AT(past_short_gap), false},
};
#undef AT

static int read_network(const char *where, const cJSON *item, void *into)
{
    rota_network *const network = into;

    (void)where;
    network->given = true;
    return read_object("machine, network", item, network_keys,
                       N_KEYS(network_keys), network);
}

static const object_key machine_keys[] = {
    {"ns", read_prices, offsetof(rota_tuning, machine), true},
    {"copied_once_from", read_count, offsetof(rota_tuning, copied_once_from),
     false},
    {"network", read_network, offsetof(rota_tuning, machine.network), false},
    {"from", read_from, offsetof(rota_tuning, machine_from), false},
};

static int read_machine(const char *where, const cJSON *item, void *into)
{
    rota_tuning *const t = into;

    (void)where;
    t->has_machine = true;
    t->machine = rota_machine_usual;
    return read_object("machine", item, machine_keys, N_KEYS(machine_keys), t);
}

/* ---- all of it ----------------------------------------------------------- */

/* Check this first, since the keys of another version are unknown. */
static int check_version(const cJSON *object)
{
    const cJSON *const version =
        cJSON_GetObjectItemCaseSensitive(object, "rota_tuning");

    if (!version)
        return rota_fail(MPI_ERR_ARG,
                         "not a tuning of Rota: key rota_tuning is missing");
    if (is_number(version, VERSION + 1, HUGE_VAL))
        return rota_fail(MPI_ERR_ARG,
                         "made by a newer version: rota_tuning = %g; valid: %d",
                         version->valuedouble, VERSION);
    if (!is_number(version, VERSION, VERSION))
        return wrong("tuning", version, "1");
    return MPI_SUCCESS;
}

/* check_version has looked at it. */
static int read_version(const char *where, const cJSON *item, void *into)
{
    (void)where;
    (void)item;
    (void)into;
    return MPI_SUCCESS;
}

static const object_key tuning_keys[] = {
    {"rota_tuning", read_version, 0, true},
    {"machine", read_machine, 0, false},
    {"rows", read_rows, 0, false},
};

/* Fail with the line where parsing stopped. */
static int not_json(const char *text, const char *end)
{
    int line = 1;

    for (const char *c = text; c < end; c++)
        line += *c == '\n';
    if (*end == '\0')
        return rota_fail(MPI_ERR_ARG, "line %d: not JSON, it ends too early",
                         line);
    /* The file may be anything, so none of it is shown. */
    return rota_fail(MPI_ERR_ARG, "line %d: not JSON", line);
}

int rota_tuning_parse(const char *text, rota_tuning *t)
{
    const char *end = text;
    cJSON *const object = cJSON_ParseWithOpts(text, &end, true);

    *t = (rota_tuning){0};
    int err = init_from(&t->machine_from);
    if (err == MPI_SUCCESS && !object)
        err = not_json(text, end);
    if (err == MPI_SUCCESS)
        err = check_version(object);
    if (err == MPI_SUCCESS)
        err =
            read_object("tuning", object, tuning_keys, N_KEYS(tuning_keys), t);
    cJSON_Delete(object);
    return err;
}

/* ---- printing ------------------------------------------------------------ */

static bool add_text(cJSON *o, const char *key, const char *value)
{
    return cJSON_AddStringToObject(o, key, value) != NULL;
}

static bool add_number(cJSON *o, const char *key, double value)
{
    return cJSON_AddNumberToObject(o, key, value) != NULL;
}

static bool add_from(cJSON *o, const rota_provenance *from)
{
    cJSON *const f = cJSON_AddObjectToObject(o, "from");

    return f && add_text(f, "machine", from->machine) &&
           add_text(f, "date", from->date) &&
           add_text(f, "command", from->command);
}

static bool add_end(cJSON *array, double end)
{
    cJSON *const item = end < ROTA_TUNING_UNBOUNDED
                            ? cJSON_CreateNumber(end)
                            : cJSON_CreateString("unbounded");

    return item && cJSON_AddItemToArray(array, item);
}

/* Print a range, unless it is unbounded. */
static bool add_range(cJSON *o, const char *key, const rota_range *range)
{
    if (range->least <= 0 && range->most >= ROTA_TUNING_UNBOUNDED)
        return true;
    cJSON *const array = cJSON_AddArrayToObject(o, key);
    return array && add_end(array, range->least) && add_end(array, range->most);
}

static bool add_ranges(cJSON *o, const rota_tuning_row *row)
{
    bool ok = true;

    for (int i = 0; i < N_KEYS(row_keys); i++)
        if (row_keys[i].read == read_range)
            ok = ok && add_range(o, row_keys[i].name,
                                 (const rota_range *)((const char *)row +
                                                      row_keys[i].at));
    return ok;
}

static bool add_choice(cJSON *o, const rota_choice *choice)
{
    const unsigned params = choice->algo->params;
    bool ok = add_text(o, "algorithm", choice->algo->name);

    for (int i = 0; i < ROTA_N_PARAMS; i++)
        if (params & rota_param_table[i].bit)
            ok = ok && add_number(o, rota_param_table[i].name,
                                  rota_param_value(&choice->params,
                                                   &rota_param_table[i]));
    return ok &&
           (!(params & ROTA_P_PACKING) ||
            add_text(o, "packing",
                     rota_packing_words.word[choice->params.by_datatype])) &&
           add_text(o, "metadata",
                    rota_metadata_words.word[choice->metadata]) &&
           add_text(o, "intranode",
                    rota_intranode_words.word[choice->intranode]);
}

static bool add_row(cJSON *rows, const rota_tuning_row *row)
{
    cJSON *const o = cJSON_CreateObject();

    if (!o || !cJSON_AddItemToArray(rows, o)) {
        cJSON_Delete(o);
        return false;
    }
    return add_text(o, "kind", rota_kind_name(row->kind)) &&
           add_ranges(o, row) && add_choice(o, &row->choice) &&
           add_number(o, "us", row->us) && add_from(o, &row->from);
}

static bool add_network(cJSON *o, const rota_network *network)
{
    cJSON *const n = cJSON_AddObjectToObject(o, "network");
    bool ok = n && add_text(n, "shape", rota_shape_name(network->shape));

    for (int i = 0; i < N_KEYS(network_keys); i++) {
        const object_key *const key = &network_keys[i];
        const void *const at = (const char *)network + key->at;
        if (key->read == read_count || key->read == read_dims)
            ok = ok && add_number(n, key->name, *(const int *)at);
        else if (key->read != read_shape && *(const double *)at >= 0)
            ok = ok && add_number(n, key->name, *(const double *)at);
    }
    return ok;
}

static bool add_machine(cJSON *o, const rota_tuning *t)
{
    if (!t->has_machine)
        return true;
    cJSON *const machine = cJSON_AddObjectToObject(o, "machine");
    cJSON *const ns = machine ? cJSON_AddObjectToObject(machine, "ns") : NULL;
    bool ok = ns != NULL;
    for (int i = 0; i < ROTA_N_PRICES; i++)
        if (t->machine.native ||
            strncmp(rota_term_name(i), NATIVE, sizeof NATIVE - 1) != 0)
            ok = ok && add_number(ns, rota_term_name(i), t->machine.ns[i]);
    if (t->copied_once_from > 0)
        ok = ok && add_number(machine, "copied_once_from", t->copied_once_from);
    if (t->machine.network.given)
        ok = ok && add_network(machine, &t->machine.network);
    return ok && add_from(machine, &t->machine_from);
}

static bool add_all(cJSON *o, const rota_tuning *t)
{
    if (!o || !add_number(o, "rota_tuning", VERSION) || !add_machine(o, t))
        return false;
    cJSON *const rows = cJSON_AddArrayToObject(o, "rows");
    bool ok = rows != NULL;
    for (int i = 0; i < t->n_rows; i++)
        ok = ok && add_row(rows, &t->row[i]);
    return ok;
}

char *rota_tuning_print(const rota_tuning *t)
{
    cJSON *const o = cJSON_CreateObject();
    char *const text = add_all(o, t) ? cJSON_Print(o) : NULL;

    cJSON_Delete(o);
    return text;
}
