/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses without memory behind them, runs of mappings, and how much of either there is. */
#include "gpufact.h"

__global__ void late_write(int *p, long long cycles)
{
#ifndef __SIMGPU__
    long long start = clock64();
    while (clock64() - start < cycles)
        ;
#endif
    *p = 1;
}

/* A kernel that will write the page is running. Ends in a fault where unmap does not wait. */
static void unmap_under_a_kernel()
{
    CUdeviceptr va;
    CUmemGenericAllocationHandle handle;
    NEED(cuMemAddressReserve(&va, page, 0, 0, 0));
    NEED(cuMemCreate(&handle, page, &prop, 0));
    NEED(cuMemMap(va, page, 0, handle, 0));
    NEED(cuMemSetAccess(va, page, &both_ways, 1));
    late_write<<<1, 1>>>((int *)va, 0);
    NEED(cuCtxSynchronize());
    late_write<<<1, 1>>>((int *)va, 200000000);
    double start = now_us();
    CUresult result = cuMemUnmap(va, page);
    double took = now_us() - start;
    CUresult after = cuCtxSynchronize();
    say("fact", "unmap under a running kernel", after == CUDA_SUCCESS ? "waits" : "faults", "",
        (result_name(result) + " after " + std::to_string((long)took) + " us, then " +
         result_name(after))
            .c_str());
}

__global__ void read_word(const int *p, int *out)
{
    *out = *p;
}

/* The guard relies on this: an access to what is out must not go unnoticed. */
static void access_to_unmapped()
{
    CUdeviceptr va;
    int *out = NULL;
    NEED(cudaMalloc((void **)&out, sizeof(*out)));
    NEED(cuMemAddressReserve(&va, 2 * page, 0, 0, 0));
    read_word<<<1, 1>>>((const int *)va, out);
    CUresult result = cuCtxSynchronize();
    say_check("a kernel's read of a reserved, unmapped address faults",
              result == CUDA_ERROR_ILLEGAL_ADDRESS, result_name(result));
}

static void attributes_of_unmapped()
{
    CUdeviceptr va, base = 0;
    size_t bytes = 0;
    NEED(cuMemAddressReserve(&va, 4 * page, 0, 0, 0));
    static const struct {
        CUpointer_attribute attribute;
        const char *name;
    } asked[] = {
        {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, "MEMORY_TYPE"},
        {CU_POINTER_ATTRIBUTE_CONTEXT, "CONTEXT"},
        {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, "DEVICE_ORDINAL"},
        {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, "RANGE_START_ADDR"},
        {CU_POINTER_ATTRIBUTE_RANGE_SIZE, "RANGE_SIZE"},
        {CU_POINTER_ATTRIBUTE_MAPPED, "MAPPED"},
        {CU_POINTER_ATTRIBUTE_BUFFER_ID, "BUFFER_ID"},
    };
    for (const auto &a : asked) {
        unsigned long long value = 0;
        CUresult result = cuPointerGetAttribute(&value, a.attribute, va + page);
        say("fact", (std::string("unmapped: ") + a.name).c_str(), result_name(result).c_str(), "",
            std::to_string(value).c_str());
    }
    CUresult result = cuMemGetAddressRange(&base, &bytes, va + page);
    say("fact", "unmapped: cuMemGetAddressRange", result_name(result).c_str(), "",
        base == va && bytes == 4 * page ? "the reservation" : "");
    /* And mapped as we do it, one handle a page: what would a library see without our answers? */
    CUmemGenericAllocationHandle handle;
    NEED(cuMemCreate(&handle, page, &prop, 0));
    for (int i = 0; i < 2; i++)
        NEED(cuMemMap(va + (size_t)i * page, page, 0, handle, 0));
    NEED(cuMemSetAccess(va, 2 * page, &both_ways, 1));
    result = cuMemGetAddressRange(&base, &bytes, va + page);
    say("fact", "mapped page by page: cuMemGetAddressRange", result_name(result).c_str(), "",
        (std::to_string(bytes / page) + " pages, from page " + std::to_string((base - va) / page))
            .c_str());
}

__global__ void count_up(unsigned *p, size_t n, unsigned from)
{
    for (size_t i = threadIdx.x + (size_t)blockIdx.x * blockDim.x; i < n;
         i += (size_t)blockDim.x * gridDim.x)
        p[i] = from + (unsigned)i;
}

/* A buffer is a run of mappings of different handles: one set-access, and copies across the seams.
 */
