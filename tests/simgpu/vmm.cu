// SPDX-License-Identifier: Apache-2.0
// Virtual memory management, as cuda.h and the programming guide (virtual memory management,
// virtual aliasing) document it.
#include "simtest.h"

__global__ void write_int(int *p, int v)
{
    *p = v;
}

static size_t page;
static CUmemAllocationProp prop;
static CUmemAccessDesc both;

static void up()
{
    driver_up();
    prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = 0;
    both.location = prop.location;
    both.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(cuMemGetAllocationGranularity(&page, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
}

static CUdeviceptr reserve(size_t pages)
{
    CUdeviceptr va = 0;
    OK(cuMemAddressReserve(&va, pages * page, 0, 0, 0));
    return va;
}

static CUmemGenericAllocationHandle create(size_t pages)
{
    CUmemGenericAllocationHandle h = 0;
    OK(cuMemCreate(&h, pages * page, &prop, 0));
    return h;
}

CASE(granularity_is_a_power_of_two)
{
    up();
    CHECK(page != 0 && (page & (page - 1)) == 0);
    size_t recommended;
    OK(cuMemGetAllocationGranularity(&recommended, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    CHECK(recommended % page == 0);
    GIVES(cuMemGetAllocationGranularity(nullptr, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
          CUDA_ERROR_INVALID_VALUE);
}

CASE(reserve_is_aligned_and_disjoint)
{
    up();
    CUdeviceptr a = reserve(3), b = reserve(3);
    CHECK(a % page == 0 && b % page == 0);
    CHECK(a + 3 * page <= b || b + 3 * page <= a);
    OK(cuMemAddressFree(a, 3 * page));
    OK(cuMemAddressFree(b, 3 * page));
}

CASE(reserve_many_tebibytes)
{
    up();
    CUdeviceptr va;
    OK(cuMemAddressReserve(&va, (size_t)4 << 40, 0, 0, 0));
    OK(cuMemAddressFree(va, (size_t)4 << 40));
}

CASE(reserve_rejects_odd_sizes)
{
    up();
    CUdeviceptr va;
    GIVES(cuMemAddressReserve(&va, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemAddressReserve(&va, page + 1, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

CASE(reserve_honours_alignment)
{
    up();
    CUdeviceptr va;
    OK(cuMemAddressReserve(&va, page, 64 * page, 0, 0));
    CHECK(va % (64 * page) == 0);
}

CASE(create_rejects_odd_sizes)
{
    up();
    CUmemGenericAllocationHandle h;
    GIVES(cuMemCreate(&h, page / 2, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemCreate(&h, 0, &prop, 0), CUDA_ERROR_INVALID_VALUE);
}

CASE(map_write_read)
{
    up();
    CUdeviceptr va = reserve(2);
    CUmemGenericAllocationHandle h = create(2);
    OK(cuMemMap(va, 2 * page, 0, h, 0));
    OK(cuMemSetAccess(va, 2 * page, &both, 1));
    OK(cuMemsetD32(va, 7, 2 * page / 4));
    int x = 0;
    OK(cuMemcpyDtoH(&x, va + 2 * page - 4, 4));
    EQUAL(x, 7);
    OK(cuMemUnmap(va, 2 * page));
    OK(cuMemRelease(h));
    OK(cuMemAddressFree(va, 2 * page));
}

CASE(two_addresses_of_one_handle_alias)
{
    up();
    CUdeviceptr a = reserve(1), b = reserve(1);
    CUmemGenericAllocationHandle h = create(1);
    OK(cuMemMap(a, page, 0, h, 0));
    OK(cuMemMap(b, page, 0, h, 0));
    OK(cuMemSetAccess(a, page, &both, 1));
    OK(cuMemSetAccess(b, page, &both, 1));
    write_int<<<1, 1>>>((int *)a, 41);
    int x = 0;
    OK(cuMemcpyDtoH(&x, b, 4)); // ordered by the default stream
    EQUAL(x, 41);
    write_int<<<1, 1>>>((int *)b, 42);
    OK(cuMemcpyDtoH(&x, a, 4));
    EQUAL(x, 42);
}

CASE(memory_outlives_release_while_mapped)
{
    up();
    CUdeviceptr va = reserve(1);
    CUmemGenericAllocationHandle h = create(1);
    OK(cuMemMap(va, page, 0, h, 0));
    OK(cuMemSetAccess(va, page, &both, 1));
    OK(cuMemRelease(h));
    OK(cuMemsetD32(va, 5, 1));
    int x = 0;
    OK(cuMemcpyDtoH(&x, va, 4));
    EQUAL(x, 5);
    OK(cuMemUnmap(va, page));
}

CASE(memory_returns_with_the_last_reference)
{
    up();
    size_t before, during, after, total;
    CUdeviceptr va = reserve(8);
    OK(cuMemGetInfo(&before, &total));
    CUmemGenericAllocationHandle h = create(8);
    OK(cuMemMap(va, 8 * page, 0, h, 0));
    OK(cuMemRelease(h));
    OK(cuMemGetInfo(&during, &total));
    CHECK(before - during >= 8 * page);
    OK(cuMemUnmap(va, 8 * page));
    OK(cuMemGetInfo(&after, &total));
    EQUAL(after, before);
}

CASE(map_offset_must_be_zero)
{
    up();
    CUdeviceptr va = reserve(2);
    CUmemGenericAllocationHandle h = create(2);
    GIVES(cuMemMap(va, page, page, h, 0), CUDA_ERROR_INVALID_VALUE);
}

CASE(map_twice_at_one_address_fails)
{
    up();
    CUdeviceptr va = reserve(1);
    CUmemGenericAllocationHandle h = create(1), g = create(1);
    OK(cuMemMap(va, page, 0, h, 0));
    GIVES(cuMemMap(va, page, 0, g, 0), CUDA_ERROR_INVALID_VALUE);
}

CASE(map_outside_a_reservation_fails)
{
    up();
    CUdeviceptr va = reserve(1);
    CUmemGenericAllocationHandle h = create(2);
    GIVES(cuMemMap(va, 2 * page, 0, h, 0), CUDA_ERROR_INVALID_VALUE);
}

CASE(unmap_of_part_of_a_mapping_fails)
{
    up();
    CUdeviceptr va = reserve(2);
    CUmemGenericAllocationHandle h = create(2);
    OK(cuMemMap(va, 2 * page, 0, h, 0));
    GIVES(cuMemUnmap(va, page), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemUnmap(va + page, page), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemUnmap(va, 2 * page));
}

CASE(unmap_spans_several_mappings)
{
    up();
    CUdeviceptr va = reserve(2);
    OK(cuMemMap(va, page, 0, create(1), 0));
    OK(cuMemMap(va + page, page, 0, create(1), 0));
    OK(cuMemUnmap(va, 2 * page));
}

CASE(unmap_of_nothing_fails)
{
    up();
    GIVES(cuMemUnmap(reserve(1), page), CUDA_ERROR_INVALID_VALUE);
}

CASE(set_access_needs_a_whole_mapping)
{
    up();
    CUdeviceptr va = reserve(2);
    OK(cuMemMap(va, page, 0, create(1), 0));
    GIVES(cuMemSetAccess(va, 2 * page, &both, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemSetAccess(va, page, &both, 1));
}

CASE(access_is_reported)
{
    up();
    CUdeviceptr va = reserve(1);
    OK(cuMemMap(va, page, 0, create(1), 0));
    unsigned long long flags = 99;
    OK(cuMemGetAccess(&flags, &prop.location, va));
    EQUAL(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OK(cuMemSetAccess(va, page, &both, 1));
    OK(cuMemGetAccess(&flags, &prop.location, va));
    EQUAL(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

CASE(unmapped_address_faults)
{
    up();
    CUdeviceptr va = reserve(1);
    write_int<<<1, 1>>>((int *)va, 1);
    GIVES(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    GIVES(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    CUdeviceptr p;
    GIVES(cuMemAlloc(&p, 100), CUDA_ERROR_ILLEGAL_ADDRESS);
}

CASE(mapping_without_access_faults)
{
    up();
    CUdeviceptr va = reserve(1);
    OK(cuMemMap(va, page, 0, create(1), 0));
    write_int<<<1, 1>>>((int *)va, 1);
    GIVES(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

CASE(address_free_needs_unmapped_and_whole)
{
    up();
    CUdeviceptr va = reserve(2);
    OK(cuMemMap(va, page, 0, create(1), 0));
    GIVES(cuMemAddressFree(va, page), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemUnmap(va, page));
    OK(cuMemAddressFree(va, 2 * page));
}

CASE(retain_gives_the_handle_back)
{
    up();
    CUdeviceptr va = reserve(1);
    CUmemGenericAllocationHandle h = create(1), g = 0;
    OK(cuMemMap(va, page, 0, h, 0));
    OK(cuMemRetainAllocationHandle(&g, (void *)(va + 100)));
    CHECK(g == h);
    OK(cuMemRelease(h));
    OK(cuMemRelease(g));
    OK(cuMemUnmap(va, page));
}

CASE(retain_of_plain_memory_fails)
{
    up();
    CUdeviceptr p;
    CUmemGenericAllocationHandle g;
    OK(cuMemAlloc(&p, 4 << 20));
    GIVES(cuMemRetainAllocationHandle(&g, (void *)p), CUDA_ERROR_INVALID_VALUE);
}

CASE(properties_from_handle)
{
    up();
    CUmemAllocationProp q = {};
    OK(cuMemGetAllocationPropertiesFromHandle(&q, create(1)));
    EQUAL(q.type, CU_MEM_ALLOCATION_TYPE_PINNED);
    EQUAL(q.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
}

CASE(create_beyond_capacity_is_out_of_memory)
{
    up();
    size_t free_bytes, total;
    CUmemGenericAllocationHandle h;
    OK(cuMemGetInfo(&free_bytes, &total));
    GIVES(cuMemCreate(&h, (total / page + 1) * page, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
}

CASE(attributes_of_a_reserved_unmapped_address)
{
    up();
    CUdeviceptr va = reserve(4);
    unsigned int mapped = 9;
    CUdeviceptr start = 0, itself = 0;
    size_t size = 0;
    OK(cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, va + page));
    EQUAL(mapped, 0);
    OK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, va + page));
    OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, va + page));
    CHECK(start == va && size == 4 * page);
    OK(cuMemMap(va + page, page, 0, create(1), 0));
    OK(cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, va + page));
    EQUAL(mapped, 1);
    OK(cuPointerGetAttribute(&itself, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, va + page + 4));
    CHECK(itself == va + page + 4);
}

CASE(address_range_of_a_mapping)
{
    up();
    CUdeviceptr va = reserve(4), base = 0;
    size_t size = 0;
    OK(cuMemMap(va + page, 2 * page, 0, create(2), 0));
    OK(cuMemSetAccess(va + page, 2 * page, &both, 1));
    OK(cuMemGetAddressRange(&base, &size, va + 2 * page + 5));
    CHECK(base == va + page && size == 2 * page);
}

CASE(a_page_moves_to_another_frame_at_the_same_address)
{
    up();
    CUdeviceptr va = reserve(1);
    CUmemGenericAllocationHandle a = create(1), b = create(1);
    int x = 0;
    for (int round = 0; round < 6; round++) {
        OK(cuMemMap(va, page, 0, round % 2 ? b : a, 0));
        OK(cuMemSetAccess(va, page, &both, 1));
        if (round < 2) {
            OK(cuMemsetD32(va, 10 + round, 1));
        } else {
            OK(cuMemcpyDtoH(&x, va, 4));
            EQUAL(x, 10 + round % 2);
        }
        OK(cuCtxSynchronize());
        OK(cuMemUnmap(va, page));
    }
}

CASE(copy_across_mappings)
{
    up();
    CUdeviceptr va = reserve(3);
    for (int i = 0; i < 3; i++)
        OK(cuMemMap(va + i * page, page, 0, create(1), 0));
    OK(cuMemSetAccess(va, 3 * page, &both, 1));
    char *host = (char *)malloc(3 * page), *back = (char *)malloc(3 * page);
    for (size_t i = 0; i < 3 * page; i++)
        host[i] = (char)(i * 7 + (i >> 12));
    OK(cuMemcpyHtoD(va, host, 3 * page));
    OK(cuMemcpyDtoH(back, va, 3 * page));
    CHECK(memcmp(host, back, 3 * page) == 0);
}
