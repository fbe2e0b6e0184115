/* device.c - see device.h. */
#include "device/device.h"

/* The first kind in use counts. */
static const rota_device *(*const in_use[])(void) = {
#ifdef ROTA_HAVE_CUDA
    rota_cuda_in_use,
#endif
#ifdef ROTA_HAVE_HIP
    rota_hip_in_use,
#endif
    NULL,
};

const rota_device *rota_device_in_use(void)
{
    const rota_device *found = NULL;

    for (int i = 0; in_use[i] && !found; i++)
        found = in_use[i]();
    return found;
}

const char *rota_device_why_none(void)
{
#if defined ROTA_HAVE_CUDA && defined ROTA_HAVE_HIP
    return "this process has loaded neither CUDA nor HIP";
#elif defined ROTA_HAVE_CUDA
    return "this process has not loaded CUDA";
#elif defined ROTA_HAVE_HIP
    return "this process has not loaded HIP";
#else
    return "Rota was built without CUDA and HIP";
#endif
}
