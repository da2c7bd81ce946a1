/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engines.h"

#include "preload/base/log.h"

struct spill_engine spill_engines[SPILL_ENGINES];
struct spill_engine *spill_engines_one;

static bool more; /* there is a second device, or was a second context */

/* Contexts of streams that were met: a copy may be put into a stream of another context than the
 * current one. By a hash of the handle; the later one wins. */
#define STREAMS 64
static struct {
    CUstream stream;
    CUcontext context;
} streams[STREAMS];

/* What peers were given before there was an engine. */
static struct {
    CUcontext owner;
    CUdevice device;
} grants[SPILL_ENGINES * SPILL_ENGINES];
static unsigned grant_count;

struct spill_engine *spill_engines_owner(CUcontext context)
{
    for (unsigned i = 0; i < SPILL_ENGINES; i++)
        if (spill_engines_managed(&spill_engines[i]) && spill_engines[i].dev.context == context)
            return &spill_engines[i];
    return NULL;
}

struct spill_engine *spill_engines_current(void)
{
    CUcontext context = NULL;
    if (SPILL_CU(cuCtxGetCurrent) == NULL || SPILL_CU(cuCtxGetCurrent)(&context) != CUDA_SUCCESS ||
        context == NULL)
        return NULL;
    return spill_engines_owner(context);
}

struct spill_engine *spill_engines_at(CUdeviceptr addr)
{
    for (unsigned i = 0; i < SPILL_ENGINES; i++)
        if (spill_engines_managed(&spill_engines[i]) && addr >= spill_engines[i].dev.buffers.base &&
            addr < spill_engines[i].dev.buffers.end)
            return &spill_engines[i];
    return NULL;
}

static bool is_default(CUstream stream)
{
    return stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

static CUcontext context_of(CUstream stream)
{
    unsigned slot = (unsigned)((uintptr_t)stream >> 4) % STREAMS;
    CUcontext context = NULL;
    if (streams[slot].stream == stream)
        return streams[slot].context;
    if (SPILL_CU(cuStreamGetCtx) == NULL ||
        SPILL_CU(cuStreamGetCtx)(stream, &context) != CUDA_SUCCESS)
        return NULL;
    streams[slot].stream = stream;
    streams[slot].context = context;
    return context;
}

void spill_engines_forget_streams(void)
{
    for (unsigned i = 0; i < STREAMS; i++)
        streams[i].stream = NULL;
}

struct spill_engine *spill_engines_of(const struct spill_opcall *op)
{
    if (__builtin_expect(spill_engines_one != NULL, 1))
        return spill_engines_one;
    /* A kernel is refused in another context's stream; a default stream is the current one's. */
    if (op->kind == SPILL_OPKIND_KERNEL || is_default(op->stream))
        return spill_engines_current();
    CUcontext context = context_of(op->stream);
    return context == NULL ? spill_engines_current() : spill_engines_owner(context);
}

/* Nobody but E can be meant as long as the process sees one device and has one context. */
static void set_one(struct spill_engine *e)
{
    int devices = 0;
    if (SPILL_CU(cuDeviceGetCount)(&devices) != CUDA_SUCCESS || devices != 1)
        more = true;
    spill_engines_one = more ? NULL : e;
}

void spill_engines_more(void)
{
    more = true;
    spill_engines_one = NULL;
}

struct spill_engine *spill_engines_for_alloc(void)
{
    CUcontext context = NULL;
    CUdevice ordinal = -1;
    if (!spill_driver_complete() || SPILL_CU(cuCtxGetCurrent)(&context) != CUDA_SUCCESS ||
        context == NULL)
        return NULL;
    if (spill_engines_one != NULL && spill_engines_one->dev.context == context)
        return spill_engines_one;
    struct spill_engine *e = spill_engines_owner(context);
    if (e != NULL || SPILL_CU(cuCtxGetDevice)(&ordinal) != CUDA_SUCCESS || ordinal < 0 ||
        ordinal >= SPILL_ENGINES)
        return e;
    e = &spill_engines[ordinal];
    if (e->state == SPILL_STATE_OFF)
        return NULL;
    if (e->state != SPILL_STATE_NEW) {
        spill_engines_more();
        spill_log_once(SPILL_LOG_WARN,
                       "memory of a second context of a device is not managed; passing it through");
        return NULL;
    }
    if (!spill_engine_boot(e))
        return NULL;
    for (unsigned i = 0; i < SPILL_ENGINES; i++)
        e->numbered = e->numbered || (i != (unsigned)ordinal && spill_engines[i].booted);
    e->booted = true;
    set_one(e);
    for (unsigned i = 0; i < grant_count; i++)
        if (grants[i].owner == context && spill_engine_peer(e, grants[i].device) != CUDA_SUCCESS)
            break;
    return e;
}

/* The context of STREAM, the current one's for default streams. */
static CUcontext stream_context(CUstream stream)
{
    CUcontext context = NULL;
    if (!is_default(stream))
        return context_of(stream);
    return SPILL_CU(cuCtxGetCurrent) != NULL && SPILL_CU(cuCtxGetCurrent)(&context) == CUDA_SUCCESS
               ? context
               : NULL;
}

bool spill_engines_has_stream(const struct spill_engine *e, CUstream stream)
{
    return e == spill_engines_one || stream_context(stream) == e->dev.context;
}

struct spill_engine *spill_engines_for_stream(CUstream stream)
{
    CUcontext context = NULL;
    if (spill_engines_one != NULL || is_default(stream))
        return spill_engines_for_alloc();
    if (!spill_driver_complete() || SPILL_CU(cuCtxGetCurrent)(&context) != CUDA_SUCCESS)
        return NULL;
    return context == context_of(stream) ? spill_engines_for_alloc()
                                         : spill_engines_owner(context_of(stream));
}

CUdevice spill_engines_device_of(CUstream stream)
{
    CUcontext context = NULL;
    CUdevice device = -1;
    if (spill_engines_one != NULL)
        return spill_engines_one->dev.ordinal;
    const struct spill_engine *e = spill_engines_owner(stream_context(stream));
    if (e != NULL)
        return e->dev.ordinal;
    if (SPILL_CU(cuCtxGetCurrent) == NULL || SPILL_CU(cuCtxGetDevice) == NULL ||
        SPILL_CU(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || context == NULL ||
        context != stream_context(stream) || SPILL_CU(cuCtxGetDevice)(&device) != CUDA_SUCCESS)
        return -1;
    return device;
}

void spill_engines_end(struct spill_engine *e, bool gone)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < grant_count; i++)
        if (grants[i].owner != e->dev.context)
            grants[kept++] = grants[i];
    grant_count = kept;
    spill_captures_context_end(e->dev.context);
    spill_engine_end(e, gone);
    spill_engines_one = NULL;
    spill_engines_forget_streams();
}

