/* SPDX-License-Identifier: Apache-2.0 */
/* Six buffers of 4 MiB, each used by every kind of call while most of the others, and it, may be
 * out. Prints what a program sees; the same is to be seen with ample memory and without the
 * library. */
#define __CUDA_API_VERSION_INTERNAL
#include <cudaTypedefs.h>
#include <string.h>

#include "must.h"

enum { BUFFERS = 6 };
#define BYTES ((size_t)4 << 20)

static CUdeviceptr buffer[BUFFERS];
static unsigned char *host;

/* Uses all the others, so that buffer B is the one unused for longest. */
static void push_out(int b)
{
    for (int i = 0; i < BUFFERS; i++)
        if (i != b)
            MUST(cuMemsetD8_v2(buffer[i] + BYTES - 1, 7, 1));
}

static unsigned long sum(int b)
{
    unsigned long s = 0;
    MUST(cuMemcpyDtoH_v2(host, buffer[b], BYTES));
    for (size_t i = 0; i < BYTES - 1; i++)
        s = s * 31 + host[i];
    return s;
}

static void show(const char *what, CUresult result, int b)
{
    MUST(cuCtxSynchronize());
    printf("%-28s %3d  %016lx\n", what, (int)result, sum(b));
}

#define TRY(b, call)                                                                               \
    do {                                                                                           \
        push_out(b);                                                                               \
        CUresult result_ = call;                                                                   \
        show(#call, result_, b);                                                                   \
    } while (0)

static void sets_and_copies(CUcontext context)
{
    CUDA_MEMCPY3D_PEER peer = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                               .srcDevice = buffer[1],
                               .srcContext = context,
                               .srcPitch = 1024,
                               .srcHeight = 16,
                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .dstDevice = buffer[4],
                               .dstContext = context,
                               .dstPitch = 1024,
                               .dstHeight = 16,
                               .WidthInBytes = 512,
                               .Height = 16,
                               .Depth = 8};
    CUdeviceptr to[] = {buffer[2], buffer[3] + 4096}, from[] = {buffer[5], buffer[0]};
    size_t sizes[] = {BYTES / 2, 8192}, index = 0;
    CUmemcpyAttributes ordered = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    CUstream stream;
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    TRY(0, cuMemsetD2D16_v2(buffer[0], 4096, 0x1234, 100, 50));
    TRY(1, cuMemsetD2D32_v2(buffer[1], 4096, 0x12345678, 100, 50));
    TRY(2, cuMemsetD2D32Async(buffer[2] + 4, 8192, 0x9abcdef0, 100, 50, stream));
    TRY(3, cuMemcpyPeer(buffer[3], context, buffer[0], context, BYTES / 2));
    TRY(4, cuMemcpy3DPeer(&peer));
    TRY(2, cuMemcpyBatchAsync_v2(to, from, sizes, 2, &ordered, &index, 1, stream));
    TRY(3, cuMemcpyDtoD_v2(buffer[3], buffer[5], 4096));
    memset(host, 0x55, 8192);
    TRY(5, cuMemcpy(buffer[5] + 100, (CUdeviceptr)host, 8192));
}

static void values(void)
{
    CUstream stream;
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    TRY(4, cuStreamWriteValue32_v2(stream, buffer[4], 0xabcdef, CU_STREAM_WRITE_VALUE_DEFAULT));
    TRY(4, cuStreamWaitValue32_v2(stream, buffer[4], 0xabcdef, CU_STREAM_WAIT_VALUE_EQ));
}

static void questions(void)
{
    CUdeviceptr base = 0;
    size_t bytes = 0;
    for (int a = CU_POINTER_ATTRIBUTE_MEMORY_TYPE; a <= CU_POINTER_ATTRIBUTE_MAPPED; a++) {
        unsigned long long value[4] = {0};
        if (a == CU_POINTER_ATTRIBUTE_P2P_TOKENS || a == CU_POINTER_ATTRIBUTE_BUFFER_ID ||
            a == CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE)
            continue;
        push_out(3);
        CUresult result = cuPointerGetAttribute(value, (CUpointer_attribute)a, buffer[3] + 5);
        if (value[0] >= buffer[3] && value[0] < buffer[3] + BYTES)
            value[0] -= buffer[3];
        printf("attribute %d: %d %llu\n", a, (int)result, value[0]);
    }
    push_out(3);
    MUST(cuMemGetAddressRange_v2(&base, &bytes, buffer[3] + 77));
    printf("range: %d %zu\n", base == buffer[3], bytes);
}

static void refusals(void)
{
    CUmemGenericAllocationHandle handle;
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    for (int b = 0; b < 2; b++) { /* one that was used just now, one that was not */
        push_out(1);
        printf("retain %d\n", cuMemRetainAllocationHandle(&handle, (void *)buffer[b]) == 0);
        printf("set access %d\n", cuMemSetAccess(buffer[b], BYTES, &access, 1) == 0);
        printf("unmap %d\n", cuMemUnmap(buffer[b], BYTES) == 0);
        printf("advise %d\n", cuMemAdvise(buffer[b], BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, 0) == 0);
        printf("prefetch %d\n", cuMemPrefetchAsync(buffer[b], BYTES, 0, NULL) == 0);
    }
}

int main(void)
{
    CUcontext context;
    CUdevice device;
    CUstream stream;
    CUdeviceptr other;
    host = malloc(BYTES);
    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuCtxSetCurrent(context));
    for (int b = 0; b < BUFFERS; b++) {
        MUST(cuMemAlloc_v2(&buffer[b], BYTES));
        MUST(cuMemsetD8_v2(buffer[b], (unsigned char)(b + 1), BYTES));
    }
    /* Another holder of the context comes and goes. */
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuDevicePrimaryCtxRelease_v2(device));
    sets_and_copies(context);
    values();
    questions();
    refusals();
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MUST(cuMemAllocAsync(&other, BYTES, stream)); /* counts: two buffers less fit now */
    MUST(cuMemsetD8Async(other, 9, BYTES, stream));
    TRY(0, cuMemcpyDtoDAsync_v2(other, buffer[0], BYTES, stream));
    MUST(cuMemFreeAsync(other, stream));
    MUST(cuMemFreeAsync(buffer[0], stream));
    MUST(cuMemAlloc_v2(&buffer[0], BYTES));
    MUST(cuMemsetD8_v2(buffer[0], 3, BYTES));
    for (int b = 0; b < BUFFERS; b++)
        printf("%016lx\n", sum(b));
    return 0;
}
