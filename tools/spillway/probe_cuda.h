/* SPDX-License-Identifier: Apache-2.0 */
/* The few driver functions that the doctor calls, opened at run time: the command is built without
 * CUDA's headers and runs without CUDA. Types as in cuda.h: a CUresult and a CUdevice are ints, a
 * CUdeviceptr is 64 bits, handles are pointers. */
#ifndef SPILL_PROBE_CUDA_H
#define SPILL_PROBE_CUDA_H

#include <stdint.h>

#include "tools/spillway/finding.h"

struct spill_probe_cuda {
    void *library;
    int (*init)(unsigned flags);
    int (*driver_version)(int *version);
    int (*device_count)(int *count);
    int (*device_get)(int *device, int ordinal);
    int (*device_name)(char *name, int len, int device);
    int (*device_attribute)(int *value, int attribute, int device);
    int (*device_memory)(size_t *bytes, int device);
    int (*context_retain)(void **context, int device);
    int (*context_release)(int device);
    int (*context_set)(void *context);
    int (*memory_info)(size_t *free, size_t *total);
    int (*alloc)(uint64_t *address, size_t bytes);
    int (*free)(uint64_t address);
    int (*host_register)(void *base, size_t bytes, unsigned flags);
    int (*host_unregister)(void *base);
    int (*copy_in)(uint64_t to, const void *from, size_t bytes, void *stream);
    int (*copy_out)(void *to, uint64_t from, size_t bytes, void *stream);
    int (*event_create)(void **event, unsigned flags);
    int (*event_record)(void *event, void *stream);
    int (*event_wait)(void *event);
    int (*event_elapsed)(float *ms, void *from, void *to);
    int (*event_destroy)(void *event);
    int (*error_name)(int result, const char **name);
};

/* The driver's name for RESULT; never NULL. */
const char *spill_probe_error(const struct spill_probe_cuda *cuda, int result);

/* With a context on the device ON: the speed of both links, and how much host memory can be pinned.
 */
void spill_probe_links(const struct spill_probe_cuda *cuda, int on, struct spill_findings *found);
void spill_probe_pinning(const struct spill_probe_cuda *cuda, struct spill_findings *found);

#endif
