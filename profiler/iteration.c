/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/iteration.h"

#include <string.h>

#include "profiler/graphs.h"
#include "profiler/kernels.h"
#include "profiler/stack.h"
#include "profiler/timers.h"
#include "profiler/timing.h"

/* A buffer instance's serial -> its number in the trace. */
struct identity {
    uint64_t serial;
    uint32_t buffer;
    UT_hash_handle hh;
};

struct named {
    const char *text; /* kernels' names are shared pointers: compare those */
    uint32_t offset;
    UT_hash_handle hh;
};

/* A call site that has its text in the names. */
struct sited {
    uint32_t site;
    uint32_t offset;
    UT_hash_handle hh;
};

struct build {
    struct spill_iteration *it;
    const struct spill_recorder *rec;
    const struct spill_bufmap *map;
    struct identity *identities;
    struct named *names;
    struct sited *sites;
    uint32_t first;    /* record */
    uint32_t start;    /* of the iteration before */
    CUstream *streams; /* by number */
    size_t stream_cap;
    uint32_t stream_count;
};

uint32_t spill_iteration_name(struct spill_iteration *it, const char *text)
{
    size_t bytes = strlen(text) + 1;
    if (SPILL_HEAP_GROW(it->trace.names, it->name_cap, it->trace.name_bytes + bytes) != 0)
        return SPILL_TRACE_NONE;
    memcpy(it->trace.names + it->trace.name_bytes, text, bytes);
    it->trace.name_bytes += (uint32_t)bytes;
    return it->trace.name_bytes - (uint32_t)bytes;
}

static uint32_t shared_name(struct build *b, const char *text)
{
    struct named *named = NULL;
    HASH_FIND_PTR(b->names, &text, named);
    if (named == NULL) {
        named = spill_heap_alloc(sizeof(*named));
        if (named == NULL)
            return SPILL_TRACE_NONE;
        named->text = text;
        named->offset = spill_iteration_name(b->it, text);
        HASH_ADD_PTR(b->names, text, named);
    }
    return named->offset;
}

static uint32_t site_name(struct build *b, uint32_t site)
{
    char text[2048];
    struct sited *sited = NULL;
    HASH_FIND(hh, b->sites, &site, sizeof(site), sited);
    if (sited == NULL) {
        if (spill_stack_text(site, text, sizeof(text)) == 0)
            return SPILL_TRACE_NONE;
        sited = spill_heap_alloc(sizeof(*sited));
        if (sited == NULL)
            return SPILL_TRACE_NONE;
        sited->site = site;
        sited->offset = spill_iteration_name(b->it, text);
        HASH_ADD(hh, b->sites, site, sizeof(sited->site), sited);
    }
    return sited->offset;
}

static uint32_t buffer_of(const struct build *b, uint64_t serial)
{
    struct identity *identity = NULL;
    HASH_FIND(hh, b->identities, &serial, sizeof(serial), identity);
    return identity == NULL ? SPILL_NO_BUFFER : identity->buffer;
}

static enum spill_status identify(struct build *b, uint64_t serial, uint32_t buffer)
{
    struct identity *identity = spill_heap_alloc(sizeof(*identity));
    if (identity == NULL)
        return SPILL_ERR_NOMEM;
    identity->serial = serial;
    identity->buffer = buffer;
    HASH_ADD(hh, b->identities, serial, sizeof(identity->serial), identity);
    return SPILL_OK;
}

static enum spill_status add_buffer(struct build *b, uint64_t serial,
                                    struct spill_trace_buffer entry, uint32_t slot,
                                    uint32_t *buffer)
{
    struct spill_iteration *it = b->it;
    uint32_t n = it->trace.buffer_count;
    if (SPILL_HEAP_GROW(it->trace.buffers, it->buffer_cap, (size_t)n + 1) != 0 ||
        SPILL_HEAP_GROW(it->live_slot, it->slot_cap, (size_t)n + 1) != 0)
        return SPILL_ERR_NOMEM;
    entry.birth_op = entry.free_op = SPILL_TRACE_NONE;
    it->trace.buffers[n] = entry;
    it->live_slot[n] = slot;
    it->trace.buffer_count = n + 1;
    *buffer = n;
    return identify(b, serial, n);
}

/* Every buffer that lives now. Those that were allocated inside the period become ITERATION when
 * the walk meets their allocation. */
