/* SPDX-License-Identifier: Apache-2.0 */
/* What the compiler's constructors register: images, kernels, variables; and the launch
 * configuration that <<<>>> leaves for the stub. An image is loaded when something of it is first
 * used. */
#include <pthread.h>
#include <stdlib.h>

#include "rt.h"

struct image {
    const void *data;
    CUlibrary library;
    CUresult failed; /* asked once: it will not load the next time either */
};

enum kind { KIND_KERNEL, KIND_VARIABLE };

struct entry {
    const void *host; /* address of the stub or of the host's shadow variable */
    const char *name;
    struct image *image;
    enum kind kind;
    CUkernel kernel;
    CUdeviceptr ptr;
    size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *table; /* open addressing, a power of two of slots */
static size_t used, slots;

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, void *tid, void *bid, void *bdim, void *gdim,
                            int *wsize);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
                       size_t size, int constant, int global);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
char __cudaInitModule(void **handle);

static struct entry *slot_of(const void *host)
{
    size_t i = ((uintptr_t)host >> 3) * 0x9e3779b97f4a7c15ull & (slots - 1);
    while (table[i].host != NULL && table[i].host != host)
        i = (i + 1) & (slots - 1);
    return &table[i];
}

static void add(struct entry e)
{
    pthread_mutex_lock(&lock);
    if (2 * (used + 1) > slots) {
        struct entry *old = table;
        size_t n = slots;
        slots = n != 0 ? n * 2 : 256;
        table = calloc(slots, sizeof *table);
        if (table == NULL)
            abort();
        for (size_t i = 0; i < n; i++)
            if (old[i].host != NULL)
                *slot_of(old[i].host) = old[i];
        free(old);
    }
    struct entry *at = slot_of(e.host);
    used += at->host == NULL;
    *at = e;
    pthread_mutex_unlock(&lock);
}

SIMGPU_RT_EXPORT void **__cudaRegisterFatBinary(void *wrapper)
{
    struct image *image = calloc(1, sizeof *image);
    if (image != NULL)
        image->data = wrapper;
    return (void **)image;
}

SIMGPU_RT_EXPORT void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

SIMGPU_RT_EXPORT void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle; /* at exit, when the driver may be gone already */
}

SIMGPU_RT_EXPORT char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

SIMGPU_RT_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device,
                                             const char *name, int thread_limit, void *tid,
                                             void *bid, void *bdim, void *gdim, int *wsize)
{
    (void)device;
    (void)thread_limit;
    (void)tid;
    (void)bid;
    (void)bdim;
    (void)gdim;
    (void)wsize;
    add((struct entry){
        .host = host, .name = name, .image = (struct image *)handle, .kind = KIND_KERNEL});
}

SIMGPU_RT_EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name,
                                        int ext, size_t size, int constant, int global)
{
    (void)device;
    (void)ext;
    (void)size;
    (void)constant;
    (void)global;
    add((struct entry){
        .host = host, .name = name, .image = (struct image *)handle, .kind = KIND_VARIABLE});
}

static CUresult resolve(struct entry *e)
{
    CUresult result = CUDA_SUCCESS;
    if (e->image->failed != CUDA_SUCCESS)
        return e->image->failed;
    if (e->image->library == NULL)
        result =
            DRV.cuLibraryLoadData(&e->image->library, e->image->data, NULL, NULL, 0, NULL, NULL, 0);
    if (result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_INVALID_IMAGE)
        e->image->failed = result;
    if (result != CUDA_SUCCESS)
        return result;
    if (e->kind == KIND_KERNEL)
        return DRV.cuLibraryGetKernel(&e->kernel, e->image->library, e->name);
    return DRV.cuLibraryGetGlobal(&e->ptr, &e->bytes, e->image->library, e->name);
}

static cudaError_t find(const void *host, enum kind kind, struct entry *out)
{
    cudaError_t error =
        kind == KIND_KERNEL ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidSymbol;
    pthread_mutex_lock(&lock);
    struct entry *e = slots != 0 && host != NULL ? slot_of(host) : NULL;
    if (e != NULL && e->host != NULL && e->kind == kind) {
        error = cudaSuccess;
        if (e->kernel == NULL && e->ptr == 0)
            error = simgpu_rt_result(resolve(e));
        *out = *e;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t simgpu_rt_function(const void *host, CUfunction *function)
{
    struct entry e;
    cudaError_t error = find(host, KIND_KERNEL, &e);
    if (error == cudaSuccess)
        *function = (CUfunction)(void *)e.kernel; /* the cast that the driver API allows */
    return error;
}

cudaError_t simgpu_rt_variable(const void *host, CUdeviceptr *ptr, size_t *bytes)
{
    struct entry e;
    cudaError_t error = find(host, KIND_VARIABLE, &e);
    if (error == cudaSuccess) {
        *ptr = e.ptr;
        *bytes = e.bytes;
    }
    return error;
}

const void *simgpu_rt_stub(CUfunction function)
{
    const void *host = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; host == NULL && i < slots; i++)
        if (table[i].host != NULL && table[i].kernel != NULL &&
            (CUfunction)(void *)table[i].kernel == function)
            host = table[i].host;
    pthread_mutex_unlock(&lock);
    return host;
}

/* <<<>>> may nest: an argument of a launch may itself launch. */
static _Thread_local struct {
    dim3 grid, block;
    size_t shared;
    void *stream;
} pushed[16];
static _Thread_local int depth;

SIMGPU_RT_EXPORT unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                                          void *stream)
{
    if (depth == 16)
        return 1;
    pushed[depth].grid = grid;
    pushed[depth].block = block;
    pushed[depth].shared = shared;
    pushed[depth].stream = stream;
    depth++;
    return 0;
}

/* Of programs compiled for the per-thread default stream: clang 14 calls the plain cudaLaunchKernel
 * for <<<>>> whatever the mode, so that the stream is made explicit here. */
unsigned int __simgpuPushCallConfiguration_ptsz(dim3 grid, dim3 block, size_t shared, void *stream);
SIMGPU_RT_EXPORT unsigned int __simgpuPushCallConfiguration_ptsz(dim3 grid, dim3 block,
                                                                 size_t shared, void *stream)
{
    return __cudaPushCallConfiguration(grid, block, shared,
                                       stream != NULL ? stream : cudaStreamPerThread);
}

SIMGPU_RT_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
                                                        void *stream)
{
    if (depth == 0)
        return cudaErrorMissingConfiguration;
    depth--;
    *grid = pushed[depth].grid;
    *block = pushed[depth].block;
    *shared = pushed[depth].shared;
    *(void **)stream = pushed[depth].stream;
    return cudaSuccess;
}
