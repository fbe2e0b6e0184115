/* test_cuda.c - does the driver have all functions that device/cuda.c asks for, or
 * HIP's runtime those of device/hip.c? By the toolkit's stand-in for the driver's
 * library, which has the same names, or by the runtime's library.
 *
 * usage: test_cuda LIBRARY
 */
#include "device/device.h"

#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const rota_device *const before = rota_device_in_use();

    if (before) {
        puts("a device is in use that nobody has asked for");
        return 1;
    }
    if (argc < 2 || !dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)) {
        printf("skipped: %s\n", argc < 2 ? "there is no library" : dlerror());
        return 77;
    }
    if (!rota_device_in_use()) {
        puts("the driver is loaded, but a function of it is not found");
        return 1;
    }
    return 0;
}
