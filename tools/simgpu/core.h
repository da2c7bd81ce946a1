/* SPDX-License-Identifier: Apache-2.0 */
/* What every part of the simulated driver shares: settings, devices, contexts, the lock, the random
 * sequence and the virtual host clock. All state is guarded by one recursive lock which entry.c
 * takes around every call, so nothing else in this folder locks. */
#ifndef SIMGPU_CORE_H
#define SIMGPU_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"

#define SIMGPU_MAX_DEVICES 8
#define SIMGPU_PAGE        ((uint64_t)2 << 20)

struct simgpu_config {
    const char *card;
    uint64_t capacity; /* bytes of physical memory of each device */
    uint64_t pinnable; /* bytes of host memory that may be pinned at once */
    uint64_t seed;
    uint32_t devices;
    uint32_t queue_cap;   /* unexecuted operations a device holds at most */
    double link_rate[2];  /* bytes per ns: host to device, device to host */
    double duplex;        /* factor on both rates while both directions are busy */
    double pageable_rate; /* bytes per ns of staging a pageable copy */
    double memory_rate;   /* bytes per ns of device memory, read plus write */
    double work_rate;     /* work units per ns, see README.md */
    uint64_t link_latency_ns;
    uint64_t launch_ns; /* from a launch to its first instruction */
    uint64_t kernel_ns; /* what even an empty kernel takes */
    int major, minor, multiprocessors, clock_khz;
};
extern struct simgpu_config simgpu_config;
void simgpu_config_load(void);
/* A size such as "64MiB", "1.5G" or "4096"; false if TEXT is none. */
bool simgpu_config_size(const char *text, uint64_t *bytes);

/* How much longer than modelled a kernel takes (SIMGPU_COSTS); 1 if nothing is said. */
double simgpu_config_cost(const char *kernel);

/* splitmix64: enough to choose among a handful of ready operations. */
uint64_t simgpu_random(void);

struct simgpu_stream;
struct simgpu_device;

struct simgpu_ctx {
    uint64_t magic;
    struct simgpu_device *device;
    struct simgpu_stream *streams; /* every stream, default ones included */
    struct simgpu_stream *legacy;
    unsigned int flags;
    unsigned int refs; /* primary context only */
    unsigned int api_version;
    unsigned long long id;
    bool primary;
    size_t limits[16];
};
#define SIMGPU_CTX_MAGIC 0x53494d5f43545831ull

struct simgpu_device {
    int ordinal;
    struct simgpu_ctx primary;
    CUresult sticky; /* the error that broke the context, or CUDA_SUCCESS */
};
extern struct simgpu_device simgpu_devices[SIMGPU_MAX_DEVICES];

/* The calling thread's current context, or NULL. */
struct simgpu_ctx *simgpu_ctx_current(void);
/* Waits for all that was given to the current context. */
CUresult simgpu_ctx_drain(void);
struct simgpu_ctx *simgpu_ctx_of(CUcontext handle);
struct simgpu_device *simgpu_device_at(CUdevice dev);

/* State of the call in progress; valid under the lock. */
struct simgpu_call {
    bool per_thread;  /* a _ptsz/_ptds entry point: NULL stream means the per-thread one */
    uint64_t slow_ns; /* added to every operation that the call queues (SIMGPU_SLOW) */
    int depth;
};
extern struct simgpu_call simgpu_call;
extern bool simgpu_initialised;
extern bool simgpu_exiting; /* in the destructor, which runs what is left to look for races */

void simgpu_lock(void);
void simgpu_unlock(void);
const char *simgpu_error_name(CUresult error);
const char *simgpu_error_text(CUresult error);

/* The virtual host clock. */
extern uint64_t simgpu_host_ns;

/* Counters of the report (report.c). */
struct simgpu_stats {
    uint64_t calls[SIMGPU_API_COUNT];
    uint64_t memory_calls;
    uint64_t physical_bytes, peak_physical_bytes;
    uint64_t pinned_bytes, peak_pinned_bytes;
    uint64_t bytes[2]; /* host to device, device to host */
    uint64_t stream_waits, kernels, faults, races;
};
extern struct simgpu_stats simgpu_stats;
void simgpu_report_mark(enum simgpu_api_id id);
void simgpu_report_load(void);
/* True if this call of function ID is to fail; RESULT then says with what. */
bool simgpu_inject_fails(enum simgpu_api_id id, CUresult *result);
/* How much longer the operations of this call of function ID take (SIMGPU_SLOW). */
uint64_t simgpu_inject_slow(enum simgpu_api_id id);
bool simgpu_inject_drops_wait(void);
/* In each cuMemMap: the address whose memory it is to map in place of its own, 0: none. */
uint64_t simgpu_inject_twin(void);
void simgpu_inject_mapped(uint64_t address, uint32_t frame);
/* What of a device may be allocated now (SIMGPU_SHRINK); UINT64_MAX if all. */
uint64_t simgpu_inject_capacity(void);
void simgpu_inject_load(void);

void simgpu_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
