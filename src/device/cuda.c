/* cuda.c - CUDA as a rota_device.
 *
 * The driver's library is not linked (driver.h), whichever runtime the process
 * uses, and however it links that. The types and versioned names of its
 * functions are those of the headers that this file is compiled with. Pointers
 * belong to contexts.
 */
#include "base/alike.h"
#include "device/device.h"
#include "device/driver.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <stdint.h>
#include <string.h>

/* ---- the library --------------------------------------------------------- */

/* F(name here, function, version of its type) */
#define FUNCTIONS(F)                                                           \
    F(context_get, cuCtxGetCurrent, 4000)                                      \
    F(context_pop, cuCtxPopCurrent, 4000)                                      \
    F(context_push, cuCtxPushCurrent, 4000)                                    \
    F(copy, cuMemcpyAsync, 4000)                                               \
    F(copy_rows, cuMemcpy2DAsync, 3020)                                        \
    F(device_attribute, cuDeviceGetAttribute, 2000)                            \
    F(device_get, cuDeviceGet, 2000)                                           \
    F(device_uuid, cuDeviceGetUuid, 9020)                                      \
    F(error_name, cuGetErrorName, 6000)                                        \
    F(event_create, cuEventCreate, 2000)                                       \
    F(event_destroy, cuEventDestroy, 4000)                                     \
    F(event_query, cuEventQuery, 2000)                                         \
    F(event_record, cuEventRecord, 2000)                                       \
    F(host_register, cuMemHostRegister, 6050)                                  \
    F(host_unregister, cuMemHostUnregister, 4000)                              \
    F(ipc_close_memory, cuIpcCloseMemHandle, 4010)                             \
    F(ipc_event_handle, cuIpcGetEventHandle, 4010)                             \
    F(ipc_memory_handle, cuIpcGetMemHandle, 4010)                              \
    F(ipc_open_event, cuIpcOpenEventHandle, 4010)                              \
    F(ipc_open_memory, cuIpcOpenMemHandle, 11000)                              \
    F(pointer_attributes, cuPointerGetAttributes, 7000)                        \
    F(stream_create, cuStreamCreate, 2000)                                     \
    F(stream_destroy, cuStreamDestroy, 4000)                                   \
    F(stream_synchronize, cuStreamSynchronize, 2000)                           \
    F(stream_wait, cuStreamWaitEvent, 3020)

#define MEMBER(name, function, version) PFN_##function##_v##version name;

static struct {
    FUNCTIONS(MEMBER)
} gpu;

/* The headers rename functions to their newest versions; TEXT sees these. */
#define TEXT(token) #token
#define NAME(function) TEXT(function)
#define ENTRY(name, function, version) {NAME(function), &gpu.name},

static const rota_driver_entry entries[] = {FUNCTIONS(ENTRY)};

typedef CUresult gpu_result;
typedef CUstream gpu_stream;
typedef CUevent gpu_event;
typedef CUdeviceptr gpu_address;
typedef CUipcMemHandle gpu_memory_handle;
typedef CUipcEventHandle gpu_event_handle;
typedef CUcontext gpu_home;

static const CUresult gpu_ok = CUDA_SUCCESS,
                      gpu_not_ready = CUDA_ERROR_NOT_READY;

enum {
    stream_flags = CU_STREAM_NON_BLOCKING,
    event_flags = CU_EVENT_DISABLE_TIMING,
    shared_flags = CU_EVENT_INTERPROCESS,
    host_flags = CU_MEMHOSTREGISTER_PORTABLE,
    open_flags = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS,
};

#define device_name "cuda"

/* Turn a failed result into an error. what: the action, such as "a copy". */
static int check(CUresult result, const char *what)
{
    const char *name = "an unknown error";

    if (result == CUDA_SUCCESS)
        return MPI_SUCCESS;
    gpu.error_name(result, &name);
    return rota_fail(MPI_ERR_OTHER, "CUDA: %s: %s", what, name);
}

/* ---- memory -------------------------------------------------------------- */

typedef struct place {
    CUcontext context;
    unsigned type; /* a CUmemorytype; 0: not CUDA's memory */
    unsigned managed;
} place;

static CUdeviceptr pointer(const void *p)
{
    return (CUdeviceptr)(uintptr_t)p;
}

