/* zmodel.c - an interface between two fluids rolls up: markers on a sheet move each
 * other, and the ranks that compute are those of the places where markers are.
 *
 *   mpiexec -n P zmodel [STEPS]
 *
 * A rank keeps rows of the sheet. In every step markers go to the ranks of the
 * slabs of space that they are in, or near to (an exchange: nobody knows what will
 * come), velocities go back (a plan for counts that vary), and rows at the ends
 * are swapped with neighbours for slopes (a plan for fixed counts). All of it by
 * MPI's calls first, then by Rota's, and compared with one rank's own sums.
 */
#include "must.h"

#include <rota.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    M = 32,
    N = M * M,
    MARKER = 6,
    MOST_SLABS = 64
}; /* M rows of M markers */
static const double cutoff = 0.12, smooth = 0.02, dt = 0.02, pull = 20;

/* Position, vorticity, and in messages 1 if it is to get a velocity. */
typedef struct {
    double x, y, z, wx, wy, owned;
} marker;

typedef struct {
    int P, me, by_rota;
    rota_plan *there, *back, *rows;
    int *sent, *sent_at, *came, *came_at;   /* [P] doubles */
    int *asked, *asked_at, *owed, *owed_at; /* [P] doubles of velocities */
    double *out, *in, *velocity, *answer;
    double edge[4 * M]; /* first and last row to neighbours, and from them */
    int row_count[MOST_SLABS], row_at[MOST_SLABS];
    double seconds; /* in exchanges */
} world;

static void *room(size_t bytes)
{
    return memset(must_realloc(NULL, bytes + 1, 1), 0, bytes);
}

/* ---- what markers do to each other --------------------------------------- */

static double nearest(double d)
{
    return d - floor(d + 0.5);
}

/* Add to v what source does to target. */
static void induce(const marker *target, const marker *source, double v[3])
{
    const double dx = nearest(target->x - source->x);
    const double dy = nearest(target->y - source->y);
    const double dz = target->z - source->z;

    if (fabs(dx) > cutoff || fabs(dy) > cutoff)
        return;
    const double r2 = dx * dx + dy * dy + dz * dz + smooth * smooth;
    const double k = 1 / (4 * acos(-1) * N * r2 * sqrt(r2));
    v[0] += k * source->wy * dz;
    v[1] -= k * source->wx * dz;
    v[2] += k * (source->wx * dy - source->wy * dx);
}

static marker at_first(int row, int column)
{
    const double x = (row + 0.5) / M, y = (column + 0.5) / M;
    const double turn = 2 * acos(-1);

    return (marker){.x = x, .y = y, .z = 0.05 * cos(turn * x) * cos(turn * y)};
}

/* above and below: heights of the rows next to it, left and right in its own. */
static void advance(marker *m, const double v[3], double above, double below,
                    double left, double right)
{
    m->wx -= dt * pull * (right - left) * M / 2;
    m->wy += dt * pull * (below - above) * M / 2;
    m->x += dt * v[0];
    m->y += dt * v[1];
    m->z += dt * v[2];
}

/* ---- exchanges ----------------------------------------------------------- */

static int add_up(int n, const int count[], int at[])
{
    int sum = 0;

    for (int q = 0; q < n; q++) {
        at[q] = sum;
        sum += count[q];
    }
    return sum;
}

static double *markers_there(world *w)
{
    void *in = w->in;

    w->seconds -= MPI_Wtime();
    if (w->by_rota) {
        MUST(rota_exchange_start(w->there, w->out, w->sent, w->sent_at));
        MUST(rota_exchange_wait(w->there, &in, w->came, w->came_at));
    } else {
        MUST(MPI_Alltoall(w->sent, 1, MPI_INT, w->came, 1, MPI_INT,
                          MPI_COMM_WORLD));
        add_up(w->P, w->came, w->came_at);
        MUST(MPI_Alltoallv(w->out, w->sent, w->sent_at, MPI_DOUBLE, w->in,
                           w->came, w->came_at, MPI_DOUBLE, MPI_COMM_WORLD));
    }
    w->seconds += MPI_Wtime();
    return in;
}

static void velocities_back(world *w)
{
    w->seconds -= MPI_Wtime();
    if (w->by_rota) {
        MUST(rota_alltoallv_start(w->back, w->velocity, w->owed, w->owed_at,
                                  w->answer, w->asked, w->asked_at));
        MUST(rota_wait(w->back));
    } else {
        MUST(MPI_Alltoallv(w->velocity, w->owed, w->owed_at, MPI_DOUBLE,
                           w->answer, w->asked, w->asked_at, MPI_DOUBLE,
                           MPI_COMM_WORLD));
    }
    w->seconds += MPI_Wtime();
}

