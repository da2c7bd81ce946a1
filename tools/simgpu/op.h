/* SPDX-License-Identifier: Apache-2.0 */
/* Operations: everything that is handed to a stream. An operation is created with the edges that
 * the program asked for (stream order, events, implicit synchronisation), waits in a queue, and
 * runs late, in a seeded random order that respects those edges and nothing else. */
#ifndef SIMGPU_OP_H
#define SIMGPU_OP_H

#include "core.h"

enum simgpu_engine {
    SIMGPU_ENGINE_HTOD,
    SIMGPU_ENGINE_DTOH,
    SIMGPU_ENGINE_COMPUTE,
    SIMGPU_ENGINE_COUNT,
    SIMGPU_ENGINE_NONE = SIMGPU_ENGINE_COUNT
};

struct simgpu_op;

struct simgpu_op_type {
    const char *name;
    /* Does the work and says how long it took; false after a device fault. */
    CUresult (*run)(struct simgpu_op *op, uint64_t *duration_ns);
    void (*drop)(struct simgpu_op *op); /* frees the payload; may be NULL */
    /* Gives TO a payload of its own, for a graph that is launched many times; NULL: plain copy. */
    bool (*copy)(struct simgpu_op *to, const struct simgpu_op *from);
};

struct simgpu_edges {
    struct simgpu_op **at;
    uint32_t count, room;
    struct simgpu_op *own[3];
};

struct simgpu_copy {
    /* Rows of WIDTH bytes, HEIGHT of them, DEPTH times over. */
    uint64_t dst, src;
    size_t width, height, depth;
    size_t dst_pitch, src_pitch, dst_slice, src_slice;
    void *staged; /* snapshot of a pageable source */
};

struct simgpu_set {
    uint64_t dst;
    size_t width, height, pitch;
    uint32_t value, element;
};

struct simgpu_value {
    uint64_t address, value, seen;
    uint32_t bytes, flags;
};

/* From run: not yet; try again after something else has run. */
#define SIMGPU_OP_AGAIN ((CUresult)-1)

struct simgpu_launch;

struct simgpu_op {
    struct simgpu_op *next, *previous; /* unexecuted operations, oldest first */
    const struct simgpu_op_type *type;
    struct simgpu_stream *stream;
    struct simgpu_device *device;
    struct simgpu_edges before, after;
    uint32_t refs,
        waiting; /* waiting: edges from unexecuted operations, plus one until submitted */
    uint32_t ready_slot;
    uint32_t mark;
    uint64_t stalled;        /* count of progress at which it could not run */
    uint32_t slot;           /* of its stream in clocks (races.h) */
    uint32_t *clock;         /* NULL unless races are looked for */
    const char *launch_name; /* of the kernel */
    enum simgpu_engine engine;
    bool done, captured;
    bool apart; /* of a graph: not part of the stream's own order */
    uint64_t id, ready_ns, start_ns, end_ns;
    uint64_t slow_ns; /* how much longer than modelled it takes */
    union {
        struct simgpu_copy copy;
        struct simgpu_set set;
        struct simgpu_value value;
        struct simgpu_launch *launch;
        struct {
            CUhostFn fn;
            CUstreamCallback callback;
            CUstream stream;
            void *data;
        } host;
        void *any;
    } u;
};

/* A new operation at the end of STREAM. It may get more edges until it is submitted. NULL if memory
 * ran out. The creator owns one reference until simgpu_op_submit. */
struct simgpu_op *simgpu_op_new(struct simgpu_stream *stream, const struct simgpu_op_type *type,
                                enum simgpu_engine engine);
/* The same without the stream's order: a node of a graph. NUMBER tells nodes apart. */
struct simgpu_op *simgpu_op_new_apart(struct simgpu_stream *stream,
                                      const struct simgpu_op_type *type, enum simgpu_engine engine,
                                      uint32_t number);
void simgpu_op_after(struct simgpu_op *op, struct simgpu_op *earlier);
void simgpu_op_submit(struct simgpu_op *op);
struct simgpu_op *simgpu_op_hold(struct simgpu_op *op);
void simgpu_op_release(struct simgpu_op *op);

/* Makes OP done, with whatever it needs and a random part of the rest, and moves the host clock to
 * its end. Returns the sticky error if the device broke. */
CUresult simgpu_op_wait(struct simgpu_op *op);
/* The same without moving the host clock, half of the time: what a query does. */
bool simgpu_op_query(struct simgpu_op *op);
/* Everything queued on a device (or, with NULL, on all). */
CUresult simgpu_op_drain(struct simgpu_device *device);

/* How long an operation that takes DURATION as the card is, ready at READY_NS, takes under
 * SIMGPU_DRIFT. */
uint64_t simgpu_inject_drift(enum simgpu_engine engine, uint64_t ready_ns, uint64_t duration);

/* When the first free slot of DURATION at or after READY on an engine starts; books it. A copy
 * takes longer where it overlaps the other direction. */
uint64_t simgpu_clock_book(struct simgpu_device *device, enum simgpu_engine engine, uint64_t ready,
                           uint64_t *duration);
/* No operation will start before HORIZON any more: older bookings may be forgotten. */
void simgpu_clock_forget(struct simgpu_device *device, uint64_t horizon);

#endif
