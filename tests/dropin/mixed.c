/* mixed.c - exchanges of all kinds in random order, for mixed.sh to run with
 * librota_mpi.
 *
 *     mixed SEED STEPS
 *
 * A step is a few exchanges of one kind on one of several communicators, some of
 * which come and go: blocking ones, with arguments that stay or change, also on one
 * rank alone, whose types and buffers are its own choice; nonblocking and persistent
 * ones, in place, messages of other kinds under way. What the arguments of one rank
 * do must not matter to the others. Every block is checked. A run that does not get
 * on within LIMIT seconds says where it was, and fails.
 */
#define _POSIX_C_SOURCE 200809L
#include "sides.h"

#include <signal.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { COMMS = 6, MOST = 40, LONG = 3000, LIMIT = 100 };

/* ---- chance -------------------------------------------------------------- */

static uint64_t of_all, of_one; /* the same on all ranks; this rank's own */

static int draw(uint64_t *state, int n)
{
    *state =
        *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((*state >> 33) % (uint64_t)n);
}

static long step;
static const char *doing = "";

static void stuck(int signal)
{
    char text[128];

    (void)signal;
    const int n = snprintf(text, sizeof text,
                           "rank %d: stuck in step %ld: %s\n", me, step, doing);
    if (write(STDERR_FILENO, text, (size_t)n) == n)
        abort();
    abort();
}

/* ---- communicators ------------------------------------------------------- */

/* The neighbours of grid and graph: whom a rank sends to, and receives from. */
typedef struct place {
    MPI_Comm comm; /* MPI_COMM_NULL where this rank is not in it */
    bool near;
    int n_to, n_from, to[8], from[8];
    side sends, gets; /* that stay */
    layout mine;      /* of this rank, as it was last */
} place;

static place places[COMMS];

static void make_graph(place *p)
{
    const int n = 1 + draw(&of_all, P < 3 ? P : 3);

    for (int i = 0; i < n; i++) {
        p->to[i] = (me + i) % P;
        p->from[i] = (me - i + P) % P;
    }
    p->n_to = p->n_from = n;
    MUST(MPI_Dist_graph_create_adjacent(
        MPI_COMM_WORLD, n, p->from, MPI_UNWEIGHTED, n, p->to, MPI_UNWEIGHTED,
        MPI_INFO_NULL, 0, &p->comm));
}

static void make_ring(place *p)
{
    const int one = 1;

    p->n_to = p->n_from = 2;
    p->to[0] = p->from[0] = (me + P - 1) % P;
    p->to[1] = p->from[1] = (me + 1) % P;
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 1, &P, &one, 0, &p->comm));
}

static void make_place(int i)
{
    place *const p = &places[i];
    const int most = draw(&of_all, 4) ? MOST : LONG;
    int n = 0, self = me;

    p->near = i >= COMMS - 2;
    if (i == COMMS - 1 && P > 2)
        make_ring(p);
    else if (p->near)
        make_graph(p);
    else if (i == 2)
        MUST(MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &p->comm));
    else if (i == 3)
        MUST(MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &p->comm));
    else
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &p->comm));
    if (!p->near) {
        MPI_Comm_size(p->comm, &n);
        MPI_Comm_rank(p->comm, &self);
    }
    p->sends =
        make_side(p->near ? p->n_to : n, p->near ? p->to : NULL, self, most);
    p->gets = make_side(p->near ? p->n_from : n, p->near ? p->from : NULL, self,
                        most);
    p->mine = (layout){.type = MPI_INT, .stride = 1};
}

static void drop_place(place *p)
{
    if (p->comm != MPI_COMM_NULL)
        MPI_Comm_free(&p->comm);
    drop_side(&p->sends);
    drop_side(&p->gets);
}

/* ---- this rank's own choice ---------------------------------------------- */

/* Its type: an int, one with a hole behind it, or a type of its own that is one. */
static void choose_type(layout *l)
{
    if (l->type != MPI_INT)
        MPI_Type_free(&l->type);
    l->type = MPI_INT;
    l->stride = 1;
    switch (draw(&of_one, 4)) {
    case 0:
        l->stride = 2;
        MUST(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &l->type));
        MUST(MPI_Type_commit(&l->type));
        break;
    case 1:
        MUST(MPI_Type_contiguous(1, MPI_INT, &l->type));
        MUST(MPI_Type_commit(&l->type));
        break;
    default:
        break;
    }
}

/* Other buffers than those that stay. */
static void choose_buffers(const place *p, side *a, side *b)
{
    *a = make_side(p->sends.n, p->sends.peer, p->sends.self, p->sends.most);
    *b = make_side(p->gets.n, p->gets.peer, p->gets.self, p->gets.most);
}

static void dawdle(void)
{
    if (draw(&of_one, 30) == 0)
        nanosleep(&(struct timespec){.tv_nsec = draw(&of_one, 3000) * 1000L},
                  NULL);
}

/* ---- kinds of steps ------------------------------------------------------ */

