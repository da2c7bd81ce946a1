/* SPDX-License-Identifier: Apache-2.0 */
/* What a program can see of memory pools: their figures, which pool an address is of, what may be
 * exported, memory that is freed by the other kind of free, errors, and allocations in a capture.
 * Prints all of it, and what kernels left in the memory. --peer: gives a second device access;
 * --capture: allocates in a capture. */
#include <cuda.h>

#include "victim.h"

enum { LARGE = 5 << 20, SMALL = 1000, THREADS = 64, STRIDE = 64 };

static int peer, in_capture;
static CUstream stream;
static char junk[4096]; /* stands for handles that are none */

__global__ void add(int *x, int count, int value)
{
    for (int i = STRIDE * threadIdx.x; i < count; i += STRIDE * blockDim.x)
        x[i] = value + i;
}

__global__ void sum_of(const int *x, int count, int *sum)
{
    int total = 0;
    for (int i = 0; i < count; i += STRIDE)
        total += x[i];
    *sum = total;
}

/* Writes BYTES at P and tells what is read there afterwards. */
static void use(const char *name, CUdeviceptr p, int bytes)
{
    CUdeviceptr sum;
    int host = 0, count = bytes / (int)sizeof(int);
    CHECK_ANY(cuMemAllocAsync(&sum, sizeof(int), stream));
    add<<<1, THREADS, 0, stream>>>((int *)p, count, bytes);
    CHECK(cudaGetLastError());
    sum_of<<<1, 1, 0, stream>>>((const int *)p, count, (int *)sum);
    CHECK(cudaGetLastError());
    CHECK_ANY(cuMemcpyDtoHAsync(&host, sum, sizeof(int), stream));
    CHECK_ANY(cuMemFreeAsync(sum, stream));
    CHECK_ANY(cuStreamSynchronize(stream));
    printf("%s: sum %d\n", name, host);
}

static void tell(const char *name, CUmemoryPool pool)
{
    static const CUmemPool_attribute attributes[] = {
        CU_MEMPOOL_ATTR_USED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_HIGH,
        CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
        CU_MEMPOOL_ATTR_RELEASE_THRESHOLD};
    CHECK_ANY(cuStreamSynchronize(stream));
    printf("%s:", name);
    for (CUmemPool_attribute attribute : attributes) {
        cuuint64_t value = 77;
        CHECK_ANY(cuMemPoolGetAttribute(pool, attribute, &value));
        printf(" %llu", (unsigned long long)value);
    }
    printf("\n");
}

static void start_anew(CUmemoryPool pool, CUmemPool_attribute attribute)
{
    cuuint64_t zero = 0;
    CHECK_ANY(cuMemPoolSetAttribute(pool, attribute, &zero));
}