static enum spill_status add_live(struct build *b)
{
    for (uint32_t s = 0; s < b->map->slot_count; s++) {
        const struct spill_buf *buf = &b->map->bufs[s];
        uint32_t buffer;
        if (buf->addr == 0)
            continue;
        struct spill_trace_buffer entry = {.address = buf->addr,
                                           .bytes = buf->bytes,
                                           .life = SPILL_TRACE_PERSISTENT,
                                           .pin = buf->pin,
                                           .site = site_name(b, buf->site)};
        enum spill_status status = add_buffer(b, buf->serial, entry, s, &buffer);
        if (status != SPILL_OK)
            return status;
    }
    return SPILL_OK;
}

/* A buffer that was alive when the period began and is freed in it: last iteration's instance of
 * one that lives now at the same address. */
static uint32_t previous_instance(const struct build *b, const struct spill_logrec *record)
{
    uint32_t slot = spill_bufmap_at(b->map, record->addr);
    if (slot == SPILL_NO_BUFFER || b->map->bufs[slot].bytes != record->bytes)
        return SPILL_NO_BUFFER;
    return buffer_of(b, b->map->bufs[slot].serial);
}

/* Gives allocations and frees their identities, before any access is looked up: an access may name
 * the previous instance, whose identity only its free reveals. */
static enum spill_status identify_events(struct build *b)
{
    uint32_t op = 0;
    for (uint32_t i = b->first; i < b->rec->record_count; i++) {
        const struct spill_logrec *record = &b->rec->records[i];
        enum spill_status status = SPILL_OK;
        uint32_t buffer = buffer_of(b, record->serial);
        if (record->kind == SPILL_LOGREC_OP) {
            op++;
            continue;
        }
        if (record->kind == SPILL_LOGREC_ALLOC && buffer == SPILL_NO_BUFFER) {
            struct spill_trace_buffer entry = {.address = record->addr,
                                               .bytes = record->bytes,
                                               .life = SPILL_TRACE_ITERATION,
                                               .site = site_name(b, record->site)};
            status = add_buffer(b, record->serial, entry, SPILL_NO_BUFFER, &buffer);
        }
        if (record->kind == SPILL_LOGREC_FREE && buffer == SPILL_NO_BUFFER) {
            buffer = previous_instance(b, record);
            if (buffer == SPILL_NO_BUFFER)
                return SPILL_ERR_INVAL;
            status = identify(b, record->serial, buffer);
        }
        if (status != SPILL_OK)
            return status;
        struct spill_trace_buffer *entry = &b->it->trace.buffers[buffer];
        entry->life = SPILL_TRACE_ITERATION;
        if (record->kind == SPILL_LOGREC_ALLOC)
            entry->birth_op = op;
        else
            entry->free_op = op;
        if (record->kind == SPILL_LOGREC_FREE && record->pin != SPILL_TRACE_UNPINNED)
            entry->pin = record->pin;
    }
    return SPILL_OK;
}

/* In a log without a border some buffers have only one end: what is never freed stays, what was
 * there before the log is as old as it. */
static void close_ends(struct build *b)
{
    for (uint32_t i = 0; i < b->it->trace.buffer_count; i++) {
        struct spill_trace_buffer *entry = &b->it->trace.buffers[i];
        if (entry->life != SPILL_TRACE_ITERATION)
            continue;
        if (entry->birth_op == SPILL_TRACE_NONE)
            entry->birth_op = 0;
        if (entry->free_op == SPILL_TRACE_NONE)
            entry->life = SPILL_TRACE_PERSISTENT;
    }
}

const char *spill_iteration_op_name(const struct spill_logrec *record)
{
    static const char *const names[] = {
        [SPILL_OPKIND_COPY] = "copy",
        [SPILL_OPKIND_SET] = "memset",
        [SPILL_OPKIND_HOST_FUNC] = "host function",
        [SPILL_OPKIND_ALL] = "anything",
    };
    if (record->opkind == SPILL_OPKIND_GRAPH)
        return ((const struct spill_graph_shape *)record->function)->name;
    if (record->opkind != SPILL_OPKIND_KERNEL)
        return names[record->opkind];
    const struct spill_kernel *kernel = spill_kernels_get(record->function);
    return kernel == NULL ? "kernel" : kernel->name;
}

/* Two streams never share a number: what is on one stream needs no wait. */
static uint32_t stream_number(struct build *b, CUstream stream)
{
    uint32_t n = 0;
    while (n < b->stream_count && b->streams[n] != stream)
        n++;
    if (n < b->stream_count)
        return n;
    if (SPILL_HEAP_GROW(b->streams, b->stream_cap, (size_t)n + 1) != 0)
        return SPILL_TRACE_NONE;
    b->streams[b->stream_count++] = stream;
    return n;
}

/* What record I, an op, waits for; of what is older than an iteration nothing is left to wait for.
 * OP_OF: the number of each record's op, counted over the two iterations. */