static void run_blocking(place *p)
{
    const int shape = draw(&of_all, SHAPES), calls = 1 + draw(&of_all, 40);
    const bool changes = draw(&of_all, 3) == 0; /* counts, on all ranks */
    const int odd = draw(&of_all, 3) ? -1 : draw(&of_all, P);
    layout l = {.same = shape == ONE ? draw(&of_all, 4) : -1,
                .which = draw(&of_all, 5)};

    doing = p->near ? "blocking, near" : "blocking";
    for (int i = 0; i < calls; i++) {
        side a = p->sends, b = p->gets;
        const bool own = me == odd || (i == 0 && draw(&of_one, 4) == 0);
        if (own)
            choose_type(&p->mine);
        if (own && draw(&of_one, 2))
            choose_buffers(p, &a, &b);
        l.type = p->mine.type;
        l.stride = p->mine.stride;
        l.round = (int)step * 64 + i;
        if (changes)
            l.which = draw(&of_all, 9);
        lay_out(&a, &l, true);
        lay_out(&b, &l, false);
        dawdle();
        blocking(shape, p->near, &a, &b, l.type, l.type, p->comm);
        check_side(&b, &l, doing);
        if (a.data != p->sends.data) {
            drop_side(&a);
            drop_side(&b);
        }
    }
}

/* A rank that has no elements has no buffers either, and one array of counts for both
 * sides, where MPI does not look at that. */
#ifdef OPEN_MPI
enum { ONE_ARRAY = true };
#else
enum { ONE_ARRAY = false };
#endif

static void run_absent(place *p)
{
    const int absent = draw(&of_all, p->gets.n), calls = 1 + draw(&of_all, 10);
    const side *const a = &p->sends, *const b = &p->gets;
    layout l = {.type = MPI_INT, .stride = 1, .same = 3};
    const bool mine = absent == a->self;

    doing = "nothing on one rank";
    for (int i = 0; i < calls; i++) {
        l.round = (int)step * 64 + i;
        lay_out(&p->sends, &l, true);
        lay_out(&p->gets, &l, false);
        for (int k = 0; k < a->n; k++)
            if (mine || k == absent)
                a->count[k] = b->count[k] = 0;
        MUST(MPI_Alltoallv(mine ? NULL : a->data, a->count, a->displ, MPI_INT,
                           mine ? NULL : b->data,
                           mine && ONE_ARRAY ? a->count : b->count, b->displ,
                           MPI_INT, p->comm));
        check_side(b, &l, doing);
    }
}

/* Each rank's block is replaced by what comes from there. What a rank says about
 * what it sends is not looked at, though the call before has said the same. */
static void run_in_place(place *p)
{
    const int shape = draw(&of_all, SHAPES), calls = 1 + draw(&of_all, 10);
    side *const b = &p->gets;
    layout l = {.type = MPI_INT,
                .stride = 1,
                .same = 4 + draw(&of_all, 30), /* new sizes */
                .which = draw(&of_all, 5)};
    const bool says = draw(&of_one, 2); /* as of a call with other buffers */

    doing = "in place";
    for (int i = 0; i < calls; i++) {
        l.round = (int)step * 64 + i;
        lay_out(&p->sends, &l, true);
        lay_out(b, &l, false);
        blocking(shape, false, &p->sends, b, MPI_INT, MPI_INT, p->comm);
        lay_out(b, &l, true);
        if (shape == ONE)
            MUST(MPI_Alltoall(MPI_IN_PLACE, says ? l.same : 0,
                              says ? MPI_INT : MPI_DATATYPE_NULL, b->data,
                              l.same, MPI_INT, p->comm));
        else if (shape == V)
            MUST(MPI_Alltoallv(MPI_IN_PLACE, says ? b->count : NULL,
                               says ? b->displ : NULL, MPI_INT, b->data,
                               b->count, b->displ, MPI_INT, p->comm));
        else
            MUST(MPI_Alltoallw(MPI_IN_PLACE, says ? b->count : NULL,
                               says ? b->near : NULL, says ? b->type : NULL,
                               b->data, b->count, b->near, b->type, p->comm));
        check_side(b, &l, doing);
    }
}

/* Nonblocking exchanges and messages that are under way while blocking ones
 * run. */