static CUmemoryPool pool_of(CUdeviceptr p)
{
    CUmemoryPool pool = NULL;
    CHECK_ANY(cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
    return pool;
}

static CUmemoryPool create(CUmemAllocationHandleType handles)
{
    CUmemPoolProps props;
    CUmemoryPool pool;
    memset(&props, 0, sizeof(props));
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.handleTypes = handles;
    CHECK_ANY(cuMemPoolCreate(&pool, &props));
    return pool;
}

static void default_pool(void)
{
    CUmemoryPool pool;
    CUdeviceptr large[3], small, plain;
    cuuint64_t threshold = ~(cuuint64_t)0;
    CHECK_ANY(cuDeviceGetDefaultMemPool(&pool, 0));
    CHECK_ANY(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    tell("at first", pool);
    for (int i = 0; i < 3; i++)
        CHECK_ANY(cuMemAllocAsync(&large[i], LARGE + i, stream));
    CHECK_ANY(cuMemAllocAsync(&small, SMALL, stream));
    CHECK_ANY(cuMemAlloc(&plain, LARGE));
    tell("three and a small one", pool);
    printf("of it: %d %d %d\n", pool_of(large[1] + 4096) == pool, pool_of(small) == pool,
           pool_of(plain) == NULL);
    use("large", large[0], LARGE);
    use("small", small, SMALL);
    CHECK_ANY(cuMemFreeAsync(large[1], stream));
    CHECK_ANY(cuMemFreeAsync(small, stream));
    tell("one and the small one freed", pool);
    start_anew(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH);
    tell("used anew", pool);
    CHECK_ANY(cuMemPoolTrimTo(pool, 0));
    start_anew(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
    tell("trimmed, reserved anew", pool);
    /* Each by the other kind of free. */
    use("plain", plain, LARGE);
    CHECK_ANY(cuMemFreeAsync(plain, stream));
    CHECK_ANY(cuStreamSynchronize(stream));
    CHECK_ANY(cuMemFree(large[0]));
    tell("freed crosswise", pool);
    use("the last", large[2], LARGE + 2);
    CHECK_ANY(cuMemFreeAsync(large[2], stream));
    tell("nothing left", pool);
}

static void own_pool(void)
{
    CUmemoryPool pool = create(CU_MEM_HANDLE_TYPE_NONE), standard, now;
    CUdeviceptr a, b;
    CHECK_ANY(cuDeviceGetDefaultMemPool(&standard, 0));
    CHECK_ANY(cuMemAllocFromPoolAsync(&a, LARGE, pool, stream));
    CHECK_ANY(cuDeviceSetMemPool(0, pool));
    CHECK_ANY(cuMemAllocAsync(&b, LARGE, stream));
    tell("own", pool);
    printf("of it: %d %d\n", pool_of(a) == pool, pool_of(b) == pool);
    use("own", a, LARGE);
    CHECK_ANY(cuMemFreeAsync(a, stream));
    tell("one freed", pool);
    CHECK_ANY(cuMemPoolDestroy(pool));
    CHECK_ANY(cuDeviceGetMemPool(&now, 0));
    printf("destroyed: %d\n", now == standard);
    use("outlives its pool", b, LARGE);
    CHECK_ANY(cuMemAllocAsync(&a, LARGE, stream));
    printf("of the standing one: %d\n", pool_of(a) == standard);
    CHECK_ANY(cuMemFreeAsync(a, stream));
    CHECK_ANY(cuMemFreeAsync(b, stream));
    CHECK_ANY(cuStreamSynchronize(stream));
}

static void exportable_pool(void)
{
    CUmemoryPool pool = create(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemPoolPtrExportData data;
    CUdeviceptr p, q;
    CHECK_ANY(cuMemAllocFromPoolAsync(&p, LARGE, pool, stream));
    CHECK_ANY(cuMemAllocAsync(&q, LARGE, stream));
    tell("exportable", pool);
    printf("export: %d %d\n", cuMemPoolExportPointer(&data, p), cuMemPoolExportPointer(&data, q));
    use("exportable", p, LARGE);
    CHECK_ANY(cuMemFreeAsync(p, stream));
    CHECK_ANY(cuMemFreeAsync(q, stream));
    tell("freed", pool);
    CHECK_ANY(cuMemPoolDestroy(pool));
}

static void errors(void)
{
    CUmemoryPool pool;
    CUdeviceptr p = 0;
    CUstream none = (CUstream)(void *)junk;
    CHECK_ANY(cuDeviceGetDefaultMemPool(&pool, 0));
    printf("alloc: %d %d %d\n", cuMemAllocAsync(&p, 0, stream),
           cuMemAllocAsync(NULL, LARGE, stream), cuMemAllocAsync(&p, LARGE, none));
    printf("from pool: %d %d %d\n", cuMemAllocFromPoolAsync(&p, 0, pool, stream),
           cuMemAllocFromPoolAsync(&p, LARGE, (CUmemoryPool)(void *)junk, stream),
           cuMemAllocFromPoolAsync(&p, LARGE, pool, none));
    CHECK_ANY(cuMemAllocAsync(&p, LARGE, stream));
    printf("free: %d %d %d\n", cuMemFreeAsync(p + 4096, stream), cuMemFreeAsync(p, none),
           cuMemFreeAsync(0, stream));
    use("still there", p, LARGE);
    CHECK_ANY(cuMemFreeAsync(p, stream));
}

/* What is allocated in a capture is the graph's; beside it, on another stream, all is as ever. */
static void capture(void)
{
    CUstream other;
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr kept, inner, beside;
    CHECK_ANY(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK_ANY(cuMemAllocAsync(&kept, LARGE, stream));
    CHECK_ANY(cuStreamSynchronize(stream));
    CHECK_ANY(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CHECK_ANY(cuMemAllocAsync(&inner, LARGE, stream));
    add<<<1, THREADS, 0, stream>>>((int *)inner, LARGE / 4, 5);
    CHECK(cudaGetLastError());
    sum_of<<<1, 1, 0, stream>>>((const int *)inner, LARGE / 4, (int *)kept);
    CHECK(cudaGetLastError());
    CHECK_ANY(cuMemFreeAsync(inner, stream));
    CHECK_ANY(cuMemAllocAsync(&beside, LARGE, other));
    add<<<1, THREADS, 0, other>>>((int *)beside, LARGE / 4, 6);
    CHECK(cudaGetLastError());
    CHECK_ANY(cuMemFreeAsync(beside, other));
    CHECK_ANY(cuStreamEndCapture(stream, &graph));
    CHECK_ANY(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; i++) {
        int host = 0;
        CHECK_ANY(cuGraphLaunch(exec, stream));
        CHECK_ANY(cuMemcpyDtoHAsync(&host, kept, sizeof(host), stream));
        CHECK_ANY(cuStreamSynchronize(stream));
        printf("graph: sum %d\n", host);
    }
    CHECK_ANY(cuMemFreeAsync(kept, stream));
    CHECK_ANY(cuStreamSynchronize(other));
    CHECK_ANY(cuGraphExecDestroy(exec));
    CHECK_ANY(cuGraphDestroy(graph));
}

/* The first pool before it is used, the second one after. */
static void other_device(void)
{
    CUmemAccessDesc access;
    CUmemoryPool early = create(CU_MEM_HANDLE_TYPE_NONE), late = create(CU_MEM_HANDLE_TYPE_NONE);
    CUdeviceptr p, q;
    CUcontext home, away;
    CUstream far_stream;
    memset(&access, 0, sizeof(access));
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = 1;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK_ANY(cuCtxGetCurrent(&home));
    CHECK_ANY(cuMemPoolSetAccess(early, &access, 1));
    CHECK_ANY(cuMemAllocFromPoolAsync(&p, LARGE, early, stream));
    CHECK_ANY(cuMemAllocFromPoolAsync(&q, LARGE, late, stream));
    CHECK_ANY(cuMemPoolSetAccess(late, &access, 1));
    CHECK_ANY(cuStreamSynchronize(stream));
    CHECK_ANY(cuDevicePrimaryCtxRetain(&away, 1));
    CHECK_ANY(cuCtxSetCurrent(away));
    CHECK_ANY(cuStreamCreate(&far_stream, CU_STREAM_NON_BLOCKING));
    CHECK(cudaSetDevice(1));
    add<<<1, THREADS, 0, far_stream>>>((int *)p, LARGE / 4, 1);
    CHECK(cudaGetLastError());
    add<<<1, THREADS, 0, far_stream>>>((int *)q, LARGE / 4, 2);
    CHECK(cudaGetLastError());
    int host[2];
    CHECK_ANY(cuMemcpyDtoHAsync(&host[0], p + LARGE - 256, sizeof(int), far_stream));
    CHECK_ANY(cuMemcpyDtoHAsync(&host[1], q + LARGE - 256, sizeof(int), far_stream));
    CHECK_ANY(cuMemFreeAsync(q, far_stream));
    CHECK_ANY(cuStreamSynchronize(far_stream));
    printf("from the other device: %d %d\n", host[0], host[1]);
    CHECK(cudaSetDevice(0));
    CHECK_ANY(cuCtxSetCurrent(home));
    CHECK_ANY(cuMemFreeAsync(p, stream));
    CHECK_ANY(cuStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    static const struct victim_option options[] = {{"--peer", &peer, 1},
                                                   {"--capture", &in_capture, 1}};
    victim_parse(options, 2, argc, argv);
    CHECK(cudaFree(0));
    CHECK_ANY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    default_pool();
    own_pool();
    exportable_pool();
    errors();
    if (peer)
        other_device();
    if (in_capture)
        capture();
    return 0;
}