static place place_of(const void *p)
{
    place at = {0};
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_CONTEXT,
                                    CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void *found[] = {&at.context, &at.type, &at.managed};

    if (gpu.pointer_attributes(3, wanted, found, pointer(p)) != CUDA_SUCCESS)
        at = (place){0};
    return at;
}

/* The host could read managed memory, but not while it migrates. Whether MPI,
 * and the kernel's copies between processes, may read it is not documented. */
static bool holds(const void *p)
{
    const place at = p ? place_of(p) : (place){0};

    return at.type == CU_MEMORYTYPE_DEVICE || at.managed;
}

/* Does a daemon of CUDA's, MPS, run the work of all processes side by side? A driver
 * that does not know the attribute leaves 0. */
static bool has_mps(CUdevice device)
{
    enum { MPS_ENABLED = 133 }; /* CU_DEVICE_ATTRIBUTE_..., since CUDA 12 */
    int enabled = 0;

    (void)gpu.device_attribute(&enabled, (CUdevice_attribute)MPS_ENABLED,
                               device);
    return enabled != 0;
}

static bool identify(const void *p, rota_identity *identity)
{
    int ordinal = -1;
    uint64_t half[2];
    CUdevice device;
    CUuuid uuid;
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *found[] = {&ordinal};

    if (gpu.pointer_attributes(1, wanted, found, pointer(p)) != CUDA_SUCCESS ||
        gpu.device_get(&device, ordinal) != CUDA_SUCCESS ||
        gpu.device_uuid(&uuid, device) != CUDA_SUCCESS)
        return false;
    _Static_assert(sizeof uuid == sizeof half, "an identity of 16 bytes");
    memcpy(half, &uuid, sizeof half);
    *identity = (rota_identity){.device = rota_mix(half[0], half[1]) | 1,
                                .by_time = !has_mps(device)};
    return true;
}

/* ---- contexts ------------------------------------------------------------ */

/* Memory allocated without a context has none: then use the thread's. */
static int find_home(const void *near, CUcontext *context)
{
    *context = place_of(near).context;
    if (!*context)
        ROTA_TRY(check(gpu.context_get(context), "looking for a context"));
    return *context ? MPI_SUCCESS
                    : rota_fail(MPI_ERR_OTHER, "CUDA: no context is current");
}

/* The driver remembers what was current before. */
static int enter(CUcontext context, CUcontext *before)
{
    *before = NULL;
    return check(gpu.context_push(context), "making a context current");
}

/* result: the status of the calls since enter. */
static int leave(CUcontext before, int result)
{
    gpu.context_pop(&before);
    return result;
}

/* ---- copies -------------------------------------------------------------- */

static CUresult put_rows(CUstream stream, const rota_rows *r)
{
    const CUDA_MEMCPY2D rows = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = pointer(r->from),
        .srcPitch = r->from_pitch,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = pointer(r->to),
        .dstPitch = r->to_pitch,
        .WidthInBytes = r->width,
        .Height = r->n,
    };

    return gpu.copy_rows(&rows, stream);
}

static CUresult put_bytes(CUstream stream, const rota_rows *r)
{
    return gpu.copy(pointer(r->to), pointer(r->from), r->n * r->width, stream);
}

/* ---- between processes --------------------------------------------------- */

static const char cannot_share[] =
    "the memory is managed, of a pool or of a range of addresses, which other "
    "processes cannot open";

/* Only memory from cuMemAlloc has a handle of this kind. */
static bool find_shareable(const void *p, CUcontext *context)
{
    unsigned capable = 0;
    CUpointer_attribute wanted[] = {
        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE};
    void *found[] = {&capable};

    *context = place_of(p).context;
    return *context &&
           gpu.pointer_attributes(1, wanted, found, pointer(p)) ==
               CUDA_SUCCESS &&
           capable;
}

static CUresult find_range(const void *p, CUdeviceptr *begin, size_t *bytes)
{
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                    CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *found[] = {begin, bytes};

    return gpu.pointer_attributes(2, wanted, found, pointer(p));
}

#include "device/streams.h"

static const void *queue_home(const rota_queue *q)
{
    return q->home;
}

const rota_device *rota_cuda_in_use(void)
{
    static rota_driver driver = {.library = "libcuda.so.1",
                                 .entry = entries,
                                 .n = sizeof entries / sizeof entries[0]};

    return rota_driver_in_use(&driver) ? &device : NULL;
}
