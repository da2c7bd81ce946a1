// SPDX-License-Identifier: Apache-2.0
// Allocation on device and host, pools, pointer attributes, copies and memsets.
#include "simtest.h"
#include <vector>

__global__ void add_one(int *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] += 1;
}

CASE(malloc_is_aligned)
{
    for (size_t n : {1, 100, 5000, 3 << 20}) {
        char *p;
        OK(cudaMalloc(&p, n));
        CHECK((size_t)p % 256 == 0);
    }
}
CASE(malloc_of_nothing)
{
    void *p = (void *)1;
    OK(cudaMalloc(&p, 0));
    CHECK(p == nullptr);
    driver_up();
    CUdeviceptr d;
    GIVES(cuMemAlloc(&d, 0), CUDA_ERROR_INVALID_VALUE);
}
CASE(free_of_null_is_nothing)
{
    OK(cudaFree(nullptr));
}
CASE(free_twice_is_an_error)
{
    driver_up();
    CUdeviceptr p;
    OK(cuMemAlloc(&p, 4 << 20));
    OK(cuMemFree(p));
    GIVES(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
}
CASE(free_of_an_inner_pointer_is_an_error)
{
    driver_up();
    CUdeviceptr p;
    OK(cuMemAlloc(&p, 4 << 20));
    GIVES(cuMemFree(p + 256), CUDA_ERROR_INVALID_VALUE);
}
CASE(out_of_memory_is_not_sticky)
{
    size_t free_bytes, total;
    void *p;
    OK(cudaMemGetInfo(&free_bytes, &total));
    GIVES(cudaMalloc(&p, total + (4 << 20)), cudaErrorMemoryAllocation);
    GIVES(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
    GIVES(cudaGetLastError(), cudaErrorMemoryAllocation);
    OK(cudaGetLastError());
    OK(cudaMalloc(&p, 1000));
}
CASE(free_memory_goes_down_and_up)
{
    size_t a, b, c, total;
    void *p;
    OK(cudaMemGetInfo(&a, &total));
    OK(cudaMalloc(&p, 16 << 20));
    OK(cudaMemGetInfo(&b, &total));
    CHECK(a - b >= 16 << 20);
    OK(cudaFree(p));
    OK(cudaMemGetInfo(&c, &total));
    EQUAL(a, c);
}
CASE(small_allocations_do_not_overlap)
{
    std::vector<int *> p(200);
    for (int i = 0; i < 200; i++) {
        OK(cudaMalloc(&p[i], 400));
        OK(cudaMemset(p[i], i, 400));
    }
    for (int i = 0; i < 200; i += 2)
        OK(cudaFree(p[i]));
    for (int i = 1; i < 200; i += 2) {
        unsigned char b[400];
        OK(cudaMemcpy(b, p[i], 400, cudaMemcpyDeviceToHost));
        EQUAL(b[0], i);
        EQUAL(b[399], i);
    }
}
CASE(pitch_is_enough_and_aligned)
{
    char *p;
    size_t pitch;
    OK(cudaMallocPitch(&p, &pitch, 1000, 7));
    CHECK(pitch >= 1000 && pitch % 128 == 0);
    OK(cudaMemset2D(p, pitch, 5, 1000, 7));
}
CASE(address_range)
{
    driver_up();
    CUdeviceptr p, base = 0;
    size_t size = 0;
    OK(cuMemAlloc(&p, 5 << 20));
    OK(cuMemGetAddressRange(&base, &size, p + 12345));
    CHECK(base == p && size == 5 << 20);
    GIVES(cuMemGetAddressRange(&base, &size, 0x1000), CUDA_ERROR_NOT_FOUND);
}
CASE(pointer_attributes_of_device_memory)
{
    int *p;
    cudaPointerAttributes a = {};
    OK(cudaMalloc(&p, 100));
    OK(cudaPointerGetAttributes(&a, p + 3));
    EQUAL(a.type, cudaMemoryTypeDevice);
    EQUAL(a.device, 0);
    CHECK(a.devicePointer == p + 3);
}
CASE(pointer_attributes_of_pinned_memory)
{
    int *p;
    cudaPointerAttributes a = {};
    OK(cudaMallocHost(&p, 100));
    OK(cudaPointerGetAttributes(&a, p));
    EQUAL(a.type, cudaMemoryTypeHost);
    CHECK(a.hostPointer == p);
}
CASE(pointer_attributes_of_ordinary_memory)
{
    int x;
    cudaPointerAttributes a = {};
    OK(cudaPointerGetAttributes(&a, &x));
    EQUAL(a.type, cudaMemoryTypeUnregistered);
}
CASE(driver_attribute_of_a_foreign_pointer_is_an_error)
{
    driver_up();
    int x;
    CUdeviceptr d;
    GIVES(cuPointerGetAttribute(&d, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, (CUdeviceptr)&x),
          CUDA_ERROR_INVALID_VALUE);
}
CASE(pinned_memory_is_host_memory)
{
    int *p;
    OK(cudaHostAlloc(&p, 4096, cudaHostAllocPortable | cudaHostAllocMapped));
    p[5] = 6;
    int *d;
    OK(cudaHostGetDevicePointer(&d, p, 0));
    add_one<<<1, 32>>>(d, 32);
    OK(cudaDeviceSynchronize());
    EQUAL(p[5], 7);
    OK(cudaFreeHost(p));
}
CASE(unknown_host_flags_are_refused)
{
    int *p;
    GIVES(cudaHostAlloc(&p, 4096, 0x400), cudaErrorInvalidValue);
}
CASE(register_and_unregister)
{
    char *p = (char *)aligned_alloc(4096, 65536);
    memset(p, 0, 65536);
    cudaPointerAttributes a = {};
    OK(cudaHostRegister(p, 65536, cudaHostRegisterDefault));
    OK(cudaPointerGetAttributes(&a, p + 100));
    EQUAL(a.type, cudaMemoryTypeHost);
    GIVES(cudaHostRegister(p, 4096, 0), cudaErrorHostMemoryAlreadyRegistered);
    OK(cudaHostUnregister(p));
    GIVES(cudaHostUnregister(p), cudaErrorHostMemoryNotRegistered);
}
CASE(free_host_of_foreign_memory_is_an_error)
{
    static int x[1024];
    GIVES(cudaFreeHost(x), cudaErrorInvalidValue);
}
CASE(managed_memory_is_seen_by_both)
{
    int *p;
    OK(cudaMallocManaged(&p, 4096));
    for (int i = 0; i < 100; i++)
        p[i] = i;
    add_one<<<1, 128>>>(p, 100);
    OK(cudaDeviceSynchronize());
    EQUAL(p[99], 100);
    cudaPointerAttributes a = {};
    OK(cudaPointerGetAttributes(&a, p));
    EQUAL(a.type, cudaMemoryTypeManaged);
    OK(cudaFree(p));
}
CASE(round_trip_of_a_large_copy)
{
    const size_t n = 5 << 20;
    std::vector<char> a(n), b(n);
    for (size_t i = 0; i < n; i++)
        a[i] = (char)(i * 31 >> 3);
    char *p;
    OK(cudaMalloc(&p, n));
    OK(cudaMemcpy(p, a.data(), n, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(b.data(), p, n, cudaMemcpyDeviceToHost));
    CHECK(a == b);
}
CASE(copy_within_the_device)
{
    int *p, *q, v = 3, w = 0;
    OK(cudaMalloc(&p, 4));
    OK(cudaMalloc(&q, 4));
    OK(cudaMemcpy(p, &v, 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(q, p, 4, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(&w, q, 4, cudaMemcpyDeviceToHost));
    EQUAL(w, 3);
}
CASE(copy_default_finds_the_direction)
{
    int *p, v = 8, w = 0;
    OK(cudaMalloc(&p, 4));
    OK(cudaMemcpy(p, &v, 4, cudaMemcpyDefault));
    OK(cudaMemcpy(&w, p, 4, cudaMemcpyDefault));
    EQUAL(w, 8);
}
CASE(copy_host_to_host)
{
    int v = 8, w = 0;
    OK(cudaMemcpy(&w, &v, 4, cudaMemcpyHostToHost));
    EQUAL(w, 8);
}
CASE(copy_of_an_unknown_kind)
{
    int v = 8, w = 0;
    GIVES(cudaMemcpy(&w, &v, 4, (cudaMemcpyKind)17), cudaErrorInvalidMemcpyDirection);
}
CASE(copy_of_nothing)
{
    int *p;
    OK(cudaMalloc(&p, 4));
    OK(cudaMemcpy(p, nullptr, 0, cudaMemcpyHostToDevice));
}
CASE(copy_beyond_the_allocation_is_refused)
{
    driver_up();
    CUdeviceptr p;
    static char host[8192];
    OK(cuMemAlloc(&p, 4096));
    GIVES(cuMemcpyHtoD(p, host, 8192), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemcpyDtoH(host, p + 4000, 200), CUDA_ERROR_INVALID_VALUE);
}
CASE(copy_to_a_pointer_that_is_none)
{
    driver_up();
    int v = 0;
    GIVES(cuMemcpyHtoD(0x10, &v, 4), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemcpyHtoD(0, &v, 4), CUDA_ERROR_INVALID_VALUE);
}
CASE(pageable_source_may_change_after_the_call)
{
    int *p, v[4] = {1, 2, 3, 4}, w[4] = {};
    cudaStream_t s;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMalloc(&p, 16));
    OK(cudaMemcpyAsync(p, v, 16, cudaMemcpyHostToDevice, s));
    memset(v, 0, sizeof v);
    OK(cudaMemcpyAsync(w, p, 16, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    EQUAL(w[3], 4);
}
CASE(pageable_destination_is_there_when_the_call_returns)
{
    int *p, w = 0, v = 5;
    cudaStream_t s;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMalloc(&p, 4));
    OK(cudaMemcpyAsync(p, &v, 4, cudaMemcpyHostToDevice, s));
    OK(cudaMemcpyAsync(&w, p, 4, cudaMemcpyDeviceToHost, s));
    EQUAL(w, 5);
}
CASE(copy_of_a_rectangle)
{
    char *p, host[100], back[60] = {};
    size_t pitch;
    for (int i = 0; i < 100; i++)
        host[i] = (char)i;
    OK(cudaMallocPitch(&p, &pitch, 10, 6));
    OK(cudaMemcpy2D(p, pitch, host, 12, 10, 6, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(back, 10, p, pitch, 10, 6, cudaMemcpyDeviceToHost));
    EQUAL(back[0], 0);
    EQUAL(back[59], 5 * 12 + 9);
}
CASE(rectangle_wider_than_its_pitch_is_refused)
{
    char *p, host[100];
    OK(cudaMalloc(&p, 1000));
    GIVES(cudaMemcpy2D(p, 5, host, 10, 10, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
}
CASE(copy_of_a_box)
{
    driver_up();
    CUdeviceptr p;
    unsigned char host[4 * 5 * 6], back[2 * 2 * 2] = {};
    for (size_t i = 0; i < sizeof host; i++)
        host[i] = (unsigned char)i;
    OK(cuMemAlloc(&p, sizeof host));
    OK(cuMemcpyHtoD(p, host, sizeof host));
    CUDA_MEMCPY3D c = {};
    c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = p;
    c.srcPitch = 6;
    c.srcHeight = 5;
    c.srcXInBytes = 1;
    c.srcY = 2;
    c.srcZ = 1;
    c.dstMemoryType = CU_MEMORYTYPE_HOST;
    c.dstHost = back;
    c.dstPitch = 2;
    c.dstHeight = 2;
    c.WidthInBytes = c.Height = c.Depth = 2;
    OK(cuMemcpy3D(&c));
    EQUAL(back[0], 1 + 2 * 6 + 1 * 30);
    EQUAL(back[7], 2 + 3 * 6 + 2 * 30);
}
CASE(memset_of_each_width)
{
    driver_up();
    CUdeviceptr p;
    unsigned char b[64];
    OK(cuMemAlloc(&p, 64));
    OK(cuMemsetD8(p, 0x11, 64));
    OK(cuMemsetD16(p + 16, 0x2233, 8));
    OK(cuMemsetD32(p + 32, 0x44556677, 4));
    OK(cuMemcpyDtoH(b, p, 64));
    EQUAL(b[15], 0x11);
    EQUAL(b[16], 0x33);
    EQUAL(b[17], 0x22);
    EQUAL(b[47], 0x44);
    EQUAL(b[48], 0x11);
}
CASE(memset_of_a_misaligned_address_is_refused)
{
    driver_up();
    CUdeviceptr p;
    OK(cuMemAlloc(&p, 64));
    GIVES(cuMemsetD32(p + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemsetD16(p + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
}
CASE(memset_of_a_rectangle)
{
    driver_up();
    CUdeviceptr p;
    unsigned char b[64];
    OK(cuMemAlloc(&p, 64));
    OK(cuMemsetD8(p, 0, 64));
    OK(cuMemsetD2D8(p, 16, 9, 3, 2));
    OK(cuMemcpyDtoH(b, p, 64));
    EQUAL(b[2] + b[3] + b[16] + b[18] + b[19] + b[32], 27);
}
CASE(async_allocation_in_stream_order)
{
    int *p, *q, w[32];
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaMallocAsync(&p, 128, s));
    OK(cudaMemsetAsync(p, 0, 128, s));
    add_one<<<1, 32, 0, s>>>(p, 32);
    OK(cudaMemcpyAsync(w, p, 128, cudaMemcpyDeviceToHost, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaMallocAsync(&q, 128, s));
    OK(cudaStreamSynchronize(s));
    EQUAL(w[31], 1);
    OK(cudaFreeAsync(q, s));
}
CASE(async_free_makes_room)
{
    size_t free_bytes, total;
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaMemGetInfo(&free_bytes, &total));
    for (int i = 0; i < 6; i++) {
        char *p;
        OK(cudaMallocAsync(&p, free_bytes / 2, s));
        OK(cudaMemsetAsync(p, 0, 1000, s));
        OK(cudaFreeAsync(p, s));
    }
    OK(cudaStreamSynchronize(s));
}
CASE(async_memory_may_be_freed_by_free)
{
    char *p;
    OK(cudaMallocAsync(&p, 1000, 0));
    OK(cudaFree(p));
}
CASE(pool_attributes)
{
    cudaMemPool_t pool, same;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaDeviceGetMemPool(&same, 0));
    CHECK(pool == same);
    uint64_t threshold = 12345, got = 0;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
    EQUAL(got, 12345);
    char *p;
    OK(cudaMallocAsync(&p, 4096, 0));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &got));
    CHECK(got >= 4096);
    OK(cudaMemPoolTrimTo(pool, 0));
    OK(cudaFreeAsync(p, 0));
    OK(cudaDeviceSynchronize());
    uint64_t high = 1;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &high) != cudaSuccess);
    high = 0;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &high));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &got));
    EQUAL(got, 0);
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &got));
    CHECK(got >= 4096);
}
CASE(pool_memory_tells_its_pool)
{
    driver_up();
    CUmemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemoryPool own, shared, got = NULL;
    CUmemPoolPtrExportData data;
    CUdeviceptr p, q, plain;
    OK(cuMemPoolCreate(&own, &props));
    props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    OK(cuMemPoolCreate(&shared, &props));
    OK(cuMemAllocFromPoolAsync(&p, 1000, own, 0));
    OK(cuMemAllocFromPoolAsync(&q, 1000, shared, 0));
    OK(cuMemAlloc(&plain, 1000));
    OK(cuStreamSynchronize(0));
    OK(cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
    CHECK(got == own);
    OK(cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, q + 8));
    CHECK(got == shared);
    OK(cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, plain));
    CHECK(got == NULL);
    GIVES(cuMemPoolExportPointer(&data, p), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolExportPointer(&data, q));
    OK(cuMemFreeAsync(p, 0));
    OK(cuMemFreeAsync(q, 0));
    OK(cuMemFree(plain));
    OK(cuMemPoolDestroy(own));
    OK(cuMemPoolDestroy(shared));
}
CASE(ipc_handles_are_for_plain_memory_and_other_processes)
{
    driver_up();
    CUdeviceptr p, q;
    CUipcMemHandle h;
    OK(cuMemAlloc(&p, 4 << 20));
    OK(cuIpcGetMemHandle(&h, p));
    GIVES(cuIpcOpenMemHandle(&q, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
          CUDA_ERROR_INVALID_CONTEXT);
}
CASE(reading_beyond_an_allocation_faults_sooner_or_later)
{
    int *p;
    OK(cudaMalloc(&p, 4 << 20));
    add_one<<<1, 1>>>(p + (1u << 30), 1); // 4 GiB further
    GIVES(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}
CASE(null_in_a_kernel_faults)
{
    add_one<<<1, 1>>>(nullptr, 1);
    GIVES(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    GIVES(cudaGetLastError(), cudaErrorIllegalAddress);
    void *p;
    GIVES(cudaMalloc(&p, 100), cudaErrorIllegalAddress);
}
CASE(batch_of_copies)
{
    driver_up();
    CUdeviceptr p;
    CUstream s;
    int *host;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&p, 64));
    OK(cuMemHostAlloc((void **)&host, 64, 0));
    for (int i = 0; i < 16; i++)
        host[i] = i;
    CUdeviceptr dsts[2] = {p + 32, p}, srcs[2] = {(CUdeviceptr)host, (CUdeviceptr)(host + 8)};
    size_t sizes[2] = {32, 32}, first = 0;
    CUmemcpyAttributes attributes = {};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    OK(cuMemcpyBatchAsync(dsts, srcs, sizes, 2, &attributes, &first, 1, s));
    int back[16] = {};
    OK(cuMemcpyDtoHAsync(back, p, 64, s));
    OK(cuStreamSynchronize(s));
    EQUAL(back[0], 8);
    EQUAL(back[8], 0);
    EQUAL(back[15], 7);
}

// Boxes: pitch of a row, rows of a slice; positions and widths are in bytes where no array takes
// part.
CASE(malloc_3d_gives_a_pitch_and_the_asked_size)
{
    cudaPitchedPtr p;
    OK(cudaMalloc3D(&p, make_cudaExtent(100, 5, 3)));
    CHECK(p.pitch >= 100);
    EQUAL(p.xsize, 100);
    EQUAL(p.ysize, 5);
    OK(cudaMemset(p.ptr, 1, p.pitch * 5 * 3));
    OK(cudaFree(p.ptr));
}

static cudaMemcpy3DParms box_copy(cudaPitchedPtr from, cudaPitchedPtr to, cudaExtent extent,
                                  cudaMemcpyKind kind)
{
    cudaMemcpy3DParms q = {};
    q.srcPtr = from;
    q.dstPtr = to;
    q.extent = extent;
    q.kind = kind;
    return q;
}

CASE(runtime_copy_of_a_box)
{
    static unsigned char a[3][5][100], b[3][5][100];
    for (int i = 0; i < 1500; i++)
        a[0][0][i] = (unsigned char)(i * 7);
    cudaExtent all = make_cudaExtent(100, 5, 3);
    cudaPitchedPtr p, ha = make_cudaPitchedPtr(a, 100, 100, 5),
                      hb = make_cudaPitchedPtr(b, 100, 100, 5);
    OK(cudaMalloc3D(&p, all));
    cudaMemcpy3DParms in = box_copy(ha, p, all, cudaMemcpyHostToDevice);
    cudaMemcpy3DParms out = box_copy(p, hb, all, cudaMemcpyDeviceToHost);
    OK(cudaMemcpy3D(&in));
    OK(cudaMemcpy3D(&out));
    CHECK(memcmp(a, b, sizeof a) == 0);
}

CASE(copy_of_a_box_at_positions)
{
    static unsigned char a[3][5][100], b[3][5][100];
    memset(a, 9, sizeof a);
    a[1][2][30] = 1;
    a[2][3][39] = 2;
    cudaExtent all = make_cudaExtent(100, 5, 3);
    cudaPitchedPtr p;
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc3D(&p, all));
    OK(cudaMemset3D(p, 0, all));
    cudaMemcpy3DParms in = box_copy(make_cudaPitchedPtr(a, 100, 100, 5), p,
                                    make_cudaExtent(10, 2, 2), cudaMemcpyHostToDevice);
    in.srcPos = make_cudaPos(30, 2, 1);
    in.dstPos = make_cudaPos(0, 1, 0);
    OK(cudaMemcpy3DAsync(&in, s));
    cudaMemcpy3DParms out =
        box_copy(p, make_cudaPitchedPtr(b, 100, 100, 5), all, cudaMemcpyDeviceToHost);
    OK(cudaMemcpy3DAsync(&out, s));
    OK(cudaStreamSynchronize(s));
    EQUAL(b[0][1][0], 1);
    EQUAL(b[0][1][1], 9);
    EQUAL(b[1][2][9], 2);
    EQUAL(b[1][2][10], 0);
    EQUAL(b[0][0][0], 0);
    EQUAL(b[2][1][0], 0);
}