static enum spill_status add_afters(struct build *b, uint32_t i, const uint32_t *op_of,
                                    uint32_t op_count)
{
    struct spill_iteration *it = b->it;
    const struct spill_logrec *record = &b->rec->records[i];
    struct spill_iteration_op *op = &it->ops[op_of[i - b->start] % op_count];
    if (SPILL_HEAP_GROW(it->afters, it->after_cap, (size_t)it->after_count + record->after_count) !=
        0)
        return SPILL_ERR_NOMEM;
    op->after_first = it->after_count;
    for (uint32_t a = 0; a < record->after_count; a++) {
        const struct spill_logafter *after = &b->rec->afters[record->after_first + a];
        if (after->record >= b->start)
            it->afters[it->after_count++] = (struct spill_iteration_after){
                (int32_t)op_of[after->record - b->start] - (int32_t)op_count, after->host};
    }
    op->after_count = it->after_count - op->after_first;
    return SPILL_OK;
}

static enum spill_status add_order(struct build *b)
{
    uint32_t records = b->rec->record_count - b->start, ops = 0;
    uint32_t *op_of = spill_heap_alloc(((size_t)records + 1) * sizeof(*op_of));
    enum spill_status status = op_of == NULL ? SPILL_ERR_NOMEM : SPILL_OK;
    for (uint32_t i = 0; status == SPILL_OK && i < records; i++) {
        op_of[i] = ops;
        ops += b->rec->records[b->start + i].kind == SPILL_LOGREC_OP;
    }
    for (uint32_t i = b->first; status == SPILL_OK && i < b->rec->record_count; i++)
        if (b->rec->records[i].kind == SPILL_LOGREC_OP)
            status = add_afters(b, i, op_of, b->it->trace.op_count);
    spill_heap_free(op_of, ((size_t)records + 1) * sizeof(*op_of));
    return status;
}

static enum spill_status add_op(struct build *b, uint32_t i)
{
    struct spill_iteration *it = b->it;
    struct spill_trace *trace = &it->trace;
    const struct spill_logrec *record = &b->rec->records[i];
    uint32_t n = trace->op_count;
    if (SPILL_HEAP_GROW(trace->ops, it->op_cap, (size_t)n + 1) != 0 ||
        SPILL_HEAP_GROW(it->ops, it->match_cap, (size_t)n + 1) != 0 ||
        SPILL_HEAP_GROW(trace->accesses, it->access_cap,
                        (size_t)trace->access_count + record->touch_count) != 0)
        return SPILL_ERR_NOMEM;
    uint32_t stream = stream_number(b, record->stream);
    if (stream == SPILL_TRACE_NONE)
        return SPILL_ERR_NOMEM;
    struct spill_trace_op *op = &trace->ops[n];
    *op = (struct spill_trace_op){.kind = record->opkind,
                                  .name = shared_name(b, spill_iteration_op_name(record)),
                                  .stream = stream,
                                  .access_first = trace->access_count,
                                  .access_count = record->touch_count};
    memcpy(op->grid, record->grid, sizeof(op->grid));
    memcpy(op->block, record->block, sizeof(op->block));
    it->ops[n] = (struct spill_iteration_op){
        .function = record->function, .stream = record->stream, .bytes = record->bytes};
    for (uint32_t t = 0; t < record->touch_count; t++) {
        const struct spill_logtouch *touch = &b->rec->touches[record->touch_first + t];
        uint32_t buffer = buffer_of(b, touch->serial);
        if (buffer == SPILL_NO_BUFFER)
            return SPILL_ERR_INVAL;
        trace->accesses[trace->access_count++] = (struct spill_trace_access){buffer, touch->mode};
    }
    trace->op_count = n + 1;
    return SPILL_OK;
}

static enum spill_status add_events(struct build *b)
{
    struct spill_iteration *it = b->it;
    uint64_t live = b->rec->live_bytes; /* at the end; walk back to the start */
    for (uint32_t i = b->first; i < b->rec->record_count; i++)
        if (b->rec->records[i].kind == SPILL_LOGREC_ALLOC)
            live -= b->rec->records[i].bytes;
        else if (b->rec->records[i].kind == SPILL_LOGREC_FREE)
            live += b->rec->records[i].bytes;
    it->trace.peak_bytes = live;
    for (uint32_t i = b->first; i < b->rec->record_count; i++) {
        const struct spill_logrec *record = &b->rec->records[i];
        uint32_t index = it->trace.op_count;
        if (record->kind == SPILL_LOGREC_OP) {
            enum spill_status status = add_op(b, i);
            if (status != SPILL_OK)
                return status;
        } else {
            index = buffer_of(b, record->serial);
            live += record->kind == SPILL_LOGREC_ALLOC ? record->bytes : 0 - record->bytes;
            if (live > it->trace.peak_bytes)
                it->trace.peak_bytes = live;
        }
        if (SPILL_HEAP_GROW(it->events, it->event_cap, (size_t)it->event_count + 1) != 0)
            return SPILL_ERR_NOMEM;
        it->events[it->event_count++] = (struct spill_iteration_event){record->kind, index};
    }
    return SPILL_OK;
}

