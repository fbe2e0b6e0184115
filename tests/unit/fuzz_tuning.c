/* fuzz_tuning.c [SEED [CASES]] - mutated tuning texts.
 *
 * Each is refused with MPI_ERR_ARG and a text, or is read, printed, read again
 * and printed the same. Case i of a seed is the same on every machine, and is
 * case 0 of seed + i.
 */
#include "choose/hints.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4096, MOST_CHANGES = 3 };

static const char seed_text[] =
    "{\"rota_tuning\": 1, \"machine\": {\"ns\": {\"net_per_byte\": 0.125,\n"
    "\"start\": 80}, \"copied_once_from\": 2048, \"from\": {\"machine\": "
    "\"m\", \"date\": \"d\",\n"
    "\"command\": \"c\"}}, \"rows\": [{\"kind\": \"varying\",\n"
    "\"ranks\": [8, 16], \"nodes\": [1, 2], \"node_size\": [4, 8],\n"
    "\"cores\": [2, 3], \"largest\": [513, \"unbounded\"],\n"
    "\"mean\": [1.5, 2.25], \"density\": [0.1, 1], \"imbalance\": [1, 3.7],\n"
    "\"algorithm\": \"mpml\", \"leaders\": 2,\n"
    "\"metadata\": \"two_phase\",\n"
    "\"intranode\": \"shm\", \"us\": 12.3, \"from\": {\"command\": \"x\"}},\n"
    "{\"kind\": \"fixed\", \"algorithm\": \"scattered\", \"batch\": 7,\n"
    "\"metadata\": \"once\"},\n"
    "{\"kind\": \"fixed\", \"algorithm\": \"parlogna\", \"radix\": 3,\n"
    "\"metadata\": \"once\", \"packing\": \"datatype\"}]}";

static const char *const words[] = {
    "\"",         "{",       "}",        "[",         "]",
    ",",          ":",       "null",     "true",      "1e999",
    "-1",         "NaN",     "0",        "1e-320",    "18446744073709551616",
    "\"radix\":", "\"us\":", "\"from\"", "\"fixed\"", "\"unbounded\"",
    "\"linear\"", "\\u0000", "\\ud800",  "\xff",      "[[[[[[[[",
    "1048577",    "0.5",     "\"rows\"", "\"ns\":",   "{\"kind\": 3}",
};
enum { N_WORDS = sizeof words / sizeof words[0] };

static uint64_t state;

/* [Steele, Lea, Flood 2014] */
static uint64_t draw(uint64_t limit)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % limit;
}

static void insert(char *text, size_t at, const char *what, size_t n)
{
    const size_t rest = strlen(text + at) + 1;

    if (at + n + rest > ROOM)
        return;
    memmove(text + at + n, text + at, rest);
    memcpy(text + at, what, n);
}

static void change(char *text)
{
    const size_t n = strlen(text), at = draw(n + 1);
    const size_t part = draw(n - at + 1) % 60;
    const char *const word = words[draw(N_WORDS)];
    char copy[60];

    switch (draw(8)) {
    case 6:
    case 7: /* a digit */
        for (size_t i = at; i < n; i++)
            if (text[i] >= '0' && text[i] <= '9') {
                text[i] = (char)('0' + draw(10));
                break;
            }
        break;
    case 0: /* a byte */
        if (at < n)
            text[at] = (char)(1 + draw(255));
        break;
    case 1: /* a part is lost */
        memmove(text + at, text + at + part, n - at - part + 1);
        break;
    case 2: /* comes once more, somewhere */
        memcpy(copy, text + at, part);
        insert(text, draw(n + 1), copy, part);
        break;
    case 3: /* the end is lost */
        if (draw(8) == 0)
            text[at] = '\0';
        break;
    default: /* a word takes the place of a part, or of none */
        if (draw(2))
            memmove(text + at, text + at + part, n - at - part + 1);
        insert(text, at, word, strlen(word));
    }
}

static void fail(uint64_t seed, const char *text, const char *what)
{
    printf("seed %llu: %s of\n%s\n", (unsigned long long)seed, what, text);
    exit(1);
}

/* Whether the text is good. */
static bool try(uint64_t seed, const char *text)
{
    rota_tuning t;

    rota_fail_clear();
    const int err = rota_tuning_parse(text, &t);
    char *const printed = err == MPI_SUCCESS ? rota_tuning_print(&t) : NULL;
    rota_tuning_free(&t);
    if (err != MPI_SUCCESS) {
        if (err != MPI_ERR_ARG || !rota_fail_text() || !*rota_fail_text())
            fail(seed, text, "no proper error");
        return false;
    }
    if (!printed || rota_tuning_parse(printed, &t) != MPI_SUCCESS)
        fail(seed, text, "no print that can be read again");
    char *const again = rota_tuning_print(&t);
    rota_tuning_free(&t);
    if (!again || strcmp(printed, again) != 0)
        fail(seed, text, "another print after reading it");
    free(printed);
    free(again);
    return true;
}

int main(int argc, char *argv[])
{
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    const uint64_t cases = argc > 2 ? strtoull(argv[2], NULL, 0) : 20000;
    uint64_t good = 0;

    for (uint64_t i = 0; i < cases; i++) {
        char text[ROOM];
        state = (seed + i) * 0x2545f4914f6cdd1du;
        snprintf(text, sizeof text, "%s", seed_text);
        for (uint64_t n = 1 + draw(MOST_CHANGES); n > 0; n--)
            change(text);
        good += try(seed + i, text);
    }
    printf("seeds %llu to %llu: %llu good, %llu refused\n",
           (unsigned long long)seed, (unsigned long long)(seed + cases - 1),
           (unsigned long long)good, (unsigned long long)(cases - good));
    return cases >= 1000 && (good == 0 || good == cases);
}