static void swap_rows(world *w)
{
    w->seconds -= MPI_Wtime();
    if (w->by_rota) {
        MUST(rota_start(w->rows));
        MUST(rota_wait(w->rows));
    } else {
        MUST(MPI_Alltoallv(w->edge, w->row_count, w->row_at, MPI_DOUBLE,
                           w->edge + 2 * M, w->row_count, w->row_at, MPI_DOUBLE,
                           MPI_COMM_WORLD));
    }
    w->seconds += MPI_Wtime();
}

/* ---- a step -------------------------------------------------------------- */

/* Slabs of space that need the marker, its own one first. */
static int slabs_of(const world *w, const marker *m, int slab[MOST_SLABS])
{
    const double x = m->x - floor(m->x);
    const int own = (int)(x * w->P) % w->P;
    const int from = (int)floor((x - cutoff) * w->P);
    const int to = (int)floor((x + cutoff) * w->P);
    int n = 0;

    slab[n++] = own;
    for (int s = from; s <= to && n < w->P; s++)
        if ((s + w->P) % w->P != own && s < from + w->P)
            slab[n++] = (s + w->P) % w->P;
    return n;
}

/* Count, then write. */
static void pack(world *w, const marker sheet[], int n)
{
    int slab[MOST_SLABS];

    memset(w->sent, 0, (size_t)w->P * sizeof *w->sent);
    memset(w->asked, 0, (size_t)w->P * sizeof *w->asked);
    for (int i = 0; i < n; i++) {
        const int k = slabs_of(w, &sheet[i], slab);
        w->asked[slab[0]] += 3;
        for (int s = 0; s < k; s++)
            w->sent[slab[s]] += MARKER;
    }
    add_up(w->P, w->sent, w->sent_at);
    add_up(w->P, w->asked, w->asked_at);
    for (int i = 0; i < n; i++) {
        const int k = slabs_of(w, &sheet[i], slab);
        for (int s = 0; s < k; s++) {
            marker copy = sheet[i];
            copy.owned = s == 0;
            memcpy(w->out + w->sent_at[slab[s]], &copy, sizeof copy);
            w->sent_at[slab[s]] += MARKER;
        }
    }
    add_up(w->P, w->sent, w->sent_at);
}

/* For those in the slab, in the order in which they came. */
static void sum_up(world *w, const marker *all)
{
    const int n = (w->came_at[w->P - 1] + w->came[w->P - 1]) / MARKER;
    double *v = w->velocity;

    for (int q = 0; q < w->P; q++) {
        w->owed[q] = 0;
        for (int i = 0; i < w->came[q] / MARKER; i++) {
            const marker *const target = all + w->came_at[q] / MARKER + i;
            if (target->owned == 0)
                continue;
            v[0] = v[1] = v[2] = 0;
            for (int k = 0; k < n; k++)
                induce(target, &all[k], v);
            v += 3;
            w->owed[q] += 3;
        }
    }
    add_up(w->P, w->owed, w->owed_at);
}

static void move(world *w, marker sheet[], int rows)
{
    const double *const from = w->edge + 2 * M;
    const int up = (w->me + w->P - 1) % w->P, down = (w->me + 1) % w->P;
    const double *const below = from + w->row_at[down];
    const double *const above = from + w->row_at[up] + (up == down ? M : 0);
    double height[N];
    int slab[MOST_SLABS];

    for (int i = 0; i < rows * M; i++)
        height[i] = sheet[i].z;
    for (int i = 0; i < rows * M; i++) {
        const int row = i / M, column = i % M;
        slabs_of(w, &sheet[i], slab);
        const double *const v = w->answer + w->asked_at[slab[0]];
        w->asked_at[slab[0]] += 3;
        advance(&sheet[i], v, row > 0 ? height[i - M] : above[column],
                row < rows - 1 ? height[i + M] : below[column],
                height[row * M + (column + M - 1) % M],
                height[row * M + (column + 1) % M]);
    }
}

static void step(world *w, marker sheet[], int rows)
{
    pack(w, sheet, rows * M);
    sum_up(w, (const marker *)markers_there(w));
    velocities_back(w);
    for (int i = 0; i < M; i++) {
        w->edge[w->row_at[(w->me + w->P - 1) % w->P] + i] = sheet[i].z;
        w->edge[w->row_at[(w->me + 1) % w->P] + (w->P < 3 ? M : 0) + i] =
            sheet[(rows - 1) * M + i].z;
    }
    swap_rows(w);
    move(w, sheet, rows);
}

/* ---- all together -------------------------------------------------------- */

