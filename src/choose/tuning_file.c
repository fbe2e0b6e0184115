/* tuning_file.c - tuning in files. Only rank 0 reads or writes files. The
 * others get the text from it, and every rank parses that.
 */
#define _GNU_SOURCE /* for secure_getenv */
#include "choose/learnt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Most bytes of a file. Thousands of rows have fewer. Parsing takes about ten
 * times as much memory, on every rank. */
enum { MOST_BYTES = 4 << 20 };

#define SYSTEM_PATH ROTA_SYSCONFDIR "/rota/tuning.json"

/* What rank 0 has found. Owns its texts; zero: nothing. */
typedef struct found {
    char *text, *path;
    char note[ROTA_ERR_TEXT];
} found;

/* ---- paths --------------------------------------------------------------- */

static char *join(const char *a, const char *b)
{
    const size_t size = strlen(a) + strlen(b) + 1;
    char *const text = malloc(size);

    if (text)
        snprintf(text, size, "%s%s", a, b);
    return text;
}

/* The path of the user's file, which need not exist; *path is NULL if the
 * environment has none. A program with more rights than its caller ignores the
 * environment. */
static int user_path(char **path)
{
    const char *const config = secure_getenv("XDG_CONFIG_HOME");
    const char *const home = secure_getenv("HOME");

    *path = NULL;
    if (config && config[0] == '/') /* as the XDG specification demands */
        *path = join(config, "/rota/tuning.json");
    else if (home && home[0])
        *path = join(home, "/.config/rota/tuning.json");
    else
        return MPI_SUCCESS;
    return *path ? MPI_SUCCESS : rota_fail_mem("the name of a tuning file");
}

/* ---- reading ------------------------------------------------------------- */

static int cannot(const char *what, const char *path, const char *why)
{
    return rota_fail(MPI_ERR_ARG, "cannot %s tuning file %.250s: %s", what,
                     path, why);
}

static int read_stream(FILE *file, const char *path, size_t bytes, char **text)
{
    char *const room = malloc(bytes + 1);

    if (!room)
        return rota_fail_mem("a tuning file");
    const size_t got = fread(room, 1, bytes, file);
    room[got] = '\0';
    if (ferror(file) || got < bytes || strlen(room) < got) {
        const int err = cannot("read", path,
                               ferror(file)  ? strerror(errno)
                               : got < bytes ? "it became shorter meanwhile"
                                             : "it is not text");
        free(room);
        return err;
    }
    *text = room;
    return MPI_SUCCESS;
}

