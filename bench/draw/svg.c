/* svg.c - one panel a step: on the left what each rank sends, on the
 * right what each receives, a line a message, and an arrow from the one to the
 * other. A block is a chip with its label and the place where it lies. */
#include "draw/forms.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    CHIP_W = 42,
    CHIP_H = 30,
    ROW = 36,     /* from one line of chips to the next */
    RANK_GAP = 8, /* beside that between ranks */
    RANK_W = 64,  /* room for a rank's name */
    ARROWS_W = 190,
    MARGIN = 16,
    MIN_W = 480, /* for the title */
    TITLE_H = 54,
    PANEL_HEAD = 30,
    PANEL_GAP = 14,
};

/* Where the lines of a panel are. */
typedef struct panel {
    int step;
    int left, right; /* edges of the room for arrows */
    int width;
    double top[ROTA_N_DIRS]; /* next line's */
    double *y[ROTA_N_DIRS];  /* [n_messages] middle of a message's line */
} panel;

static const char *const colour[ROTA_N_REGIONS] = {"#cfe2f7", "#cdebc8",
                                                   "#fbdcae"};

static uint32_t n_items(const drawing *d, const message *k)
{
    const rota_msg *const m = &d->sched[k->src].msgs[ROTA_SEND].msg[k->sent];

    return m[1].first - m[0].first;
}

/* Does the message belong to rank's lines on the side of dir? */
static bool on_side(const message *k, rota_dir dir, int rank)
{
    return (dir == ROTA_SEND ? k->src : k->dst) == rank;
}

static void draw_chip(double x, double y, int label, int P, rota_region region,
                      const char *place)
{
    printf("<rect x=\"%.0f\" y=\"%.0f\" width=\"%d\" height=\"%d\" rx=\"4\" "
           "fill=\"%s\" stroke=\"#777\"/>\n",
           x, y - CHIP_H / 2.0, CHIP_W - 4, CHIP_H, colour[region]);
    printf("<text x=\"%.0f\" y=\"%.0f\" class=\"l\">%d&#8594;%d</text>\n",
           x + CHIP_W / 2.0 - 2, y - 2, label / P, label % P);
    printf("<text x=\"%.0f\" y=\"%.0f\" class=\"p\">%s</text>\n",
           x + CHIP_W / 2.0 - 2, y + 11, place);
}

static void draw_chips(const drawing *d, const message *k, rota_dir dir,
                       const panel *p, double y)
{
    const int rank = dir == ROTA_SEND ? k->src : k->dst;
    const rota_sched *const s = &d->sched[rank];
    const rota_msgs *const l = &s->msgs[dir];
    const uint32_t first =
        l->msg[dir == ROTA_SEND ? k->sent : k->received].first;
    const uint32_t n = n_items(d, k);
    const double x =
        dir == ROTA_SEND ? p->left - (double)n * CHIP_W : p->right + 4.0;

    for (uint32_t i = 0; i < n; i++) {
        const rota_block b = l->item[first + i];
        char place[16];
        draw_chip(x + i * CHIP_W, y, d->label[rank][b], d->P,
                  rota_block_region(s, b), draw_place(s, b, place));
    }
}

static void draw_arrow(double x1, double y1, double x2, double y2)
{
    const double bend = (x2 - x1) * 0.45;

    printf("<path d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\" fill=\"none\" "
           "stroke=\"#555\" marker-end=\"url(#a)\"/>\n",
           x1, y1, x1 + bend, y1, x2 - bend, y2, x2, y2);
}

/* The lines of one rank on one side, and its name beside them. */
static void draw_rank(const drawing *d, rota_dir dir, int rank, panel *p)
{
    const double top = p->top[dir];
    const int x = dir == ROTA_SEND ? MARGIN : p->width - MARGIN - RANK_W;
    double bottom = top;

    for (size_t i = 0; i < d->n_messages; i++) {
        const message *const k = &d->message[i];
        if (!draw_message(d, k, p->step) || !on_side(k, dir, rank))
            continue;
        p->y[dir][i] = bottom + ROW / 2.0;
        draw_chips(d, k, dir, p, p->y[dir][i]);
        bottom += ROW;
    }
    if (bottom == top)
        return;
    printf("<text x=\"%d\" y=\"%.0f\" class=\"r\">rank %d</text>\n",
           x + RANK_W / 2, (top + bottom) / 2 + 4, rank);
    p->top[dir] = bottom + RANK_GAP;
}

/* Are blocks copied in the step, in phases with messages or without? */
static bool has_copies(const drawing *d, int step, bool waits)
{
    for (int q = 0; q < d->P; q++)
        for (uint32_t i = 0; i < d->sched[q].n_phases; i++)
            for (uint32_t c = d->sched[q].phase[i].copy;
                 c < d->sched[q].phase[i + 1].copy; c++)
                if (draw_wanted(d, q) && draw_copy(d, q, i, c, step, waits))
                    return true;
    return false;
}

