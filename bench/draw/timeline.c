/* timeline.c - what ranks did when in one run of a plan, from a file
 * that was written for ROTA_TRACE. */
#include "draw/forms.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- spans --------------------------------------------------------------- */

/* A line of a rank. */
typedef enum lane { COPIES, SENDS, RECEIVES, N_LANES } lane;

static const struct {
    const char *name;
    lane lane;
    char letter;
    const char *colour;
} kinds[] = {
    {"copy", COPIES, 'c', "#b9b9b9"},      {"gather", COPIES, 'g', "#e8a33d"},
    {"scatter", COPIES, 's', "#5aa469"},   {"pack", COPIES, 'p', "#d9c27a"},
    {"unpack", COPIES, 'u', "#9cc9a5"},    {"send", SENDS, '=', "#4a7fb5"},
    {"receive", RECEIVES, '-', "#9a6fb0"},
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0], RUN = N_KINDS };

static const char *const lane_name[N_LANES] = {"copies", "sends", "receives"};

typedef struct span {
    int kind, rank, node, plan;
    long run;
    double begin, end; /* microseconds */
} span;

typedef struct spans {
    span *at;
    size_t n, room;
} spans;

static void add(spans *all, const span *s)
{
    if (all->n == all->room) {
        all->room = all->room ? 2 * all->room : 1024;
        all->at = inside_must(realloc(all->at, all->room * sizeof *all->at));
    }
    all->at[all->n++] = *s;
}

static double number(const cJSON *object, const char *key)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, key);

    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

static const char *text(const cJSON *object, const char *key)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, key);

    return cJSON_IsString(item) ? item->valuestring : "";
}

static int find_kind(const char *name)
{
    for (int i = 0; i < N_KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return i;
    return strcmp(name, "run") == 0 ? RUN : -1;
}

/* An asynchronous event ends right behind where it begins. */
static void take(spans *all, const cJSON *event)
{
    const cJSON *const args = cJSON_GetObjectItemCaseSensitive(event, "args");
    const char *const phase = text(event, "ph");
    const int kind = find_kind(text(event, "name"));
    const double ts = number(event, "ts");

    if (kind < 0 || !args || ts < 0)
        return;
    if (*phase == 'e' && all->n > 0 && all->at[all->n - 1].kind == kind) {
        all->at[all->n - 1].end = ts;
        return;
    }
    add(all, &(span){.kind = kind,
                     .rank = (int)number(event, "tid"),
                     .node = (int)number(event, "pid"),
                     .plan = (int)number(args, "plan"),
                     .run = (long)number(args, "run"),
                     .begin = ts,
                     .end = *phase == 'X' ? ts + number(event, "dur") : ts});
}

static char *read_file(const char *path)
{
    FILE *const in = fopen(path, "r");
    size_t n = 0, room = 1 << 16;
    char *all = inside_must(malloc(room));

    if (!in)
        inside_die("%s cannot be read", path);
    for (size_t got; (got = fread(all + n, 1, room - n - 2, in)) > 0;) {
        n += got;
        if (room - n < room / 2)
            all = inside_must(realloc(all, room *= 2));
    }
    fclose(in);
    memcpy(all + n, "]", 2); /* which writers leave out */
    return all;
}

static spans read_spans(const char *path)
{
    char *const all = read_file(path);
    cJSON *const list = cJSON_Parse(all);
    spans s = {NULL, 0, 0};

    if (!cJSON_IsArray(list))
        inside_die("%s is no file of ROTA_TRACE", path);
    for (const cJSON *e = list->child; e; e = e->next)
        take(&s, e);
    cJSON_Delete(list);
    free(all);
    return s;
}

/* ---- one run ------------------------------------------------------------- */

typedef struct timeline {
    spans s; /* of the run, by rank */
    int P;
    int plan;
    long run;
    double begin, end;
} timeline;

static int by_rank(const void *a, const void *b)
{
    const span *const x = a, *const y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Usually the last run of the last plan that all of its ranks have. */
static void choose(timeline *t, const spans *all, int plan, long run)
{
    double last = -1;

    for (size_t i = 0; plan < 0 && i < all->n; i++)
        if (all->at[i].kind == RUN && all->at[i].begin > last) {
            last = all->at[i].begin;
            t->plan = all->at[i].plan;
        }
    if (plan >= 0)
        t->plan = plan;
    for (size_t i = 0; i < all->n; i++)
        t->P = all->at[i].rank >= t->P ? all->at[i].rank + 1 : t->P;
    long *const latest = inside_must(calloc((size_t)t->P + 1, sizeof *latest));
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].kind == RUN && all->at[i].plan == t->plan &&
            all->at[i].run > latest[all->at[i].rank])
            latest[all->at[i].rank] = all->at[i].run;
    t->run = run;
    for (int q = 0; q < t->P && run < 0; q++)
        if (latest[q] > 0 && (t->run < 0 || latest[q] < t->run))
            t->run = latest[q];
    free(latest);
}