static void run_later(place *p)
{
    const int shape = draw(&of_all, W), n = 1 + draw(&of_all, 4);
    const int words = draw(&of_all, 2) ? 100 : 100000;
    const int left = (me + P - 1) % P, right = (me + 1) % P;
    int *const out = malloc(2 * (size_t)words * sizeof *out), *in = out + words;
    side a[4], b[4];
    layout l[4];
    MPI_Request r[6];
    MPI_Status statuses[6];

    doing = p->near ? "nonblocking, near" : "nonblocking";
    for (int i = 0; i < words; i++)
        out[i] = me + i;
    MUST(MPI_Irecv(in, words, MPI_INT, left, 7, MPI_COMM_WORLD, &r[4]));
    MUST(MPI_Isend(out, words, MPI_INT, right, 7, MPI_COMM_WORLD, &r[5]));
    for (int i = 0; i < 4; i++) {
        r[i] = MPI_REQUEST_NULL;
        choose_buffers(p, &a[i], &b[i]);
        l[i] =
            (layout){MPI_INT, 1, shape == ONE ? 2 : -1, i, (int)step * 64 + i};
        lay_out(&a[i], &l[i], true);
        lay_out(&b[i], &l[i], false);
        if (i < n)
            nonblocking(shape, p->near, &a[i], &b[i], MPI_INT, MPI_INT, p->comm,
                        &r[i]);
    }
    const char *const here = doing;
    run_blocking(p);
    doing = here;
    MUST(MPI_Waitall(6, r, statuses));
    for (int i = 0; i < 4; i++) {
        if (i < n)
            check_side(&b[i], &l[i], doing);
        drop_side(&a[i]);
        drop_side(&b[i]);
    }
    wrong += in[words - 1] != left + words - 1;
    free(out);
}

/* A message that its receiver, who waits for an exchange, has to let in. */
static void run_message(place *p)
{
    const int words = 300000, from = draw(&of_all, P);
    const int to = (from + 1 + draw(&of_all, P)) % P;
    int *const data = calloc((size_t)words, sizeof *data);
    MPI_Request r = MPI_REQUEST_NULL;

    doing = "a message beside";
    if (me == to)
        MUST(MPI_Irecv(data, words, MPI_INT, from, 8, MPI_COMM_WORLD, &r));
    if (me == from && from != to)
        MUST(MPI_Send(data, words, MPI_INT, to, 8, MPI_COMM_WORLD));
    else if (me == from)
        MUST(MPI_Send(&words, 1, MPI_INT, to, 8, MPI_COMM_WORLD));
    run_blocking(p);
    MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
    free(data);
}

static void run_persistent(place *p)
{
#if HAS_PERSISTENT
    side a, b;
    layout l = {MPI_INT, 1, -1, draw(&of_all, 4), 0};
    const int starts = 1 + draw(&of_all, 20);
    MPI_Request r;

    doing = p->near ? "persistent, near" : "persistent";
    choose_buffers(p, &a, &b);
    lay_out(&a, &l, true);
    lay_out(&b, &l, false);
    MUST(p->near ? MPI_Neighbor_alltoallv_init(
                       a.data, a.count, a.displ, MPI_INT, b.data, b.count,
                       b.displ, MPI_INT, p->comm, MPI_INFO_NULL, &r)
                 : MPI_Alltoallv_init(a.data, a.count, a.displ, MPI_INT, b.data,
                                      b.count, b.displ, MPI_INT, p->comm,
                                      MPI_INFO_NULL, &r));
    for (int i = 0; i < starts; i++) {
        l.round = (int)step * 64 + i;
        lay_out(&a, &l, true);
        MUST(MPI_Start(&r));
        if (i % 4 == 0)
            MUST(MPI_Barrier(p->comm));
        if (i % 4 == 1) {
            const char *const here = doing;
            run_blocking(p);
            doing = here;
        }
        MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
        check_side(&b, &l, doing);
    }
    MUST(MPI_Request_free(&r));
    drop_side(&a);
    drop_side(&b);
#else
    run_blocking(p);
#endif
}

static void renew(int i)
{
    doing = "communicators";
    if (draw(&of_all, 8) == 0)
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (i == 0)
        return;
    if (places[i].mine.type != MPI_INT)
        MPI_Type_free(&places[i].mine.type);
    drop_place(&places[i]);
    make_place(i);
}

static void take_step(void)
{
    const int i = draw(&of_all, COMMS);
    place *const p = &places[i];

    switch (draw(&of_all, 12)) {
    case 0:
        renew(i);
        break;
    case 1:
        run_later(p);
        break;
    case 2:
    case 3:
        p->near ? run_blocking(p) : run_in_place(p);
        break;
    case 4:
        run_persistent(p);
        break;
    case 5:
        i == 3 ? run_blocking(p) : run_message(p);
        break;
    case 6:
        p->near ? run_blocking(p) : run_absent(p);
        break;
    default:
        run_blocking(p);
    }
}

int main(int argc, char **argv)
{
    const int seed = argc > 1 ? atoi(argv[1]) : 1;
    const long steps = argc > 2 ? atol(argv[2]) : 200;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    signal(SIGALRM, stuck);
    of_all = (uint64_t)seed;
    of_one = (uint64_t)seed * 1000 + (uint64_t)me + 1;
    for (int i = 0; i < COMMS; i++)
        make_place(i);
    for (step = 0; step < steps; step++) {
        alarm(LIMIT);
        take_step();
    }
    alarm(0);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0)
        printf("%d wrong\n", wrong);
    for (int i = 0; i < COMMS; i++) {
        if (places[i].mine.type != MPI_INT)
            MPI_Type_free(&places[i].mine.type);
        drop_place(&places[i]);
    }
    MPI_Finalize();
    return wrong != 0;
}
