#include "common/sweep.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
#define DIGITS "0123456789"

typedef struct sweep {
    int P;
    sweep_fn take;
    void *context;
    char *error;
    size_t errlen;
    char chosen[128]; /* values chosen so far */
} sweep;

static int choose(sweep *s, size_t used, const char *rest);

static int too_long(const sweep *s)
{
    snprintf(s->error, s->errlen, "parameters are too long");
    return -1;
}

/* Choose value [length] for the key that ends at used, then the others. */
static int choose_value(sweep *s, size_t used, const char *value, int length,
                        const char *rest)
{
    const int more = snprintf(s->chosen + used, sizeof s->chosen - used,
                              "%.*s%s", length, value, *rest ? ":" : "");

    if ((size_t)more >= sizeof s->chosen - used)
        return too_long(s);
    return choose(s, used + (size_t)more, rest);
}

static int choose_number(sweep *s, size_t used, int number, const char *rest)
{
    char text[16];

    return choose_value(s, used, text,
                        snprintf(text, sizeof text, "%d", number), rest);
}

/* A number or P that takes the whole of text [length]; negative if it is
 * neither. */
static int number_of(const sweep *s, const char *text, size_t length)
{
    if (length == 1 && *text == 'P')
        return s->P;
    return length > 0 && length < 10 && strspn(text, DIGITS) >= length
               ? atoi(text)
               : -1;
}

/* One of the items between pluses. */
static int choose_item(sweep *s, size_t used, const char *item, size_t length,
                       const char *rest)
{
    const char *const dots = strstr(item, "..");
    const bool range = dots != NULL && dots < item + length;
    const size_t first_length = range ? (size_t)(dots - item) : length;
    const int first = number_of(s, item, first_length);
    int last, status = 0;

    if (length == 0) {
        snprintf(s->error, s->errlen, "a value is empty");
        return -1;
    }
    if (!range)
        return *item == 'P' && length == 1
                   ? choose_number(s, used, s->P, rest)
                   : choose_value(s, used, item, (int)length, rest);
    last = number_of(s, dots + 2, length - first_length - 2);
    if (first < 0 || last < first) {
        snprintf(s->error, s->errlen, "'%.*s' is not a range of numbers",
                 (int)length, item);
        return -1;
    }
    for (int i = first; i <= last && status == 0; i++)
        status = choose_number(s, used, i, rest);
    return status;
}

/* Every choice of values for the keys in rest. */
static int choose(sweep *s, size_t used, const char *rest)
{
    const size_t key = strcspn(rest, "=") + 1, length = strcspn(rest, ":");
    const char *const after = rest + length + (rest[length] == ':');
    int status = 0;

    if (*rest == '\0') {
        s->chosen[used] = '\0';
        return s->take(s->context, s->chosen);
    }
    if (used + key >= sizeof s->chosen)
        return too_long(s);
    memcpy(s->chosen + used, rest, key);
    if (key + strspn(rest + key, WORD ".+") < length)
        return choose_value(s, used + key, rest + key, (int)(length - key),
                            after);
    for (size_t at = key; at <= length && status == 0;) {
        const size_t item = strcspn(rest + at, "+:");

        status = choose_item(s, used + key, rest + at, item, after);
        at += item + 1;
    }
    return status;
}

int sweep_each(const char *params, int P, sweep_fn take, void *context,
               char *error, size_t errlen)
{
    sweep s = {P, take, context, error, errlen, ""};

    return choose(&s, 0, params);
}
