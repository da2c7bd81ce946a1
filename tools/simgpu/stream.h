/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_STREAM_H
#define SIMGPU_STREAM_H

#include "core.h"
#include "op.h"

#define SIMGPU_STREAM_MAGIC 0x53494d5f53545231ull
#define SIMGPU_EVENT_MAGIC  0x53494d5f45565431ull

struct simgpu_capture;
struct simgpu_node;

/* Nodes that whatever is captured next comes after. */
struct simgpu_frontier {
    struct simgpu_node **nodes;
    size_t count;
};

struct simgpu_stream {
    uint64_t magic;
    struct simgpu_stream *next;
    struct simgpu_ctx *ctx;
    struct simgpu_op *last;
    unsigned int flags;
    int priority;
    unsigned long long id;
    uint32_t luck;       /* how eagerly the adversary runs this stream; redrawn at random */
    uint32_t unfinished; /* operations that still name this stream */
    bool legacy, per_thread, destroyed;
    struct simgpu_capture *capture; /* or NULL */
    struct simgpu_frontier frontier;
};

struct simgpu_event {
    uint64_t magic;
    struct simgpu_event *next_free;
    struct simgpu_device *device;
    struct simgpu_op *recorded; /* the most recent record, or NULL */
    unsigned int flags;
    struct simgpu_capture *capture; /* in which it was recorded last, or NULL */
    struct simgpu_frontier frontier;
};

/* The stream that a handle means in this call; NULL for a handle that is none. */
struct simgpu_stream *simgpu_stream_of(CUstream handle);
/* Default streams of a context, created with it. */
bool simgpu_stream_boot(struct simgpu_ctx *ctx);
/* Whether work on STREAM and on the legacy stream order each other. */
bool simgpu_stream_blocks(const struct simgpu_stream *stream);
CUresult simgpu_stream_wait(struct simgpu_stream *stream);
/* Every stream of a context, or those that the legacy stream orders itself with. */
CUresult simgpu_stream_wait_all(struct simgpu_ctx *ctx, bool blocking_only);
void simgpu_event_uncapture(struct simgpu_event *event);
void simgpu_stream_op_gone(struct simgpu_stream *stream);

#endif
