/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/probe.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "preload/base/size.h"
#include "tools/spillway/probe_cuda.h"

/* cuda.h's CUdevice_attribute */
enum { ATTRIBUTE_COPY_ENGINES = 40, ATTRIBUTE_VMM = 102 };
enum { SIZE_TEXT = 24, NAME_TEXT = 128, VERSION_LEAST = 12040 };

static const struct {
    const char *symbol;
    size_t field;
} functions[] = {
#define FUNCTION(symbol, field)                                                                    \
    {                                                                                              \
        symbol, offsetof(struct spill_probe_cuda, field)                                           \
    }
    FUNCTION("cuInit", init),
    FUNCTION("cuDriverGetVersion", driver_version),
    FUNCTION("cuDeviceGetCount", device_count),
    FUNCTION("cuDeviceGet", device_get),
    FUNCTION("cuDeviceGetName", device_name),
    FUNCTION("cuDeviceGetAttribute", device_attribute),
    FUNCTION("cuDeviceTotalMem_v2", device_memory),
    FUNCTION("cuDevicePrimaryCtxRetain", context_retain),
    FUNCTION("cuDevicePrimaryCtxRelease_v2", context_release),
    FUNCTION("cuCtxSetCurrent", context_set),
    FUNCTION("cuMemGetInfo_v2", memory_info),
    FUNCTION("cuMemAlloc_v2", alloc),
    FUNCTION("cuMemFree_v2", free),
    FUNCTION("cuMemHostRegister_v2", host_register),
    FUNCTION("cuMemHostUnregister", host_unregister),
    FUNCTION("cuMemcpyHtoDAsync_v2", copy_in),
    FUNCTION("cuMemcpyDtoHAsync_v2", copy_out),
    FUNCTION("cuEventCreate", event_create),
    FUNCTION("cuEventRecord", event_record),
    FUNCTION("cuEventSynchronize", event_wait),
    FUNCTION("cuEventElapsedTime", event_elapsed),
    FUNCTION("cuEventDestroy_v2", event_destroy),
    FUNCTION("cuGetErrorName", error_name),
#undef FUNCTION
};

/* What the library itself needs of a driver. */
static const struct {
    const char *symbol;
    int needed;
} wanted[] = {
#define SPILL_DRIVER(symbol, type, needed) {#symbol, needed},
#include "preload/base/driver.def"
#undef SPILL_DRIVER
};

const char *spill_probe_error(const struct spill_probe_cuda *cuda, int result)
{
    const char *name = NULL;
    return cuda->error_name(result, &name) == 0 && name != NULL ? name : "unknown error";
}

/* Opens the driver; the first function that it lacks, NULL if none. */
static const char *open_driver(struct spill_probe_cuda *cuda)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *address = dlsym(cuda->library, functions[i].symbol);
        if (address == NULL)
            return functions[i].symbol;
        memcpy((char *)cuda + functions[i].field, &address, sizeof(address));
    }
    return NULL;
}

static void probe_version(const struct spill_probe_cuda *cuda, struct spill_findings *found)
{
    int version = 0;
    Dl_info where;
    const char *file = dladdr(dlsym(cuda->library, "cuInit"), &where) != 0 ? where.dli_fname : "?";
    (void)cuda->driver_version(&version);
    if (version >= VERSION_LEAST)
        spill_finding_add(found, SPILL_FINDING_OK, "driver", NULL, "for CUDA %d.%d, %s",
                          version / 1000, version % 1000 / 10, file);
    else
        spill_finding_add(found, SPILL_FINDING_BAD, "driver",
                          "install a driver for CUDA 12.4 or newer",
                          "for CUDA %d.%d, %s: too old, the parameters of kernels cannot be read",
                          version / 1000, version % 1000 / 10, file);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (wanted[i].needed != 0 && dlsym(cuda->library, wanted[i].symbol) == NULL)
            spill_finding_add(found, SPILL_FINDING_BAD, "driver", "install a newer driver",
                              "it has no %s", wanted[i].symbol);
}

static void probe_device(const struct spill_probe_cuda *cuda, int ordinal,
                         struct spill_findings *found)
{
    int device, vmm = 0, engines = 0;
    size_t bytes = 0;
    char name[NAME_TEXT] = "?", size[SIZE_TEXT];
    if (cuda->device_get(&device, ordinal) != 0)
        return;
    (void)cuda->device_name(name, sizeof(name), device);
    (void)cuda->device_memory(&bytes, device);
    (void)cuda->device_attribute(&vmm, ATTRIBUTE_VMM, device);
    (void)cuda->device_attribute(&engines, ATTRIBUTE_COPY_ENGINES, device);
    spill_size_format(bytes, size, sizeof(size));
    if (vmm == 0)
        spill_finding_add(
            found, SPILL_FINDING_BAD, "device",
            "use a GPU (or a virtual one) with virtual memory management",
            "%d: %s, %s: no virtual memory management, so its memory cannot be managed", ordinal,
            name, size);
    else if (engines < 2)
        spill_finding_add(found, SPILL_FINDING_WARN, "device", NULL,
                          "%d: %s, %s: %d copy engine: copies out and in take turns", ordinal, name,
                          size, engines);
    else
        spill_finding_add(found, SPILL_FINDING_OK, "device", NULL,
                          "%d: %s, %s, virtual memory management, %d copy engines", ordinal, name,
                          size, engines);
}

/* All that needs a context on the first device. */
static void probe_in_context(const struct spill_probe_cuda *cuda, struct spill_findings *found)
{
    int device, result;
    void *context;
    if (cuda->device_get(&device, 0) != 0)
        return;
    if ((result = cuda->context_retain(&context, device)) != 0 ||
        (result = cuda->context_set(context)) != 0) {
        spill_finding_add(found, SPILL_FINDING_BAD, "context",
                          "see whether another program holds the GPU (nvidia-smi)",
                          "cannot work on the device: %s", spill_probe_error(cuda, result));
        return;
    }
    spill_probe_links(cuda, device, found);
    spill_probe_pinning(cuda, found);
    (void)cuda->context_release(device);
}

bool spill_probe_driver(struct spill_findings *found)
{
    struct spill_probe_cuda cuda = {.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)};
    int count = 0, result;
    if (cuda.library == NULL) {
        spill_finding_add(found, SPILL_FINDING_BAD, "driver",
                          "install NVIDIA's driver, or add its folder to LD_LIBRARY_PATH; in a "
                          "container, start it with --gpus all",
                          "there is none (%s)", dlerror());
        return false;
    }
    const char *lacking = open_driver(&cuda);
    if (lacking != NULL) {
        spill_finding_add(found, SPILL_FINDING_BAD, "driver", "install a newer driver",
                          "it has no %s", lacking);
        return true;
    }
    result = cuda.init(0);
    if (result == 0)
        result = cuda.device_count(&count);
    probe_version(&cuda, found);
    if (result != 0 || count == 0) {
        spill_finding_add(
            found, SPILL_FINDING_BAD, "device",
            "look at nvidia-smi, CUDA_VISIBLE_DEVICES, and the rights of /dev/nvidia*",
            "no GPU can be used%s%s", result != 0 ? ": " : "",
            result != 0 ? spill_probe_error(&cuda, result) : "");
        return true;
    }
    for (int i = 0; i < count; i++)
        probe_device(&cuda, i, found);
    probe_in_context(&cuda, found);
    return true;
}