/* Only regular files: reading a directory or a pipe may never end. */
static int read_file(const char *path, char **text)
{
    struct stat about;

    if (stat(path, &about) != 0)
        return cannot("read", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return cannot("read", path, "it is not a regular file");
    if (about.st_size > MOST_BYTES)
        return cannot("read", path, "it has more than 4 MiB");
    FILE *const file = fopen(path, "r");
    if (!file)
        return cannot("read", path, strerror(errno));
    const int err = read_stream(file, path, (size_t)about.st_size, text);
    fclose(file);
    return err;
}

/* Check that the text is a tuning. */
static int check_text(const char *path, const char *text)
{
    rota_tuning t;
    char why[ROTA_ERR_TEXT];
    const int err = rota_tuning_parse(text, &t);

    rota_tuning_free(&t);
    if (err != MPI_ERR_ARG)
        return err;
    snprintf(why, sizeof why, "%s", rota_fail_text());
    return rota_fail(MPI_ERR_ARG, "tuning file %.250s: %.*s", path,
                     ROTA_ERR_TEXT - 20, why);
}

static int read_asked(const char *path, found *f)
{
    f->path = join(path, "");
    if (!f->path)
        return rota_fail_mem("the name of a tuning file");
    ROTA_TRY(read_file(path, &f->text));
    return check_text(path, f->text);
}

/* Try a default file. One that does not exist is skipped, a bad one gets a
 * note. */
static int try_default(const char *path, found *f)
{
    if (f->text || access(path, F_OK) != 0)
        return MPI_SUCCESS;
    const int err = read_asked(path, f);
    if (err == MPI_SUCCESS)
        return MPI_SUCCESS;
    free(f->text);
    free(f->path);
    f->text = f->path = NULL;
    if (err != MPI_ERR_ARG)
        return err;
    snprintf(f->note, sizeof f->note, "%s", rota_fail_text());
    rota_fail_clear();
    return MPI_SUCCESS;
}

static int read_defaults(found *f)
{
    char *user;

    ROTA_TRY(user_path(&user));
    const int err = user ? try_default(user, f) : MPI_SUCCESS;
    free(user);
    ROTA_TRY(err);
    return try_default(SYSTEM_PATH, f);
}

static const char *given_path(void)
{
    const char *const path = secure_getenv("ROTA_TUNING_FILE");

    return path && *path ? path : NULL;
}

bool rota_tuning_is_there(void)
{
    char *user;

    if (given_path() || access(SYSTEM_PATH, F_OK) == 0)
        return true;
    if (user_path(&user) != MPI_SUCCESS) {
        rota_fail_clear();
        return true; /* who reads it will tell */
    }
    const bool there = user && access(user, F_OK) == 0;
    free(user);
    return there;
}

/* Find the file. On rank 0. */
static int find(const char *path, found *f)
{
    if (!path)
        path = given_path();
    return path ? read_asked(path, f) : read_defaults(f);
}

/* ---- to all ranks -------------------------------------------------------- */

static int spread_text(const rota_ranks *r, size_t size, char **text)
{
    int err = MPI_SUCCESS;

    if (size == 0)
        return MPI_SUCCESS;
    if (r->me > 0) {
        *text = malloc(size);
        err = *text ? MPI_SUCCESS : rota_fail_mem("a tuning file");
    }
    ROTA_TRY(r->agree(r->arg, err));
    return r->spread(r->arg, *text, size);
}

/* Send what rank 0 has found to all ranks. Collective; the ranks agree on every
 * failure. */
static int spread_found(const rota_ranks *r, found *f, int status)
{
    struct {
        uint64_t failed, path, text; /* bytes */
        char note[sizeof f->note];
    } head = {.failed = status != MPI_SUCCESS,
              .path = f->path ? strlen(f->path) + 1 : 0,
              .text = f->text ? strlen(f->text) + 1 : 0};

    memcpy(head.note, f->note, sizeof head.note);
    ROTA_TRY(r->spread(r->arg, &head, sizeof head));
    if (head.failed)
        return r->agree(r->arg, status);
    memcpy(f->note, head.note, sizeof head.note);
    ROTA_TRY(spread_text(r, head.path, &f->path));
    return spread_text(r, head.text, &f->text);
}

/* Replace the tuning on all ranks, or on none. Collective. */
static int take(rota_learnt *l, const rota_ranks *r, found *f, int status)
{
    rota_tuning t = {0};
    int err = spread_found(r, f, status);

    if (err == MPI_SUCCESS && f->text)
        err = r->agree(r->arg, rota_tuning_parse(f->text, &t));
    if (err == MPI_SUCCESS) {
        rota_learnt_forget(l);
        l->tuning = t;
        l->path = f->path;
        snprintf(l->note, sizeof l->note, "%s", f->note);
        f->path = NULL;
    } else {
        rota_tuning_free(&t);
    }
    free(f->text);
    free(f->path);
    return err;
}

int rota_tuning_read(rota_learnt *l, const rota_ranks *r, const char *path)
{
    found f = {0};

    return take(l, r, &f, r->me == 0 ? find(path, &f) : MPI_SUCCESS);
}

static int copy_given(const char *text, found *f)
{
    if (!text)
        return rota_fail(MPI_ERR_ARG, "text is NULL");
    if (strnlen(text, MOST_BYTES + 1) > MOST_BYTES)
        return rota_fail(MPI_ERR_ARG, "text has more than 4 MiB");
    f->text = join(text, "");
    return f->text ? MPI_SUCCESS : rota_fail_mem("tuning");
}

int rota_tuning_take(rota_learnt *l, const rota_ranks *r, const char *text)
{
    found f = {0};

    return take(l, r, &f, r->me == 0 ? copy_given(text, &f) : MPI_SUCCESS);
}

int rota_tuning_load(rota_learnt *l, const rota_ranks *r, const char *path)
{
    if (path ? l->path && strcmp(path, l->path) == 0 : l->tried)
        return MPI_SUCCESS;
    return rota_tuning_read(l, r, path);
}

void rota_learnt_forget(rota_learnt *l)
{
    rota_tuning_free(&l->tuning);
    free(l->path);
    l->path = NULL;
    l->note[0] = '\0';
    l->tried = true;
    l->n_before = 0;
}

/* ---- writing ------------------------------------------------------------- */

/* Make the folders of path. */
static int make_folders(char *path)
{
    for (char *c = strchr(path + 1, '/'); c; c = strchr(c + 1, '/')) {
        *c = '\0';
        const bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        const int err = made ? MPI_SUCCESS
                             : cannot("make folder of", path, strerror(errno));
        *c = '/';
        ROTA_TRY(err);
    }
    return MPI_SUCCESS;
}

/* Create a new file beside path. If its name is taken, whatever has it is left
 * alone, and the next name is tried. */
static int open_draft(const char *path, char **draft, FILE **file)
{
    enum { NAMES = 100 };
    char suffix[40];
    int fd = -1;

    *draft = NULL;
    for (int i = 0; i < NAMES && fd < 0; i++) {
        free(*draft);
        snprintf(suffix, sizeof suffix, ".%ld.%d", (long)getpid(), i);
        *draft = join(path, suffix);
        if (!*draft)
            return rota_fail_mem("the name of a tuning file");
        fd = open(*draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                  0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (*file)
        return MPI_SUCCESS;
    const int err = cannot("write", path, strerror(errno));
    if (fd >= 0) {
        close(fd);
        unlink(*draft);
    }
    free(*draft);
    return err;
}

static int write_text(FILE *file, const char *path, const char *text)
{
    const bool written = fputs(text, file) >= 0 && fputc('\n', file) >= 0 &&
                         fflush(file) == 0 && fsync(fileno(file)) == 0;
    const int why = errno;

    if (fclose(file) == 0 && written)
        return MPI_SUCCESS;
    return cannot("write", path, strerror(written ? errno : why));
}

/* Replace the file at once: readers see the old or the new one. */
static int replace_file(const char *path, const char *text)
{
    char *draft;
    FILE *file;

    ROTA_TRY(open_draft(path, &draft, &file));
    int err = write_text(file, path, text);
    if (err == MPI_SUCCESS && rename(draft, path) != 0)
        err = cannot("write", path, strerror(errno));
    if (err != MPI_SUCCESS)
        unlink(draft);
    free(draft);
    return err;
}

static int write_user_file(const char *text)
{
    char *path;

    ROTA_TRY(user_path(&path));
    if (!path)
        return rota_fail(
            MPI_ERR_ARG,
            "no path, and neither XDG_CONFIG_HOME nor HOME is set");
    int err = make_folders(path);
    if (err == MPI_SUCCESS)
        err = replace_file(path, text);
    free(path);
    return err;
}

static int write_tuning(const rota_tuning *t, const char *path)
{
    char *const text = rota_tuning_print(t);

    if (!text)
        return rota_fail_mem("tuning");
    const int err = path ? replace_file(path, text) : write_user_file(text);
    free(text);
    return err;
}

int rota_tuning_write(rota_learnt *l, const rota_ranks *r, const char *path)
{
    return r->agree(r->arg,
                    r->me == 0 ? write_tuning(&l->tuning, path) : MPI_SUCCESS);
}
