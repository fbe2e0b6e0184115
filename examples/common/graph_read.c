/* graph_read.c - edge lists and Matrix Market files; see graph.h. */
#define _POSIX_C_SOURCE 200809L
#include "graph.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#define LINE_BYTES 1024

typedef struct {
    gzFile file;
    const char *path;
    char *error;             /* [GRAPH_ERROR_BYTES], the caller's */
    unsigned long long line; /* number of the line in text, from 1 */
    char text[LINE_BYTES];
    u64_vec names; /* source and target in turn */
} reader;

/* What the size line and the banner of a Matrix Market file say. */
typedef struct {
    int symmetric, has_values;
    uint64_t order, n_entries;
} mtx_header;

/* Results of next_line and next_data_line besides -1. */
enum { LINES_END = 0, LINE_READ = 1 };

/* Put "path:line: text" into error, without line 0; always -1. */
static int fail(reader *r, const char *format, ...)
{
    char text[GRAPH_ERROR_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (r->line == 0)
        snprintf(r->error, GRAPH_ERROR_BYTES, "%.300s: %.180s", r->path, text);
    else
        snprintf(r->error, GRAPH_ERROR_BYTES, "%.300s:%llu: %.180s", r->path,
                 r->line, text);
    return -1;
}

/* The rest of a line that did not fit in text: comments may be long. */
static int skip_long_comment(reader *r)
{
    int c;

    if (r->text[0] != '#' && r->text[0] != '%')
        return fail(r, "not a line of text, or longer than %d bytes",
                    LINE_BYTES - 2);
    while ((c = gzgetc(r->file)) != -1 && c != '\n')
        ;
    return LINE_READ;
}

/* Not at the end of the file, but unable to read on? */
static int check_broken(reader *r)
{
    int state = Z_OK;
    const char *text = gzerror(r->file, &state);

    if (state == Z_OK || state == Z_STREAM_END)
        return 0;
    if (state == Z_ERRNO)
        text = strerror(errno);
    else if (state == Z_BUF_ERROR)
        text = "the compressed file is cut short";
    return fail(r, "cannot read on: %s", text);
}

static int next_line(reader *r)
{
    errno = 0;
    if (gzgets(r->file, r->text, LINE_BYTES) == NULL)
        return check_broken(r) != 0 ? -1 : LINES_END;
    r->line++;
    if (strchr(r->text, '\n') != NULL)
        return LINE_READ;
    if (check_broken(r) != 0)
        return -1;
    return gzeof(r->file) ? LINE_READ : skip_long_comment(r);
}

static const char *skip_blanks(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

/* The next line that is neither empty nor a comment; *at is its first word. */
static int next_data_line(reader *r, const char **at)
{
    int found;

    while ((found = next_line(r)) == LINE_READ) {
        *at = skip_blanks(r->text);
        if (**at != '\0' && **at != '#' && **at != '%')
            break;
    }
    return found;
}

/* Read the word at *at as a number in 0 .. 2^64-1 and step behind it; what
 * names it in errors. */
static int parse_number(reader *r, const char **at, const char *what,
                        uint64_t *number)
{
    const char *word = skip_blanks(*at);
    const int length = (int)strcspn(word, " \t\r\n\v\f");
    const int shown = length < 40 ? length : 40;
    uint64_t n = 0;

    if (length == 0)
        return fail(r, "%s is missing", what);
    for (int i = 0; i < length; i++) {
        const unsigned digit = (unsigned)(unsigned char)word[i] - '0';

        if (i == 0 && word[0] == '-' && isdigit((unsigned char)word[1]))
            return fail(r, "%s is negative: %.*s", what, shown, word);
        if (digit > 9)
            return fail(r, "%s is not a number: %.*s", what, shown, word);
        if (n > (UINT64_MAX - digit) / 10)
            return fail(r, "%s is above 2^64-1: %.*s", what, shown, word);
        n = n * 10 + digit;
    }
    *number = n;
    *at = word + length;
    return 0;
}

/* Edges up to the end of the file, the first one in the current line. */
static int read_edge_list(reader *r)
{
    const char *at = skip_blanks(r->text);
    int found = LINE_READ;

    if (*at == '\0' || *at == '#' || *at == '%')
        found = next_data_line(r, &at);
    while (found == LINE_READ) {
        uint64_t source, target;

        if (parse_number(r, &at, "first vertex", &source) != 0 ||
            parse_number(r, &at, "second vertex", &target) != 0)
            return -1;
        u64_vec_push(&r->names, source);
        u64_vec_push(&r->names, target);
        found = next_data_line(r, &at);
    }
    return found;
}

static int parse_mtx_banner(reader *r, mtx_header *h)
{
    char object[32] = "", format[32] = "", field[32] = "", symmetry[32] = "";

    if (sscanf(r->text, "%%%%MatrixMarket %31s %31s %31s %31s", object, format,
               field, symmetry) != 4)
        return fail(r, "Matrix Market banner expected: %%%%MatrixMarket matrix "
                       "coordinate <field> <symmetry>");
    if (strcasecmp(object, "matrix") != 0 ||
        strcasecmp(format, "coordinate") != 0)
        return fail(r,
                    "\"%s %s\" is not supported, only \"matrix "
                    "coordinate\"",
                    object, format);
    h->has_values = strcasecmp(field, "pattern") != 0;
    if (h->has_values && strcasecmp(field, "real") != 0 &&
        strcasecmp(field, "integer") != 0)
        return fail(r,
                    "field \"%s\" is not supported, only pattern, real and "
                    "integer",
                    field);
    h->symmetric = strcasecmp(symmetry, "symmetric") == 0;
    if (!h->symmetric && strcasecmp(symmetry, "general") != 0)
        return fail(r,
                    "symmetry \"%s\" is not supported, only general and "
                    "symmetric",
                    symmetry);
    return 0;
}

static int read_mtx_size(reader *r, mtx_header *h)
{
    const char *at;
    uint64_t columns;
    int found = next_data_line(r, &at);

    if (found == LINES_END)
        return fail(r, "size line is missing");
    if (found < 0 || parse_number(r, &at, "number of rows", &h->order) != 0 ||
        parse_number(r, &at, "number of columns", &columns) != 0 ||
        parse_number(r, &at, "number of entries", &h->n_entries) != 0)
        return -1;
    if (*skip_blanks(at) != '\0')
        return fail(r, "size line has more than three numbers");
    if (h->order != columns)
        return fail(r, "not square: %llu rows, %llu columns",
                    (unsigned long long)h->order, (unsigned long long)columns);
    return 0;
}

static int parse_mtx_entry(reader *r, const mtx_header *h, const char *at)
{
    uint64_t index[2];

    for (int i = 0; i < 2; i++) {
        const char *what = i == 0 ? "row" : "column";

        if (parse_number(r, &at, what, &index[i]) != 0)
            return -1;
        if (index[i] < 1 || index[i] > h->order)
            return fail(r, "%s %llu is not in 1..%llu", what,
                        (unsigned long long)index[i],
                        (unsigned long long)h->order);
    }
    if (h->has_values) {
        char *end;

        at = skip_blanks(at);
        (void)strtod(at, &end);
        if (end == at)
            return fail(r, "value is %s",
                        *at == '\0' ? "missing" : "not a number");
        at = end;
    }
    if (*skip_blanks(at) != '\0')
        return fail(r, "more than an entry on the line");
    u64_vec_push(&r->names, index[0]);
    u64_vec_push(&r->names, index[1]);
    if (h->symmetric && index[0] != index[1]) {
        u64_vec_push(&r->names, index[1]);
        u64_vec_push(&r->names, index[0]);
    }
    return 0;
}

static int read_mtx(reader *r)
{
    mtx_header h = {0};
    uint64_t n = 0;
    const char *at;
    int found;

    if (parse_mtx_banner(r, &h) != 0 || read_mtx_size(r, &h) != 0)
        return -1;
    while ((found = next_data_line(r, &at)) == LINE_READ) {
        if (++n > h.n_entries)
            return fail(r, "more than the %llu entries announced",
                        (unsigned long long)h.n_entries);
        if (parse_mtx_entry(r, &h, at) != 0)
            return -1;
    }
    if (found == LINES_END && n < h.n_entries)
        return fail(r, "file ends after %llu of the %llu entries announced",
                    (unsigned long long)n, (unsigned long long)h.n_entries);
    return found;
}

static int ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static int read_file(reader *r)
{
    const int found = next_line(r);

    if (found < 0)
        return -1;
    if (found == LINES_END)
        return fail(r, "the file is empty");
    if (strncmp(r->text, "%%MatrixMarket", 14) == 0 ||
        ends_in(r->path, ".mtx") || ends_in(r->path, ".mtx.gz"))
        return read_mtx(r);
    return read_edge_list(r);
}

int graph_read(const char *path, graph *g, char error[GRAPH_ERROR_BYTES])
{
    reader r = {.path = path, .error = error};
    int err;

    *g = (graph){0};
    errno = 0;
    r.file = gzopen(path, "rb");
    if (r.file == NULL) {
        snprintf(error, GRAPH_ERROR_BYTES, "%.300s: %s", path,
                 errno != 0 ? strerror(errno) : "cannot open");
        return -1;
    }
    (void)gzbuffer(r.file, 1U << 17);
    err = read_file(&r);
    if (err == 0 && r.names.n == 0)
        err = fail(&r, "the file has no edges");
    if (err == 0 && graph_from_names(&r.names, path, g, error) != 0)
        err = -1;
    (void)gzclose(r.file);
    u64_vec_free(&r.names);
    return err;
}