CASE(memset_of_a_box)
{
    static unsigned char b[2][4][64];
    cudaPitchedPtr p;
    OK(cudaMalloc3D(&p, make_cudaExtent(64, 4, 2)));
    OK(cudaMemset3D(p, 1, make_cudaExtent(64, 4, 2)));
    OK(cudaMemset3DAsync(p, 7, make_cudaExtent(10, 2, 2), 0));
    cudaMemcpy3DParms out = box_copy(p, make_cudaPitchedPtr(b, 64, 64, 4),
                                     make_cudaExtent(64, 4, 2), cudaMemcpyDeviceToHost);
    OK(cudaMemcpy3D(&out));
    EQUAL(b[0][0][9], 7);
    EQUAL(b[0][0][10], 1);
    EQUAL(b[0][2][0], 1);
    EQUAL(b[1][1][9], 7);
    EQUAL(b[1][2][0], 1);
}

CASE(copy_of_a_rectangle_within_the_device)
{
    char *a, *b, host[8 * 16];
    OK(cudaMalloc(&a, 8 * 32));
    OK(cudaMalloc(&b, 8 * 16));
    OK(cudaMemset(b, 0, 8 * 16));
    OK(cudaMemset(a, 5, 8 * 32));
    OK(cudaMemcpy2DAsync(b + 4, 16, a, 32, 8, 8, cudaMemcpyDeviceToDevice, 0));
    OK(cudaMemcpy(host, b, sizeof host, cudaMemcpyDeviceToHost));
    EQUAL(host[3], 0);
    EQUAL(host[4], 5);
    EQUAL(host[11], 5);
    EQUAL(host[12], 0);
    EQUAL(host[7 * 16 + 11], 5);
}

CASE(set_bytes_only_of_the_value)
{
    // "value" is an int of which each byte gets the low eight bits.
    unsigned char *p, got[2];
    OK(cudaMalloc(&p, 2));
    OK(cudaMemset(p, 0x1234, 2));
    OK(cudaMemcpy(got, p, 2, cudaMemcpyDeviceToHost));
    EQUAL(got[0], 0x34);
    EQUAL(got[1], 0x34);
}