static void open_world(world *w)
{
    const size_t most = (size_t)N * sizeof(marker);
    /* All markers of a rank may be for one other. */
    const size_t bound = (size_t)(M / w->P + 1) * M * sizeof(marker);
    int *const ints = room(8 * (size_t)w->P * sizeof *ints);

    int **const list[] = {&w->sent,  &w->sent_at,  &w->came, &w->came_at,
                          &w->asked, &w->asked_at, &w->owed, &w->owed_at};
    for (int i = 0; i < 8; i++)
        *list[i] = ints + i * w->P;
    w->out = room(most * (size_t)w->P), w->in = room(most);
    w->velocity = room(most), w->answer = room(most);
    w->row_count[(w->me + w->P - 1) % w->P] += M;
    w->row_count[(w->me + 1) % w->P] += M;
    add_up(w->P, w->row_count, w->row_at);
    MUST(rota_exchange_init(bound, MPI_DOUBLE, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &w->there));
    MUST(rota_alltoallv_varying_init(bound, MPI_DOUBLE, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, &w->back));
    MUST(rota_alltoallv_init(w->edge, w->row_count, w->row_at, MPI_DOUBLE,
                             w->edge + 2 * M, w->row_count, w->row_at,
                             MPI_DOUBLE, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &w->rows));
}

static void close_world(world *w)
{
    MUST(rota_plan_free(&w->there));
    MUST(rota_plan_free(&w->back));
    MUST(rota_plan_free(&w->rows));
    free(w->sent), free(w->out), free(w->in), free(w->velocity);
    free(w->answer);
}

/* The distance of this rank's rows from what one rank alone finds. */
static double compare(const marker sheet[], int first, int rows, int steps)
{
    static marker all[N];
    static double v[N][3], height[N];
    double worst = 0;

    for (int i = 0; i < N; i++)
        all[i] = at_first(i / M, i % M);
    for (int k = 0; k < steps; k++) {
        memset(v, 0, sizeof v);
        for (int i = 0; i < N; i++) {
            height[i] = all[i].z;
            for (int j = 0; j < N; j++)
                induce(&all[i], &all[j], v[i]);
        }
        for (int i = 0; i < N; i++)
            advance(&all[i], v[i], height[(i + N - M) % N], height[(i + M) % N],
                    height[i / M * M + (i + M - 1) % M],
                    height[i / M * M + (i + 1) % M]);
    }
    for (int i = 0; i < rows * M; i++) {
        const marker *const a = &sheet[i], *const b = &all[first * M + i];
        const double off = fabs(a->x - b->x) + fabs(a->y - b->y) +
                           fabs(a->z - b->z) + fabs(a->wx - b->wx);
        worst = off <= worst ? worst : off; /* also if it is no number */
    }
    return worst;
}

int main(int argc, char **argv)
{
    static marker sheet[N];
    static world w;
    double worst[2], seconds[4]; /* of exchanges, and of all */

    must_name(argv[0]);
    MUST(MPI_Init(&argc, &argv));
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &w.P));
    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &w.me));
    const int steps = argc > 1 ? atoi(argv[1]) : 10;
    if (w.P > M || steps < 1)
        die("usage: zmodel [STEPS], on at most %d ranks", M);
    const int first = w.me * M / w.P, rows = (w.me + 1) * M / w.P - first;
    open_world(&w);
    for (w.by_rota = 0; w.by_rota < 2; w.by_rota++) {
        w.seconds = 0;
        for (int i = 0; i < rows * M; i++)
            sheet[i] = at_first(first + i / M, i % M);
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        const double begin = MPI_Wtime();
        for (int k = 0; k < steps; k++)
            step(&w, sheet, rows);
        seconds[2 + w.by_rota] = (MPI_Wtime() - begin) / steps;
        worst[w.by_rota] = compare(sheet, first, rows, steps);
        seconds[w.by_rota] = w.seconds / steps;
    }
    MUST(MPI_Allreduce(MPI_IN_PLACE, worst, 2, MPI_DOUBLE, MPI_MAX,
                       MPI_COMM_WORLD));
    MUST(MPI_Allreduce(MPI_IN_PLACE, seconds, 4, MPI_DOUBLE, MPI_MAX,
                       MPI_COMM_WORLD));
    for (int i = 0; i < 2 && w.me == 0; i++)
        printf(
            "%s  %9.1f us of exchanges a step, %9.1f in all, off by %.1e, the "
            "first marker at %.6f\n",
            i ? "Rota" : "MPI ", 1e6 * seconds[i], 1e6 * seconds[2 + i],
            worst[i], sheet[0].x);
    close_world(&w);
    MUST(MPI_Finalize());
    return worst[0] < 1e-9 && worst[1] < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
