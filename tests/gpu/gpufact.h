/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs that find out facts about a driver share. Each fact is one command of a
 * program, run in a process of its own, because a fault leaves a context unusable.
 *
 * One line an answer, fields separated by tabs: STATUS NAME VALUE UNIT NOTE. STATUS is "ok" or
 * "bad" for what Spillway's code relies on, "fact" for what only decides how fast it is, "skip"
 * for what this device or driver cannot be asked. */
#ifndef GPUFACT_H
#define GPUFACT_H

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

static CUdevice device;
static CUcontext context;
static size_t page; /* the driver's granularity */
static CUmemAllocationProp prop;
static CUmemAccessDesc both_ways;

static void say(const char *status, const char *name, const char *value, const char *unit = "",
                const char *note = "")
{
    printf("%s\t%s\t%s\t%s\t%s\n", status, name, value, unit, note);
    fflush(stdout);
}

static void say_number(const char *status, const std::string &name, double value, const char *unit,
                       const char *note = "")
{
    char text[40];
    snprintf(text, sizeof(text), value >= 1000 ? "%.0f" : "%.4g", value);
    say(status, name.c_str(), text, unit, note);
}

static void say_check(const char *name, bool good, const std::string &value, const char *note = "")
{
    say(good ? "ok" : "bad", name, value.c_str(), "", note);
}

static std::string result_name(CUresult result)
{
    const char *name = NULL;
    if (cuGetErrorName(result, &name) != CUDA_SUCCESS || name == NULL)
        return std::to_string((int)result);
    return name;
}

/* A call that has to work, or nothing after it means anything. */
#define NEED(call)                                                                                 \
    do {                                                                                           \
        CUresult need_ = (CUresult)(call);                                                         \
        if (need_ != CUDA_SUCCESS) {                                                               \
            say("bad", "call", #call, "", result_name(need_).c_str());                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static double now_us()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* The driver's memory management with the runtime's context: what a program under us has. */
static void device_up()
{
    NEED(cuInit(0));
    NEED(cudaFree(NULL));
    NEED(cuCtxGetCurrent(&context));
    NEED(cuCtxGetDevice(&device));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    both_ways.location = prop.location;
    both_ways.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    NEED(cuMemGetAllocationGranularity(&page, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
}

/* Fewer rounds on the simulated GPU, whose kernels a processor runs. */
#ifdef __SIMGPU__
#define ROUNDS(real, simulated) (simulated)
#else
#define ROUNDS(real, simulated) (real)
#endif

/* Busy for about MS milliseconds. On the simulated GPU work is queued and its time is virtual, so a
 * short loop does. */
__global__ void spin(long long cycles)
{
#ifdef __SIMGPU__
    for (volatile long long i = 0; i < cycles % 1000; i = i + 1)
        ;
#else
    long long start = clock64();
    while (clock64() - start < cycles)
        ;
#endif
}

static void spin_for(double ms, CUstream stream)
{
    int khz = 0;
    if (cuDeviceGetAttribute(&khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device) != CUDA_SUCCESS ||
        khz <= 0)
        khz = 1500000;
    spin<<<1, 1, 0, (cudaStream_t)stream>>>((long long)(ms * khz));
    NEED(cudaGetLastError());
}

struct stats {
    std::vector<double> all;
    void add(double us)
    {
        all.push_back(us);
    }
    double at(double share)
    {
        if (all.empty())
            return 0;
        std::sort(all.begin(), all.end());
        return all[std::min(all.size() - 1, (size_t)(share * (double)all.size()))];
    }
};

/* NAME.median and NAME.p99, in microseconds. */
static void say_stats(const std::string &name, stats *s)
{
    say_number("fact", name + ".median", s->at(0.5), "us");
    say_number("fact", name + ".p99", s->at(0.99), "us");
}

struct fact {
    const char *name;
    void (*body)();
};

/* With the name of a fact, finds it out; without, lists the names. */
static int run_facts(int argc, char **argv, const struct fact *facts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (argc < 2)
            printf("%s\n", facts[i].name);
        else if (strcmp(argv[1], facts[i].name) == 0) {
            device_up();
            facts[i].body();
            return 0;
        }
    }
    return argc < 2 ? 0 : 64;
}

#endif
