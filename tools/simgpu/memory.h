/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory: physical frames of 2 MiB (frame.c), one big span of device addresses with a page
 * table (space.c), and the registry of host memory that the device may reach (host.c). */
#ifndef SIMGPU_MEMORY_H
#define SIMGPU_MEMORY_H

#include "core.h"

/* What reads as NaN in float and double, and as a wild index in an integer. */
#define SIMGPU_POISON 0xFFFDA5A5u

/* A physical allocation: FRAMES of one device, given back when the last reference goes. */
struct simgpu_phys {
    uint64_t magic;
    struct simgpu_device *device;
    CUmemAllocationProp prop;
    uint64_t bytes;
    uint32_t handles;  /* references by cuMemCreate and cuMemRetainAllocationHandle */
    uint32_t mappings; /* address ranges it backs */
    bool plain;        /* made by cuMemAlloc */
    size_t count;
    uint32_t frames[];
};
#define SIMGPU_PHYS_MAGIC 0x53494d5f50485931ull

/* A mapping of a whole physical allocation. */
struct simgpu_map {
    uint64_t va, bytes;
    struct simgpu_phys *phys;
};

struct simgpu_reservation {
    uint64_t va, bytes;
    size_t asked; /* cuMemAlloc: the size that the program asked for; 0 for cuMemAddressReserve */
    struct simgpu_device *device;
    struct simgpu_slab *slab;
    unsigned long long id;
    bool managed;
};

/* frame.c */
bool simgpu_frames_boot(struct simgpu_device *device);
uint64_t simgpu_frames_free_bytes(const struct simgpu_device *device);
/* NULL if the device has not that many frames left. */
struct simgpu_phys *simgpu_phys_create(struct simgpu_device *device, uint64_t bytes);
void simgpu_phys_drop(struct simgpu_phys *phys); /* after a reference went */
int simgpu_frames_fd(const struct simgpu_device *device);
bool simgpu_frame_fresh(const struct simgpu_device *device, uint32_t frame);
/* Poisons a fresh frame. Called from the fault handler too: no allocation, no lock. */
void simgpu_frame_poison(struct simgpu_device *device, uint32_t frame);
void *simgpu_frame_window(const struct simgpu_device *device, uint32_t frame);

/* space.c */
bool simgpu_space_boot(void);
bool simgpu_space_holds(uint64_t address);
struct simgpu_reservation *simgpu_space_reserve(uint64_t bytes, uint64_t alignment, uint64_t hint);
void simgpu_space_free(struct simgpu_reservation *r);
struct simgpu_reservation *simgpu_space_find(uint64_t address);
CUresult simgpu_space_map(uint64_t va, struct simgpu_phys *phys);
void simgpu_space_unmap(struct simgpu_map *map);
struct simgpu_map *simgpu_space_map_at(uint64_t address);
/* Access bits of one page: 1 read, 2 write. */
unsigned int simgpu_space_access_at(uint64_t address);
CUresult simgpu_space_set_access(uint64_t va, uint64_t bytes, unsigned int access);
/* Makes a page that was left inaccessible only until its first use usable; false: a real fault. */
bool simgpu_space_fault(uint64_t address, bool write);
/* Opens a mapped page as its access bits say; false if it has none. */
bool simgpu_space_open(uint64_t page);

/* alloc.c */
CUresult simgpu_alloc(struct simgpu_device *device, size_t bytes, CUdeviceptr *ptr);
CUresult simgpu_alloc_free(CUdeviceptr ptr);
/* The allocation of cuMemAlloc around an address; false if there is none. */
bool simgpu_alloc_range(uint64_t address, uint64_t *base, uint64_t *bytes);

/* pool.c: an allocation is gone, whoever freed it. */
void simgpu_pool_forget(CUdeviceptr ptr);
/* A free of memory that a graph still names: true, and it only counts as freed. */
bool simgpu_pool_keeps(CUdeviceptr ptr);

/* host.c */
struct simgpu_host_range {
    uint64_t start, bytes;
    unsigned int flags;
    bool registered; /* by cuMemHostRegister; else ours to free */
    bool managed;
};
struct simgpu_host_range *simgpu_host_find(uint64_t address);
struct simgpu_host_range *simgpu_host_add(uint64_t start, uint64_t bytes, unsigned int flags);
void simgpu_host_remove(struct simgpu_host_range *range);

/* module.c: data of loaded images (device globals) lies outside the span. */
struct simgpu_module;
struct simgpu_module *simgpu_module_holding(uint64_t address);

/* Whether a pointer is device memory in the eyes of the API. */
bool simgpu_is_device(uint64_t address);

#endif
