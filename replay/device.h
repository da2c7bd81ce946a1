/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one managed device: its address span, pages, frames and host memory. Everything here
 * is touched inside the turnstile only. */
#ifndef SPILL_DEVICE_H
#define SPILL_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <cudaTypedefs.h>

#include "preload/base/config.h"
#include "preload/base/driver.h"
#include "profiler/bufmap.h"
#include "replay/hostpool.h"
#include "replay/span.h"
#include "solver/plan.h"

#define SPILL_DEVICE_PEERS 15

enum spill_where {
    SPILL_NOWHERE,   /* no contents: never written, or its buffer is gone */
    SPILL_ON_DEVICE, /* in its frame */
    SPILL_ON_HOST    /* at host */
};

struct spill_page {
    uint64_t last_use; /* number of the last op that touched it */
    char *host;        /* its contents while ON_HOST */
    uint32_t frame;    /* mapped frame, SPILL_NO_FRAME: none */
    uint16_t where;    /* enum spill_where */
    uint16_t claims;   /* plans in whose range this page is the first one */
};

struct spill_frame {
    CUmemGenericAllocationHandle handle;
    uint32_t
        page; /* page that owns it now, SPILL_NO_BUFFER: none (on the free stack, or aliased) */
};

struct spill_device {
    CUcontext context;
    CUdevice ordinal;
    char name[64];
    uint64_t page_bytes;
    unsigned page_shift;
    CUmemAccessDesc access[SPILL_DEVICE_PEERS + 1]; /* its own, then peers' */
    uint32_t access_count;
    uint64_t span_base;
    uint32_t page_total; /* pages of the span */
    uint64_t gpu_bytes;  /* of the card */
    uint64_t gpu_budget; /* bytes the program may occupy, unmanaged allocations included */
    uint64_t unmanaged_bytes;
    uint64_t host_budget;
    struct spill_bufmap buffers;
    struct spill_span ranges;
    struct spill_hostpool host;
    struct spill_page *pages;
    uint64_t *freed_after; /* per page: the mark (freepoints.h) of its last free */
    struct spill_frame *frames;
    uint32_t *free_frames; /* stack */
    uint32_t frame_count;  /* created */
    uint32_t free_count;
    uint32_t slab_pages; /* pages of slabs for small buffers: resident for good */
    bool hold_all;       /* nothing may be evicted: not all that touches it is seen */
    bool searched;       /* large buffers, for addresses, before the first eviction */
    uint32_t new_pins;   /* buffers found to be reachable unseen, not yet brought in */
    uint64_t op_number;  /* of the op being served; 64 bits never wrap */
    CUstream out_stream, in_stream;
    uint64_t out_bytes, in_bytes;             /* moved since the start */
    uint64_t paged_out_bytes, paged_in_bytes; /* of these, by the pager */
    uint64_t misses;                          /* times an op's buffers were not all resident */
    uint64_t missed_at;                       /* spill_account_clock at the last one */
    uint64_t refused;                         /* times the program was told "out of memory" */
    uint64_t peak_bytes;                      /* frames and unmanaged memory */
};

/* Sets up the device of the current context. SPILL_ERR_UNSUPPORTED (said once) when it cannot be
 * managed. */
enum spill_status spill_device_boot(struct spill_device *dev, const struct spill_config *config);
/* Gives everything back; only the device's figures stay. Whatever the driver answers: its context
 * may be gone. */
void spill_device_end(struct spill_device *dev);

/* Waits for all that was given to the device, by the program or us, while a stream is captured too
 * (captures.h). */
CUresult spill_device_drain(struct spill_device *dev);

/* Frames that may exist under the budget now. */
uint32_t spill_device_frame_limit(const struct spill_device *dev);

/* Takes a free frame, creating one if the budget allows; SPILL_NO_FRAME: none to be had. */
uint32_t spill_device_take_frame(struct spill_device *dev);
void spill_device_give_frame(struct spill_device *dev, uint32_t frame);
/* Creates frames until WANT are free, as far as the budget and the card allow. */
void spill_device_stock_frames(struct spill_device *dev, uint32_t want);
/* Gives free frames' memory back to the driver until at most LIMIT frames exist, as far as
 * possible. */
void spill_device_trim_frames(struct spill_device *dev, uint32_t limit);

/* Mapping of single pages. Access must be set before use: spill_device_allow on runs of pages. */
CUresult spill_device_map(struct spill_device *dev, uint32_t page, uint32_t frame);
CUresult spill_device_allow(struct spill_device *dev, uint32_t page, uint32_t count);
/* DEVICE may reach all of it, too, as it could reach memory of cuMemAlloc. */
CUresult spill_device_admit(struct spill_device *dev, CUdevice device);
CUresult spill_device_unmap(struct spill_device *dev, uint32_t page);

static inline CUdeviceptr spill_device_addr(const struct spill_device *dev, uint32_t page)
{
    return dev->span_base + ((uint64_t)page << dev->page_shift);
}

#endif