static void drop_tables(struct build *b)
{
    struct identity *identity, *next_identity;
    struct named *named, *next_named;
    struct sited *sited, *next_sited;
    spill_heap_free(b->streams, b->stream_cap * sizeof(*b->streams));
    HASH_ITER(hh, b->identities, identity, next_identity)
    {
        HASH_DEL(b->identities, identity);
        spill_heap_free(identity, sizeof(*identity));
    }
    HASH_ITER(hh, b->names, named, next_named)
    {
        HASH_DEL(b->names, named);
        spill_heap_free(named, sizeof(*named));
    }
    HASH_ITER(hh, b->sites, sited, next_sited)
    {
        HASH_DEL(b->sites, sited);
        spill_heap_free(sited, sizeof(*sited));
    }
}

enum spill_status spill_iteration_build(struct spill_iteration *it, struct spill_recorder *rec,
                                        const struct spill_bufmap *map, uint32_t period)
{
    struct build b = {.it = it, .rec = rec, .map = map, .first = 0};
    memset(it, 0, sizeof(*it));
    if (period != 0)
        b.first = rec->record_count - period;
    b.start = period == 0 ? 0 : b.first - period;
    it->trace.iterations = period == 0 ? 0 : 2;
    (void)spill_timers_harvest(rec, b.start, rec->record_count);
    enum spill_status status = SPILL_OK;
    if (spill_iteration_name(it, "") == SPILL_TRACE_NONE)
        status = SPILL_ERR_NOMEM;
    if (status == SPILL_OK)
        status = add_live(&b);
    if (status == SPILL_OK)
        status = identify_events(&b);
    close_ends(&b);
    if (status == SPILL_OK)
        status = add_events(&b);
    if (status == SPILL_OK && period != 0)
        status = add_order(&b);
    if (status == SPILL_OK)
        spill_timing_fill(&it->trace, rec, period);
    drop_tables(&b);
    if (status != SPILL_OK)
        spill_iteration_free(it);
    return status;
}

/* A table of its own in place of the one that *TABLE is. */
static bool copy_table(void *table, size_t bytes)
{
    void *from, *to = spill_heap_alloc(bytes);
    memcpy(&from, table, sizeof(from));
    if (to != NULL && bytes != 0)
        memcpy(to, from, bytes);
    memcpy(table, &to, sizeof(to));
    return to != NULL || bytes == 0;
}

enum spill_status spill_iteration_copy(struct spill_iteration *it,
                                       const struct spill_iteration *from)
{
    bool copied = true;
    *it = *from;
#define COPY_TABLE(table, cap)                                                                     \
    copied = copy_table((void *)&it->table, it->cap * sizeof(*it->table)) && copied
    COPY_TABLE(trace.ops, op_cap);
    COPY_TABLE(trace.accesses, access_cap);
    COPY_TABLE(trace.buffers, buffer_cap);
    COPY_TABLE(trace.names, name_cap);
    COPY_TABLE(trace.differences, difference_cap);
    COPY_TABLE(events, event_cap);
    COPY_TABLE(afters, after_cap);
    COPY_TABLE(ops, match_cap);
    COPY_TABLE(live_slot, slot_cap);
#undef COPY_TABLE
    if (!copied)
        spill_iteration_free(it);
    return copied ? SPILL_OK : SPILL_ERR_NOMEM;
}

void spill_iteration_free(struct spill_iteration *it)
{
    spill_heap_free(it->trace.ops, it->op_cap * sizeof(*it->trace.ops));
    spill_heap_free(it->trace.accesses, it->access_cap * sizeof(*it->trace.accesses));
    spill_heap_free(it->trace.buffers, it->buffer_cap * sizeof(*it->trace.buffers));
    spill_heap_free(it->trace.names, it->name_cap);
    spill_heap_free(it->trace.differences, it->difference_cap * sizeof(*it->trace.differences));
    spill_heap_free(it->events, it->event_cap * sizeof(*it->events));
    spill_heap_free(it->afters, it->after_cap * sizeof(*it->afters));
    spill_heap_free(it->ops, it->match_cap * sizeof(*it->ops));
    spill_heap_free(it->live_slot, it->slot_cap * sizeof(*it->live_slot));
    memset(it, 0, sizeof(*it));
}