static timeline make_timeline(const char *path, int plan, long run)
{
    spans all = read_spans(path);
    timeline t = {.begin = INFINITY, .end = -INFINITY};

    choose(&t, &all, plan, run);
    for (size_t i = 0; i < all.n; i++) {
        const span *const s = &all.at[i];
        if (s->plan != t.plan || s->run != t.run)
            continue;
        add(&t.s, s);
        t.begin = fmin(t.begin, s->begin);
        t.end = fmax(t.end, s->end);
    }
    free(all.at);
    if (t.s.n == 0)
        inside_die("%s: there is no such run", path);
    qsort(t.s.at, t.s.n, sizeof *t.s.at, by_rank);
    return t;
}

/* Microseconds in which rank had any span of the lanes. */
static double busy(const timeline *t, int rank, bool copies)
{
    double until = -INFINITY, sum = 0;

    for (size_t i = 0; i < t->s.n; i++) {
        const span *const s = &t->s.at[i];
        if (s->rank != rank || s->kind == RUN ||
            (kinds[s->kind].lane == COPIES) != copies || s->end <= until)
            continue;
        sum += s->end - fmax(s->begin, until);
        until = s->end;
    }
    return sum;
}

/* Of the time from a rank's start until its last message left, the part in which an
 * earlier one was under way: what blocks that leave one by one hide. -1: none left
 * before. */
static double hidden(const timeline *t, int rank)
{
    double start = -1, last = -1, until = -INFINITY, sum = 0;

    for (size_t i = 0; i < t->s.n; i++) {
        const span *const s = &t->s.at[i];
        if (s->rank != rank)
            continue;
        if (s->kind == RUN)
            start = s->begin;
        else if (kinds[s->kind].lane == SENDS)
            last = s->begin;
    }
    for (size_t i = 0; i < t->s.n; i++) {
        const span *const s = &t->s.at[i];
        const double from = fmax(s->begin, until), to = fmin(s->end, last);
        if (s->rank != rank || s->kind == RUN || kinds[s->kind].lane != SENDS ||
            to <= from)
            continue;
        sum += to - from;
        until = to;
    }
    return sum > 0 && last > start ? sum / (last - start) : -1;
}

static double run_of(const timeline *t, int rank)
{
    for (size_t i = 0; i < t->s.n; i++)
        if (t->s.at[i].rank == rank && t->s.at[i].kind == RUN)
            return t->s.at[i].end - t->s.at[i].begin;
    return -1;
}

static int node_of(const timeline *t, int rank)
{
    for (size_t i = 0; i < t->s.n; i++)
        if (t->s.at[i].rank == rank)
            return t->s.at[i].node;
    return -1;
}

/* ---- text ---------------------------------------------------------------- */

enum { COLUMNS = 72 };

static int column(const timeline *t, double when)
{
    const double width = fmax(t->end - t->begin, 1e-3);
    const int c = (int)((when - t->begin) / width * COLUMNS);

    return c < COLUMNS ? c : COLUMNS - 1;
}

static bool fill_lane(const timeline *t, int rank, lane l, char row[])
{
    bool any = false;

    memset(row, ' ', COLUMNS);
    row[COLUMNS] = '\0';
    for (size_t i = 0; i < t->s.n; i++) {
        const span *const s = &t->s.at[i];
        if (s->rank != rank || s->kind == RUN || kinds[s->kind].lane != l)
            continue;
        any = true;
        for (int c = column(t, s->begin); c <= column(t, s->end); c++)
            row[c] = kinds[s->kind].letter;
    }
    return any;
}