static void runs_of_mappings()
{
    const int pages = 4;
    size_t bytes = pages * page, n = bytes / sizeof(unsigned);
    CUdeviceptr va;
    CUmemGenericAllocationHandle handles[pages];
    NEED(cuMemAddressReserve(&va, bytes, 0, 0, 0));
    for (int i = 0; i < pages; i++) {
        NEED(cuMemCreate(&handles[i], page, &prop, 0));
        NEED(cuMemMap(va + (size_t)i * page, page, 0, handles[i], 0));
    }
    CUresult result = cuMemSetAccess(va, bytes, &both_ways, 1);
    say_check("one set access for a run of mappings", result == CUDA_SUCCESS, result_name(result));
    unsigned *host = NULL;
    CUstream stream;
    NEED(cudaMallocHost((void **)&host, bytes));
    NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    count_up<<<8, 128, 0, (cudaStream_t)stream>>>((unsigned *)va, n, 7);
    size_t odd = page - 4096;
    CUresult out = cuMemcpyDtoHAsync(host, va + odd, 2 * page, stream);
    NEED(cuStreamSynchronize(stream));
    bool right = true;
    for (size_t i = 0; i < 2 * page / sizeof(unsigned); i++)
        right = right && host[i] == 7 + (unsigned)(i + odd / sizeof(unsigned));
    say_check("a copy out across mappings", out == CUDA_SUCCESS && right, result_name(out));
    for (size_t i = 0; i < n; i++)
        host[i] = 3 * (unsigned)i;
    CUresult in = cuMemcpyHtoDAsync(va + odd, host, 2 * page, stream);
    NEED(cuStreamSynchronize(stream));
    memset(host, 0, bytes);
    NEED(cuMemcpyDtoHAsync(host, va, bytes, stream));
    NEED(cuStreamSynchronize(stream));
    right = host[0] == 7;
    for (size_t i = 0; i < 2 * page / sizeof(unsigned); i++)
        right = right && host[i + odd / sizeof(unsigned)] == 3 * (unsigned)i;
    say_check("a copy in across mappings", in == CUDA_SUCCESS && right, result_name(in));
    result = cuMemsetD8Async(va, 0x5a, bytes, stream);
    say_check("a memset across mappings",
              result == CUDA_SUCCESS && cuStreamSynchronize(stream) == CUDA_SUCCESS,
              result_name(result));
    result = cuMemUnmap(va + page, page);
    say_check("one mapping of a run is unmapped alone", result == CUDA_SUCCESS,
              result_name(result));
    result = cuMemMap(va + page, page, 0, handles[0], 0);
    if (result == CUDA_SUCCESS)
        result = cuMemSetAccess(va + page, page, &both_ways, 1);
    say_check("another frame is mapped in its place", result == CUDA_SUCCESS, result_name(result));
    result = cuMemUnmap(va, bytes);
    say("fact", "one unmap for a run of mappings", result_name(result).c_str());
}

/* replay/device.c reserves 32 times the card's memory, and halves until it is given. */
static void span()
{
    size_t free_bytes, total, bytes;
    CUdeviceptr va = 0;
    NEED(cuMemGetInfo(&free_bytes, &total));
    bytes = total * 32 / page * page;
    double start = now_us();
    CUresult result = cuMemAddressReserve(&va, bytes, page, 0, 0);
    say_number("fact", "reserving 32 times the card's memory", now_us() - start, "us",
               result_name(result).c_str());
    for (; result != CUDA_SUCCESS && bytes > 2 * total; bytes = bytes / 2 / page * page)
        result = cuMemAddressReserve(&va, bytes / 2 / page * page, page, 0, 0);
    say_check("a span of at least twice the card's memory", result == CUDA_SUCCESS,
              std::to_string(bytes >> 30) + " GiB");
}

/* What cuMemGetInfo calls free, in frames: the default budget. */
static void free_is_usable()
{
    size_t free_bytes, total, limit = ROUNDS(SIZE_MAX, (size_t)256 << 20), taken = 0;
    NEED(cuMemGetInfo(&free_bytes, &total));
    CUmemGenericAllocationHandle handle;
    for (size_t step = std::min((size_t)1 << 30, limit); step >= page; step /= 8)
        while (taken < limit && cuMemCreate(&handle, step, &prop, 0) == CUDA_SUCCESS)
            taken += step;
    say_number(
        "fact", "share of the free memory that frames can have",
        100.0 * (double)taken / (double)std::min(free_bytes, limit), "%",
        (std::to_string(free_bytes >> 20) + " MiB free of " + std::to_string(total >> 20)).c_str());
}

int main(int argc, char **argv)
{
    static const struct fact facts[] = {
        {"unmap_under_a_kernel", unmap_under_a_kernel},
        {"access_to_unmapped", access_to_unmapped},
        {"attributes_of_unmapped", attributes_of_unmapped},
        {"runs_of_mappings", runs_of_mappings},
        {"span", span},
        {"free_is_usable", free_is_usable},
    };
    return run_facts(argc, argv, facts, sizeof(facts) / sizeof(facts[0]));
}