static void draw_panel_head(const drawing *d, const panel *p, double y)
{
    const char *const before =
        has_copies(d, p->step, false) ? "; first, copies within ranks" : "";
    const char *const native =
        draw_native(d, p->step) ? "; the MPI library's all-to-all" : "";
    const char *const beside =
        has_copies(d, p->step, true) ? "; beside it, copies within ranks" : "";

    printf("<text x=\"%d\" y=\"%.0f\" class=\"h\">", MARGIN, y);
    if (p->step <= d->n_steps)
        printf("step %d%s%s%s", p->step, before, native, beside);
    else
        printf("at the end, copies within ranks");
    puts("</text>");
}

/* Returns the panel's lower edge. */
static double draw_panel(const drawing *d, panel *p, double y)
{
    draw_panel_head(d, p, y + 18);
    p->top[ROTA_SEND] = p->top[ROTA_RECV] = y + PANEL_HEAD;
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (int q = 0; q < d->P; q++)
            draw_rank(d, (rota_dir)dir, q, p);
    for (size_t i = 0; i < d->n_messages; i++)
        if (draw_message(d, &d->message[i], p->step))
            draw_arrow(p->left + 2, p->y[ROTA_SEND][i], p->right - 6,
                       p->y[ROTA_RECV][i]);
    return p->top[p->top[ROTA_RECV] > p->top[ROTA_SEND] ? ROTA_RECV
                                                        : ROTA_SEND] +
           PANEL_GAP;
}

static int panel_height(const drawing *d, int step)
{
    int height[ROTA_N_DIRS] = {0};

    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (int q = 0; q < d->P; q++) {
            int lines = 0;
            for (size_t i = 0; i < d->n_messages; i++)
                lines += draw_message(d, &d->message[i], step) &&
                         on_side(&d->message[i], (rota_dir)dir, q);
            height[dir] += lines ? lines * ROW + RANK_GAP : 0;
        }
    return PANEL_HEAD + PANEL_GAP +
           (height[0] > height[1] ? height[0] : height[1]);
}

static void draw_head(const char *title, int width, int height)
{
    static const char *const name[] = {"send buffer (S)", "receive buffer (R)",
                                       "slot of scratch (t)"};
    int x = MARGIN;

    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
           "height=\"%d\" viewBox=\"0 0 %d %d\" "
           "font-family=\"sans-serif\">\n",
           width, height, width, height);
    puts("<style>text{fill:#222;text-anchor:middle}.l{font-size:12px}"
         ".p{font-size:9px}.r{font-size:13px}.t,.h,.k{text-anchor:start}"
         ".t{font-size:15px}.h{font-size:13px;font-weight:bold}"
         ".k{font-size:11px}</style>\n"
         "<defs><marker id=\"a\" markerWidth=\"8\" markerHeight=\"8\" "
         "refX=\"7\" refY=\"4\" orient=\"auto\">"
         "<path d=\"M0 0L8 4L0 8z\" fill=\"#555\"/></marker></defs>\n"
         "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>");
    printf("<text x=\"%d\" y=\"24\" class=\"t\">%s</text>\n", MARGIN, title);
    for (int region = 0; region < ROTA_N_REGIONS; region++, x += 134) {
        printf("<rect x=\"%d\" y=\"36\" width=\"12\" height=\"12\" "
               "fill=\"%s\" stroke=\"#777\"/>\n",
               x, colour[region]);
        printf("<text x=\"%d\" y=\"46\" class=\"k\">%s</text>\n", x + 17,
               name[region]);
    }
}

void draw_svg(const drawing *d)
{
    uint32_t widest = 1;
    int height = TITLE_H + MARGIN;
    double y = TITLE_H;
    char title[160];

    for (size_t i = 0; i < d->n_messages; i++) {
        const uint32_t n = n_items(d, &d->message[i]);
        widest = draw_wanted(d, d->message[i].src) && n > widest ? n : widest;
    }
    const int side = MARGIN + RANK_W + (int)widest * CHIP_W;
    const int wanted = 2 * side + ARROWS_W;
    panel p = {.left = side, .width = wanted > MIN_W ? wanted : MIN_W};
    p.right = p.width - side - 4;
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        p.y[dir] = inside_must(calloc(d->n_messages + 1, sizeof *p.y[dir]));
    for (int step = 1; step <= d->end; step++)
        height += panel_height(d, step);
    draw_title(d, title, sizeof title);
    draw_head(title, p.width, height);
    for (p.step = 1; p.step <= d->end; p.step++)
        y = draw_panel(d, &p, y);
    puts("</svg>");
    free(p.y[ROTA_RECV]);
    free(p.y[ROTA_SEND]);
}
