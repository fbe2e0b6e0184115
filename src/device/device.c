/* device.c - see device.h. */
#include "device/device.h"

const rota_device *rota_device_in_use(void)
{
#ifdef ROTA_HAVE_CUDA
    return rota_cuda_in_use();
#else
    return NULL;
#endif
}

const char *rota_device_why_none(void)
{
#ifdef ROTA_HAVE_CUDA
    return "this process has not loaded CUDA";
#else
    return "Rota was built without CUDA";
#endif
}
