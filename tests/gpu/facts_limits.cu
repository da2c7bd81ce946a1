/* SPDX-License-Identifier: Apache-2.0 */
/* How many handles and mappings a process may hold, and what a plan's worth of them costs. */
#include "gpufact.h"

static const size_t handles_wanted = ROUNDS(100000, 60), mappings_wanted = ROUNDS(100000, 500),
                    plan_mappings = ROUNDS(40000, 200);

/* As many handles as there is memory for, a tenth left free. */
static std::vector<CUmemGenericAllocationHandle> take(size_t wanted)
{
    std::vector<CUmemGenericAllocationHandle> handles;
    size_t free_bytes, total;
    NEED(cuMemGetInfo(&free_bytes, &total));
    wanted = std::min(wanted, free_bytes / 10 * 9 / page);
    for (size_t i = 0; i < wanted; i++) {
        CUmemGenericAllocationHandle handle;
        if (cuMemCreate(&handle, page, &prop, 0) != CUDA_SUCCESS)
            break;
        handles.push_back(handle);
    }
    return handles;
}

/* Maps HANDLES, over and over, behind up to COUNT pages; returns how many were. */
static size_t map_all(CUdeviceptr va, size_t count,
                      const std::vector<CUmemGenericAllocationHandle> &handles, CUresult *why)
{
    for (size_t i = 0; i < count; i++) {
        *why = cuMemMap(va + i * page, page, 0, handles[i % handles.size()], 0);
        if (*why != CUDA_SUCCESS)
            return i;
    }
    return count;
}

static void handles()
{
    double start = now_us();
    std::vector<CUmemGenericAllocationHandle> all = take(handles_wanted);
    double took = now_us() - start;
    say_number(all.size() >= ROUNDS(16384U, 16U) ? "ok" : "fact", "handles held at once",
               (double)all.size(), "handles",
               all.size() >= handles_wanted ? "as many as tried" : "memory or the driver ended it");
    say_number("fact", "creating one of so many", took / (double)std::max<size_t>(all.size(), 1),
               "us");
    start = now_us();
    for (CUmemGenericAllocationHandle handle : all)
        NEED(cuMemRelease(handle));
    say_number("fact", "releasing one of so many",
               (now_us() - start) / (double)std::max<size_t>(all.size(), 1), "us");
}

static void mappings()
{
    std::vector<CUmemGenericAllocationHandle> all = take(ROUNDS(1000, 20));
    CUdeviceptr va;
    CUresult why = CUDA_SUCCESS;
    NEED(cuMemAddressReserve(&va, mappings_wanted * page, 0, 0, 0));
    double start = now_us();
    size_t got = map_all(va, mappings_wanted, all, &why);
    double took = now_us() - start;
    say_number(got >= ROUNDS(40000U, 200U) ? "ok" : "bad", "mappings held at once", (double)got,
               "mappings", result_name(why).c_str());
    say_number("fact", "mapping one of so many", took / (double)std::max<size_t>(got, 1), "us");
    start = now_us();
    size_t allowed = 0;
    why = CUDA_SUCCESS;
    for (; allowed < got && why == CUDA_SUCCESS; allowed += 100)
        why = cuMemSetAccess(va + allowed * page, std::min<size_t>(100, got - allowed) * page,
                             &both_ways, 1);
    say_number(why == CUDA_SUCCESS ? "ok" : "bad", "mappings made accessible, 100 a call",
               (double)std::min(allowed, got), "mappings", result_name(why).c_str());
    say_number("fact", "making one of so many accessible",
               (now_us() - start) / (double)std::max<size_t>(got, 1), "us");
    start = now_us();
    for (size_t i = 0; i < got; i++)
        NEED(cuMemUnmap(va + i * page, page));
    say_number("fact", "unmapping one of so many",
               (now_us() - start) / (double)std::max<size_t>(got, 1), "us");
}

/* spill_perform_alias maps a plan's aliases in one go, between two iterations. */
static void plan_at_once()
{
    std::vector<CUmemGenericAllocationHandle> all = take(ROUNDS(4096, 20));
    CUdeviceptr va;
    CUresult why = CUDA_SUCCESS;
    NEED(cuMemAddressReserve(&va, plan_mappings * page, 0, 0, 0));
    double start = now_us();
    size_t got = map_all(va, plan_mappings, all, &why);
    double mapped = now_us();
    if (got == plan_mappings)
        why = cuMemSetAccess(va, got * page, &both_ways, 1);
    double end = now_us();
    say_number(got == plan_mappings && why == CUDA_SUCCESS ? "ok" : "bad", "mappings of one plan",
               (double)got, "mappings", result_name(why).c_str());
    say_number("fact", "mapping a plan", (mapped - start) / 1000, "ms");
    say_number("fact", "making a plan accessible in one call", (end - mapped) / 1000, "ms");
}

int main(int argc, char **argv)
{
    static const struct fact facts[] = {
        {"handles", handles}, {"mappings", mappings}, {"plan_at_once", plan_at_once}};
    return run_facts(argc, argv, facts, sizeof(facts) / sizeof(facts[0]));
}
