/* SPDX-License-Identifier: Apache-2.0 */
/* The engines of a process: one a device, each with its own budget and plan, found by the context
 * that a call is made in, or by an address of its span. */
#ifndef SPILL_ENGINES_H
#define SPILL_ENGINES_H

#include "replay/engine.h"

#define SPILL_ENGINES 16 /* devices of higher ordinals pass through */

/* By ordinal. Those in state NEW or OFF manage nothing. */
extern struct spill_engine spill_engines[SPILL_ENGINES];

/* The only engine there can be work for; NULL: ask. */
extern struct spill_engine *spill_engines_one;

/* The engine of the current context, NULL: it is not managed. */
struct spill_engine *spill_engines_current(void);
static inline struct spill_engine *spill_engines_here(void)
{
    return __builtin_expect(spill_engines_one != NULL, 1) ? spill_engines_one
                                                          : spill_engines_current();
}

/* The engine on whose device OP runs: its stream need not be of the current context. */
struct spill_engine *spill_engines_of(const struct spill_opcall *op);
/* The engine of CONTEXT. */
struct spill_engine *spill_engines_owner(CUcontext context);
/* The engine in whose span ADDR lies. */
struct spill_engine *spill_engines_at(CUdeviceptr addr);
/* The engine that an allocation made now belongs to, which may have to be started; NULL: nobody's.
 */
struct spill_engine *spill_engines_for_alloc(void);
/* The same for an allocation in STREAM's order, which comes from STREAM's device. */
struct spill_engine *spill_engines_for_stream(CUstream stream);
/* The device of STREAM, -1: an allocation in its order is nobody's. */
CUdevice spill_engines_device_of(CUstream stream);
/* Is STREAM of E's context? */
bool spill_engines_has_stream(const struct spill_engine *e, CUstream stream);
static inline bool spill_engines_managed(const struct spill_engine *e)
{
    return e->state != SPILL_STATE_NEW && e->state != SPILL_STATE_OFF;
}

/* Was more than one device managed? */
bool spill_engines_many(void);

/* There are more contexts than one: from now on each call is asked for its own. */
void spill_engines_more(void);
/* A stream or a context went away: its handle may be given again. */
void spill_engines_forget_streams(void);

/* E's context ends, or is GONE. */
void spill_engines_end(struct spill_engine *e, bool gone);

/* What the thread was before calls of our own. */
struct spill_entered {
    bool pushed, relaxed;
    CUstreamCaptureMode mode;
};

/* Makes E's context current for our own calls, if it is not (E NULL: the current one will do), and
 * lets them do no harm to captures. */
struct spill_entered spill_engines_enter(const struct spill_engine *e);
void spill_engines_leave(struct spill_entered entered);

/* Waits for everything that was given to any managed device. */
CUresult spill_engines_drain(void);

/* The context of a device was given access to all memory of OWNER. */
CUresult spill_engines_peer(CUcontext owner, CUdevice device);

#endif