struct spill_entered spill_engines_enter(const struct spill_engine *e)
{
    CUcontext context = NULL;
    struct spill_entered entered = {.pushed = false};
    entered.relaxed = spill_captures_relax(&entered.mode);
    entered.pushed = e != NULL && spill_engines_one == NULL &&
                     SPILL_CU(cuCtxGetCurrent)(&context) == CUDA_SUCCESS &&
                     context != e->dev.context &&
                     SPILL_CU(cuCtxPushCurrent_v2)(e->dev.context) == CUDA_SUCCESS;
    return entered;
}

void spill_engines_leave(struct spill_entered entered)
{
    CUcontext context;
    if (entered.pushed)
        (void)SPILL_CU(cuCtxPopCurrent_v2)(&context);
    if (entered.relaxed)
        spill_captures_restore(entered.mode);
}

bool spill_engines_many(void)
{
    unsigned booted = 0;
    for (unsigned i = 0; i < SPILL_ENGINES; i++)
        booted += spill_engines[i].booted;
    return booted > 1;
}

CUresult spill_engines_drain(void)
{
    CUresult worst = CUDA_SUCCESS;
    for (unsigned i = 0; i < SPILL_ENGINES; i++) {
        if (!spill_engines_managed(&spill_engines[i]))
            continue;
        struct spill_entered entered = spill_engines_enter(&spill_engines[i]);
        CUresult result = spill_device_drain(&spill_engines[i].dev);
        spill_engines_leave(entered);
        if (worst == CUDA_SUCCESS)
            worst = result;
    }
    return worst;
}

CUresult spill_engines_peer(CUcontext owner, CUdevice device)
{
    struct spill_engine *e = spill_engines_owner(owner);
    if (e == NULL) {
        if (grant_count < sizeof(grants) / sizeof(grants[0])) {
            grants[grant_count].owner = owner;
            grants[grant_count++].device = device;
        }
        return CUDA_SUCCESS;
    }
    struct spill_entered entered = spill_engines_enter(e);
    CUresult result = spill_engine_peer(e, device);
    spill_engines_leave(entered);
    return result;
}
