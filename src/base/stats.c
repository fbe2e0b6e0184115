/* stats.c - see stats.h. */
#include "base/stats.h"

const char *rota_kind_name(rota_kind kind)
{
    static const char *const name[] = {"fixed", "varying", "exchange",
                                       "sparse exchange"};

    return name[kind];
}
