/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of the trace file, shared by writer and reader. Little-endian, 8-byte aligned records.
 */
#ifndef SPILL_TRACELAYOUT_H
#define SPILL_TRACELAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define SPILL_TRACELAYOUT_MAGIC "SPILLTRC"
#define SPILL_TRACELAYOUT_ORDER UINT32_C(0x01020304) /* reads otherwise on a big-endian machine */

struct spill_tracelayout_head {
    char magic[8];
    uint32_t order;
    uint32_t version;
};

enum spill_tracelayout_type {
    SPILL_TRACELAYOUT_META = 1,
    SPILL_TRACELAYOUT_NAMES,
    SPILL_TRACELAYOUT_OPS,
    SPILL_TRACELAYOUT_ACCESSES,
    SPILL_TRACELAYOUT_BUFFERS,
    SPILL_TRACELAYOUT_END,
    SPILL_TRACELAYOUT_DIFFERENCES
};

/* Stands before each record's payload of count * elem_bytes bytes, padded with zeros to 8. */
struct spill_tracelayout_record {
    uint32_t type;
    uint32_t elem_bytes;
    uint64_t count;
    uint64_t checksum; /* FNV-1a, 64 bits, of the payload without padding */
};

/* The one element of the META record. */
struct spill_tracelayout_meta {
    uint64_t out_latency_ns, out_bytes_per_s;
    uint64_t in_latency_ns, in_bytes_per_s;
    uint64_t page_bytes, gpu_bytes, gpu_budget, peak_bytes, small_bytes;
    uint64_t step_ns, paged_bytes;
    uint32_t duplex_permille, iterations;
    uint32_t device_name, program;
    uint32_t others, reserved;
    uint64_t log_bytes, log_max;
    uint64_t hooked_calls;
};

static inline uint64_t spill_tracelayout_checksum(const void *data, size_t bytes)
{
    const unsigned char *p = data;
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

#endif
