/* pattern.c - see pattern.h. */
#include "pattern.h"

const char *const pattern_name[N_PATTERNS] = {
    "uniform",    "random",     "window",        "normal",    "power_law",
    "sparse",     "one_byte",   "all_zero",      "self_only", "one_to_all",
    "all_to_one", "empty_rows", "empty_columns", "band",      "huge_single",
};

uint64_t test_hash(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Sum of four uniform draws: bell enough. */
static size_t bell(uint64_t draw, size_t largest)
{
    size_t sum = 0;

    for (int i = 0; i < 4; i++)
        sum += (size_t)(draw >> (16 * i) & 0xffff) * largest / 0xffff;
    return sum / 4;
}

/* Halves with every heads in a row. */
static size_t power_law(uint64_t draw, size_t largest)
{
    size_t n = largest;

    for (; draw & 1; draw >>= 1)
        n /= 2;
    return n;
}

size_t pattern_bytes(pattern p, uint64_t seed, int P, size_t largest, int src,
                     int dst)
{
    const uint64_t draw = test_hash(
        test_hash(seed) + (uint64_t)src * (uint64_t)P + (uint64_t)dst);
    const int middle = P / 2, away = (dst - src + P) % P;
    const size_t any = (size_t)(draw % (largest + 1));

    switch (p) {
    case UNIFORM:
        return largest;
    case RANDOM:
        return any;
    case WINDOW:
        return largest - any / 2;
    case NORMAL:
        return bell(draw, largest);
    case POWER_LAW:
        return power_law(draw, largest);
    case SPARSE:
        return draw % 10 == 0 ? 1 + any : 0;
    case ONE_BYTE:
        return 1;
    case SELF_ONLY:
        return src == dst ? largest : 0;
    case ONE_TO_ALL:
        return src == middle ? any : 0;
    case ALL_TO_ONE:
        return dst == middle ? any : 0;
    case EMPTY_ROWS:
        return src % 2 ? 0 : any;
    case EMPTY_COLUMNS:
        return dst % 2 ? 0 : any;
    case BAND:
        return away <= 1 || away == P - 1 ? any : 0;
    case HUGE_SINGLE:
        return src == 0 && dst == P - 1 ? 64 * largest : 0;
    case ALL_ZERO:
    case N_PATTERNS:
        break;
    }
    return 0;
}
