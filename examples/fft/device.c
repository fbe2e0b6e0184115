/* device.c - see device.h. */
#include "device.h"

#include <string.h>

const device *device_open(const char *kind, int rank, const char **why)
{
    if (strcmp(kind, "cuda") != 0) {
        *why = "the only kind is cuda";
        return NULL;
    }
#ifdef HAVE_CUFFT
    return device_cuda(rank, why);
#else
    (void)rank;
    *why = "this program was built without cuFFT";
    return NULL;
#endif
}
