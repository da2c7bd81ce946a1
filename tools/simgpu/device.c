/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, their attributes, and start-up. */
#include <stdio.h>
#include <string.h>

#include "core.h"
#include "lookup.h"
#include "memory.h"
#include "stream.h"

struct simgpu_device simgpu_devices[SIMGPU_MAX_DEVICES];
bool simgpu_initialised;

CUresult simgpu_cuInit(unsigned int flags)
{
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (simgpu_initialised)
        return CUDA_SUCCESS;
    if (!simgpu_space_boot())
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < simgpu_config.devices; i++) {
        struct simgpu_device *d = &simgpu_devices[i];
        d->ordinal = (int)i;
        d->primary.device = d;
        d->primary.primary = true;
        if (!simgpu_frames_boot(d))
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    simgpu_initialised = true;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuDriverGetVersion(int *version)
{
    if (version == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

struct simgpu_device *simgpu_device_at(CUdevice dev)
{
    return dev >= 0 && (uint32_t)dev < simgpu_config.devices ? &simgpu_devices[dev] : NULL;
}

/* What a device query needs: the driver up, the output there, the device known. */
static CUresult check(const void *out, CUdevice dev)
{
    if (!simgpu_initialised)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return simgpu_device_at(dev) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult simgpu_cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult result = check(device, ordinal);
    if (result == CUDA_SUCCESS)
        *device = ordinal;
    return result;
}

CUresult simgpu_cuDeviceGetCount(int *count)
{
    CUresult result = check(count, 0);
    if (result == CUDA_SUCCESS)
        *count = (int)simgpu_config.devices;
    return result;
}

CUresult simgpu_cuDeviceGetName(char *name, int len, CUdevice dev)
{
    CUresult result = check(name, dev);
    if (result == CUDA_SUCCESS && len <= 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        snprintf(name, (size_t)len, "%s", simgpu_config.card);
    return result;
}

CUresult simgpu_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    CUresult result = check(uuid, dev);
    if (result != CUDA_SUCCESS)
        return result;
    memcpy(uuid->bytes, "simulated-gpu-00", 16);
    uuid->bytes[15] = (char)('0' + dev);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    return simgpu_cuDeviceGetUuid_v2(uuid, dev);
}

CUresult simgpu_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    CUresult result = check(bytes, dev);
    if (result == CUDA_SUCCESS)
        *bytes = simgpu_config.capacity;
    return result;
}

CUresult simgpu_cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
    CUresult result = check(id, dev);
    if (result == CUDA_SUCCESS && len < 13)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        snprintf(id, (size_t)len, "0000:%02x:00.0", (unsigned int)dev + 1);
    return result;
}

CUresult simgpu_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    CUresult result = check(major, dev);
    if (result == CUDA_SUCCESS && minor == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        *major = simgpu_config.major;
        *minor = simgpu_config.minor;
    }
    return result;
}

CUresult simgpu_cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
    CUresult result = check(can, dev);
    if (result == CUDA_SUCCESS)
        result = check(can, peer);
    if (result == CUDA_SUCCESS)
        *can = dev != peer;
    return result;
}

CUresult simgpu_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice dev)
{
    CUresult result = check(value, dev);
    if (result != CUDA_SUCCESS)
        return result;
    switch ((int)attribute) {
#define ATTRIBUTE(name, number)                                                                    \
    case CU_DEVICE_ATTRIBUTE_##name:                                                               \
        *value = (int)(number);                                                                    \
        return CUDA_SUCCESS;
#include "attributes.def"
#undef ATTRIBUTE
    default:
        if ((int)attribute <= 0 || (int)attribute >= CU_DEVICE_ATTRIBUTE_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        *value = 0; /* a feature that this device lacks */
        return CUDA_SUCCESS;
    }
}

static CUresult look_up(const char *symbol, void **pfn, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status)
{
    const cuuint64_t known =
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (symbol == NULL || pfn == NULL || (flags & ~known) != 0 || flags == known)
        return CUDA_ERROR_INVALID_VALUE;
    bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    enum simgpu_lookup found = simgpu_lookup_find(symbol, version, per_thread, pfn);
    if (status != NULL)
        *status = found == SIMGPU_LOOKUP_FOUND     ? CU_GET_PROC_ADDRESS_SUCCESS
                  : found == SIMGPU_LOOKUP_TOO_NEW ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                                   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return found == SIMGPU_LOOKUP_FOUND ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult simgpu_cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    return look_up(symbol, pfn, version, flags, NULL);
}

CUresult simgpu_cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
                                    CUdriverProcAddressQueryResult *status)
{
    return look_up(symbol, pfn, version, flags, status);
}
