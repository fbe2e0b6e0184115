/* hip.c - AMD's HIP as a rota_device.
 *
 * The runtime's library is not linked (driver.h). It must have the major
 * version that this file is compiled with, because structs differ between
 * versions. Streams and events belong to the device that was the thread's when
 * they were made.
 */
#include "base/alike.h"
#include "device/device.h"
#include "device/driver.h"

#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>
#include <stdint.h>

/* ---- the library --------------------------------------------------------- */

/* F(name here, function) */
#define FUNCTIONS(F)                                                           \
    F(address_range, hipMemGetAddressRange)                                    \
    F(copy, hipMemcpyAsync)                                                    \
    F(copy_rows, hipMemcpy2DAsync)                                             \
    F(device_bus, hipDeviceGetPCIBusId)                                        \
    F(device_get, hipGetDevice)                                                \
    F(device_set, hipSetDevice)                                                \
    F(error_name, hipGetErrorName)                                             \
    F(event_create, hipEventCreateWithFlags)                                   \
    F(event_destroy, hipEventDestroy)                                          \
    F(event_query, hipEventQuery)                                              \
    F(event_record, hipEventRecord)                                            \
    F(host_register, hipHostRegister)                                          \
    F(host_unregister, hipHostUnregister)                                      \
    F(ipc_close_memory, hipIpcCloseMemHandle)                                  \
    F(ipc_event_handle, hipIpcGetEventHandle)                                  \
    F(ipc_memory_handle, hipIpcGetMemHandle)                                   \
    F(ipc_open_event, hipIpcOpenEventHandle)                                   \
    F(ipc_open_memory, hipIpcOpenMemHandle)                                    \
    F(pointer_attributes, hipPointerGetAttributes)                             \
    F(stream_create, hipStreamCreateWithFlags)                                 \
    F(stream_destroy, hipStreamDestroy)                                        \
    F(stream_synchronize, hipStreamSynchronize)                                \
    F(stream_wait, hipStreamWaitEvent)

#define MEMBER(name, function) __typeof__(function) *name;

static struct {
    FUNCTIONS(MEMBER)
} gpu;

#define ENTRY(name, function) {#function, &gpu.name},

static const rota_driver_entry entries[] = {FUNCTIONS(ENTRY)};

typedef hipError_t gpu_result;
typedef hipStream_t gpu_stream;
typedef hipEvent_t gpu_event;
typedef void *gpu_address;
typedef hipIpcMemHandle_t gpu_memory_handle;
typedef hipIpcEventHandle_t gpu_event_handle;
typedef int gpu_home;

static const hipError_t gpu_ok = hipSuccess, gpu_not_ready = hipErrorNotReady;

enum {
    stream_flags = hipStreamNonBlocking,
    event_flags = hipEventDisableTiming,
    shared_flags = hipEventInterprocess,
    host_flags = hipHostRegisterPortable,
    open_flags = hipIpcMemLazyEnablePeerAccess,
};

#define device_name "hip"

/* Turn a failed result into an error. what: the action, such as "a copy". */
static int check(hipError_t result, const char *what)
{
    return result == hipSuccess ? MPI_SUCCESS
                                : rota_fail(MPI_ERR_OTHER, "HIP: %s: %s", what,
                                            gpu.error_name(result));
}

/* ---- memory -------------------------------------------------------------- */

typedef struct place {
    bool on_device, managed;
    int device;
} place;

static place place_of(const void *p)
{
    hipPointerAttribute_t at;

    if (gpu.pointer_attributes(&at, p) != hipSuccess)
        return (place){0};
#if HIP_VERSION_MAJOR >= 6
    const enum hipMemoryType type = at.type;
#else
    const enum hipMemoryType type = at.memoryType;
#endif
    return (place){.on_device = type == hipMemoryTypeDevice,
                   .managed = at.isManaged != 0,
                   .device = at.device};
}

static bool holds(const void *p)
{
    const place at = p ? place_of(p) : (place){0};

    return at.on_device || at.managed;
}

/* By its place on the bus. That processes take turns is assumed, not measured. */
static bool identify(const void *p, rota_identity *identity)
{
    char bus[32] = "";
    uint64_t hash = 0;

    if (gpu.device_bus(bus, sizeof bus, place_of(p).device) != hipSuccess)
        return false;
    for (int i = 0; i < (int)sizeof bus && bus[i]; i++)
        hash = rota_mix(hash, (unsigned char)bus[i]);
    *identity = (rota_identity){.device = hash | 1, .by_time = true};
    return true;
}

/* ---- devices ------------------------------------------------------------- */

static int find_home(const void *near, int *device)
{
    *device = place_of(near).device;
    return MPI_SUCCESS;
}

static int enter(int device, int *before)
{
    ROTA_TRY(check(gpu.device_get(before), "asking for the device"));
    return check(gpu.device_set(device), "making a device current");
}

/* result: the status of the calls since enter. */
static int leave(int before, int result)
{
    (void)gpu.device_set(before);
    return result;
}

/* ---- copies -------------------------------------------------------------- */

static hipError_t put_rows(hipStream_t stream, const rota_rows *r)
{
    return gpu.copy_rows(r->to, r->to_pitch, r->from, r->from_pitch, r->width,
                         r->n, hipMemcpyDefault, stream);
}

static hipError_t put_bytes(hipStream_t stream, const rota_rows *r)
{
    return gpu.copy(r->to, r->from, r->n * r->width, hipMemcpyDefault, stream);
}

/* ---- between processes --------------------------------------------------- */

static const char cannot_share[] =
    "the memory is managed, or other processes cannot open it";

static bool find_shareable(const void *p, int *device)
{
    const place at = place_of(p);

    *device = at.device;
    return at.on_device && !at.managed;
}

static hipError_t find_range(const void *p, void **begin, size_t *bytes)
{
    return gpu.address_range(begin, bytes, (void *)p);
}

#include "device/streams.h"

/* One home per device: an address that all its queues share, and no others. */
static const void *queue_home(const rota_queue *q)
{
    return (const void *)((uintptr_t)q->home + 1);
}

#define TEXT(token) #token
#define NAME(token) TEXT(token)

const rota_device *rota_hip_in_use(void)
{
    static rota_driver driver = {.library =
                                     "libamdhip64.so." NAME(HIP_VERSION_MAJOR),
                                 .entry = entries,
                                 .n = sizeof entries / sizeof entries[0]};

    return rota_driver_in_use(&driver) ? &device : NULL;
}