static void print_text(const timeline *t)
{
    char row[COLUMNS + 1];

    printf("plan %d, run %ld: %.1f us from the first rank's start to the last "
           "one's end\n",
           t->plan, t->run, t->end - t->begin);
    puts("c copies of own blocks, g gathers, s scatters, p packs, u unpacks, = "
         "sends,\n- receives: messages by MPI until they are seen to be "
         "complete. hidden: of\nthe time until the last send left, the part "
         "with an "
         "earlier one under way");
    for (int q = 0; q < t->P; q++)
        for (int l = 0; l < N_LANES; l++)
            if (fill_lane(t, q, (lane)l, row))
                printf("rank %-4d %-9s|%s|\n", q, lane_name[l], row);
    puts("rank  node     run us  copies us    wire us  run / longer  hidden");
    for (int q = 0; q < t->P; q++) {
        const double run = run_of(t, q), copies = busy(t, q, true);
        const double wire = busy(t, q, false), share = hidden(t, q);
        if (run < 0)
            continue;
        printf("%4d %5d %10.1f %10.1f %10.1f", q, node_of(t, q), run, copies,
               wire);
        if (wire > 0)
            printf(" %13.2f", run / fmax(copies, wire));
        if (share >= 0)
            printf(" %7.2f", share);
        putchar('\n');
    }
}

/* ---- SVG ----------------------------------------------------------------- */

enum { LEFT = 110, WIDTH = 900, LANE = 12, GAP = 6, TOP = 44 };

static void print_legend(void)
{
    for (int i = 0; i < N_KINDS; i++)
        printf("<rect x=\"%d\" y=\"22\" width=\"12\" height=\"12\" "
               "fill=\"%s\"/><text x=\"%d\" y=\"32\">%s</text>\n",
               LEFT + 90 * i, kinds[i].colour, LEFT + 90 * i + 16,
               kinds[i].name);
}

static void print_lane(const timeline *t, int rank, lane l, int y)
{
    const double scale = WIDTH / fmax(t->end - t->begin, 1e-3);

    for (size_t i = 0; i < t->s.n; i++) {
        const span *const s = &t->s.at[i];
        if (s->rank != rank || s->kind == RUN || kinds[s->kind].lane != l)
            continue;
        printf("<rect x=\"%.1f\" y=\"%d\" width=\"%.2f\" height=\"%d\" "
               "fill=\"%s\" fill-opacity=\"0.8\"><title>%s, %.1f us</title>"
               "</rect>\n",
               LEFT + (s->begin - t->begin) * scale, y,
               fmax((s->end - s->begin) * scale, 0.7), LANE - 2,
               kinds[s->kind].colour, kinds[s->kind].name, s->end - s->begin);
    }
}

static void print_svg(const timeline *t)
{
    const int height = TOP + t->P * (N_LANES * LANE + GAP) + 24;

    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
           "height=\"%d\" font-family=\"sans-serif\" font-size=\"11\">\n"
           "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
           "<text x=\"10\" y=\"14\">plan %d, run %ld: %.1f us</text>\n",
           LEFT + WIDTH + 20, height, t->plan, t->run, t->end - t->begin);
    print_legend();
    for (int q = 0; q < t->P; q++) {
        const int y = TOP + q * (N_LANES * LANE + GAP);
        printf("<text x=\"10\" y=\"%d\">rank %d, node %d</text>\n",
               y + 2 * LANE, q, node_of(t, q));
        for (int l = 0; l < N_LANES; l++)
            print_lane(t, q, (lane)l, y + l * LANE);
    }
    printf("<text x=\"%d\" y=\"%d\">0</text>\n"
           "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.1f us</text>\n"
           "</svg>\n",
           LEFT, height - 8, LEFT + WIDTH, height - 8, t->end - t->begin);
}

void draw_timeline(const char *path, int plan, long run, bool svg)
{
    timeline t = make_timeline(path, plan, run);

    if (svg)
        print_svg(&t);
    else
        print_text(&t);
    free(t.s.at);
}
