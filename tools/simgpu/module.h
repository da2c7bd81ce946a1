/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded images and their functions. An image is an x86-64 shared object that simcc made of a
 * program's device half; CUmodule and CUlibrary are both a struct simgpu_module, CUfunction and
 * CUkernel both a struct simgpu_function (the driver API allows casting one to the other). */
#ifndef SIMGPU_MODULE_H
#define SIMGPU_MODULE_H

#include <ffi.h>

#include "core.h"
#include "device/devrt.h"

#define SIMGPU_MAX_PARAMS 128

struct simgpu_function {
    uint64_t magic;
    struct simgpu_function *next;
    struct simgpu_module *module;
    char *name;
    void *entry;
    unsigned int count; /* parameters */
    size_t *offset, *size;
    size_t param_bytes;
    ffi_type **types;
    double cost_factor; /* of the modelled time (SIMGPU_COSTS) */
    int max_dynamic_shared;
    int attributes[16];
};
#define SIMGPU_FUNCTION_MAGIC 0x53494d5f46554e31ull

struct simgpu_module {
    uint64_t magic;
    struct simgpu_module *next;
    void *handle;
    uint64_t base, end; /* where it is loaded */
    struct simgpu_function *functions;
    struct simgpu_devrt *devrt;
    unsigned char *image; /* a copy of the file; symbols and DWARF are read from it */
    size_t image_bytes;
    uint64_t *counters; /* executed regions, counted by the compiler's instrumentation */
    size_t counter_count;
    uint64_t counted;
};
#define SIMGPU_MODULE_MAGIC 0x53494d5f4d4f4431ull

struct simgpu_function *simgpu_function_of(const void *handle);
struct simgpu_module *simgpu_module_of(const void *handle);

/* image.c */
/* Size of the ELF file at DATA by its own headers, or 0 if it is none. */
size_t simgpu_image_bytes(const void *data);
bool simgpu_image_open(struct simgpu_module *module);
/* Address and size of a symbol of the loaded image. */
bool simgpu_image_symbol(const struct simgpu_module *module, const char *name, bool function,
                         uint64_t *address, uint64_t *bytes);
/* signature.c: fills the parameters of FUNCTION from the image's DWARF. */
bool simgpu_signature_read(struct simgpu_function *function);

#endif
