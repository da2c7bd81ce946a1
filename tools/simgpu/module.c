/* SPDX-License-Identifier: Apache-2.0 */
/* Modules and libraries: loading, functions, globals, attributes. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "module.h"
#include "op.h"

/* What clang embeds with -fcuda-include-gpubinary, and what the vendor's runtime hands over as
 * well. */
struct wrapper {
    uint32_t magic, version;
    const void *data;
    void *unused;
};
#define WRAPPER_MAGIC 0x466243b1u

static struct simgpu_module *modules;

struct simgpu_module *simgpu_module_of(const void *handle)
{
    struct simgpu_module *m = (struct simgpu_module *)(uintptr_t)handle;
    return m != NULL && m->magic == SIMGPU_MODULE_MAGIC ? m : NULL;
}

struct simgpu_function *simgpu_function_of(const void *handle)
{
    struct simgpu_function *f = (struct simgpu_function *)(uintptr_t)handle;
    return f != NULL && f->magic == SIMGPU_FUNCTION_MAGIC ? f : NULL;
}

struct simgpu_module *simgpu_module_holding(uint64_t address)
{
    struct simgpu_module *m = modules;
    while (m != NULL && (address < m->base || address >= m->end))
        m = m->next;
    return m;
}

static CUresult load(const void *data, struct simgpu_module **out)
{
    if (simgpu_ctx_current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (data == NULL || out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const struct wrapper *w = data;
    if (w->magic == WRAPPER_MAGIC)
        data = w->data;
    size_t bytes = simgpu_image_bytes(data);
    if (bytes == 0)
        return CUDA_ERROR_INVALID_IMAGE;
    struct simgpu_module *m = calloc(1, sizeof *m);
    if (m == NULL || (m->image = malloc(bytes)) == NULL) {
        free(m);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(m->image, data, bytes);
    m->image_bytes = bytes;
    if (!simgpu_image_open(m)) {
        if (m->handle != NULL)
            dlclose(m->handle);
        free(m->image);
        free(m);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    m->magic = SIMGPU_MODULE_MAGIC;
    m->next = modules;
    modules = m;
    *out = m;
    return CUDA_SUCCESS;
}

static CUresult load_file(const char *path, struct simgpu_module **out)
{
    if (path == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return CUDA_ERROR_FILE_NOT_FOUND;
    CUresult result = CUDA_ERROR_INVALID_IMAGE;
    struct stat st;
    char *data = NULL;
    if (fstat(fileno(file), &st) == 0 && st.st_size > 64)
        data = malloc((size_t)st.st_size);
    if (data != NULL && fread(data, (size_t)st.st_size, 1, file) == 1 &&
        simgpu_image_bytes(data) <= (size_t)st.st_size)
        result = load(data, out);
    free(data);
    fclose(file);
    return result;
}

static CUresult unload(struct simgpu_module *m, CUresult wrong)
{
    if (m == NULL)
        return wrong;
    /* Queued launches of its functions must not lose the ground under them. */
    CUresult result = simgpu_op_drain(NULL);
    struct simgpu_module **link = &modules;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    for (struct simgpu_function *f = m->functions; f != NULL; f = f->next)
        f->magic = 0; /* kept: a stale handle is recognised */
    dlclose(m->handle);
    free(m->image);
    m->magic = 0;
    return result;
}

static CUresult get_function(struct simgpu_module *m, const char *name, void **out)
{
    uint64_t address, bytes;
    if (m == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (name == NULL || out == NULL || *name == '\0')
        return CUDA_ERROR_INVALID_VALUE;
    for (struct simgpu_function *f = m->functions; f != NULL; f = f->next) {
        if (strcmp(f->name, name) == 0) {
            *out = f;
            return CUDA_SUCCESS;
        }
    }
    if (!simgpu_image_symbol(m, name, true, &address, &bytes))
        return CUDA_ERROR_NOT_FOUND;
    struct simgpu_function *f = calloc(1, sizeof *f);
    if (f == NULL || (f->name = strdup(name)) == NULL) {
        free(f);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    f->module = m;
    f->entry = (void *)address;
    f->max_dynamic_shared = 48 << 10;
    f->cost_factor = simgpu_config_cost(name);
    if (!simgpu_signature_read(f)) {
        free(f->name);
        free(f);
        return CUDA_ERROR_NOT_FOUND;
    }
    f->magic = SIMGPU_FUNCTION_MAGIC;
    f->next = m->functions;
    m->functions = f;
    *out = f;
    return CUDA_SUCCESS;
}

static CUresult get_global(struct simgpu_module *m, const char *name, CUdeviceptr *ptr,
                           size_t *size)
{
    uint64_t address, bytes;
    if (m == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (!simgpu_image_symbol(m, name, false, &address, &bytes))
        return CUDA_ERROR_NOT_FOUND;
    if (ptr != NULL)
        *ptr = address;
    if (size != NULL)
        *size = bytes;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    if (mode == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuModuleLoad(CUmodule *module, const char *path)
{
    return load_file(path, (struct simgpu_module **)module);
}

CUresult simgpu_cuModuleLoadData(CUmodule *module, const void *image)
{
    return load(image, (struct simgpu_module **)module);
}

CUresult simgpu_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int n,
                                   CUjit_option *options, void **values)
{
    (void)n;
    (void)options;
    (void)values; /* nothing is compiled at load time */
    return load(image, (struct simgpu_module **)module);
}

CUresult simgpu_cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
    return load(image, (struct simgpu_module **)module);
}

CUresult simgpu_cuModuleUnload(CUmodule module)
{
    return unload(simgpu_module_of(module), CUDA_ERROR_INVALID_HANDLE);
}

CUresult simgpu_cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name)
{
    return get_function(simgpu_module_of(module), name, (void **)f);
}

CUresult simgpu_cuModuleGetGlobal_v2(CUdeviceptr *ptr, size_t *bytes, CUmodule module,
                                     const char *name)
{
    return get_global(simgpu_module_of(module), name, ptr, bytes);
}

CUresult simgpu_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit_options,
                                  void **jit_values, unsigned int n_jit, CUlibraryOption *options,
                                  void **values, unsigned int n)
{
    (void)jit_options;
    (void)jit_values;
    (void)n_jit;
    (void)options;
    (void)values;
    (void)n;
    return load(code, (struct simgpu_module **)library);
}

CUresult simgpu_cuLibraryLoadFromFile(CUlibrary *library, const char *path,
                                      CUjit_option *jit_options, void **jit_values,
                                      unsigned int n_jit, CUlibraryOption *options, void **values,
                                      unsigned int n)
{
    (void)jit_options;
    (void)jit_values;
    (void)n_jit;
    (void)options;
    (void)values;
    (void)n;
    return load_file(path, (struct simgpu_module **)library);
}

CUresult simgpu_cuLibraryUnload(CUlibrary library)
{
    return unload(simgpu_module_of(library), CUDA_ERROR_INVALID_HANDLE);
}

CUresult simgpu_cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    return get_function(simgpu_module_of(library), name, (void **)kernel);
}

CUresult simgpu_cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
    if (simgpu_module_of(library) == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (module == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *module = (CUmodule)(void *)library;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUlibrary library,
                                   const char *name)
{
    return get_global(simgpu_module_of(library), name, ptr, bytes);
}
