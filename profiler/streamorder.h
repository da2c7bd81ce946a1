/* SPDX-License-Identifier: Apache-2.0 */
/* In which order the program's own streams and events make its ops run: which ops each op waits for
 * beyond those before it on its stream, and after which ops the host waits. Taken down while the
 * log is kept; a forecast of what a plan costs needs it, since an op that waits for a copy holds up
 * what comes after it and nothing else. */
#ifndef SPILL_STREAMORDER_H
#define SPILL_STREAMORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cudaTypedefs.h>

#include "preload/base/sink.h"
#include "preload/base/status.h"

#define SPILL_STREAMORDER_STREAMS 64 /* more share the last place: taken to be one stream */
#define SPILL_STREAMORDER_AFTER   6  /* ops that one waits for; of more, the youngest */

/* Records (index + 1) that something waits for; 0: none. */
struct spill_afters {
    uint32_t record[SPILL_STREAMORDER_AFTER];
};

struct spill_streamorder_stream {
    CUstream stream;
    uint32_t last; /* record + 1 of its last op */
    bool legacy, blocking;
    struct spill_afters pending; /* waits since */
};

/* What an event was last recorded after. */
struct spill_streamorder_event {
    CUevent event;
    uint32_t log; /* in which log */
    struct spill_afters after;
};

struct spill_streamorder {
    struct spill_streamorder_stream streams[SPILL_STREAMORDER_STREAMS];
    uint32_t stream_count;
    struct spill_streamorder_event *events; /* by hash; the younger of two takes the place */
    uint32_t log;
};

/* Adds what is in MORE to AFTER. */
void spill_streamorder_add(struct spill_afters *after, const struct spill_afters *more);

/* A new log begins. */
void spill_streamorder_reset(struct spill_streamorder *order);
void spill_streamorder_end(struct spill_streamorder *order);

/* An op, which becomes record RECORD, comes on STREAM: what it waits for on other streams. */
struct spill_afters spill_streamorder_op(struct spill_streamorder *order, CUstream stream,
                                         uint32_t record);
/* EVENT is recorded on STREAM. Without memory it is not known: no wait for it is seen. */
void spill_streamorder_record(struct spill_streamorder *order, CUevent event, CUstream stream);
/* STREAM waits for EVENT. */
void spill_streamorder_wait(struct spill_streamorder *order, CUevent event, CUstream stream);
/* What the host waited for when it waited for EVENT. */
struct spill_afters spill_streamorder_of_event(const struct spill_streamorder *order,
                                               CUevent event);
/* Or for STREAM (NULL: for all of them). */
struct spill_afters spill_streamorder_of_stream(const struct spill_streamorder *order,
                                                CUstream stream);

#endif
