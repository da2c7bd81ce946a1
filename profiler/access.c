/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/access.h"

#include <string.h>

#include "preload/base/accessmode.h"
#include "profiler/graphs.h"
#include "profiler/kernels.h"
#include "profiler/tensormaps.h"

static enum spill_status touch(struct spill_bufmap *map, struct spill_touches *touches,
                               uint32_t slot, uint32_t mode)
{
    struct spill_buf *buf = &map->bufs[slot];
    if (buf->stamp == touches->stamp) {
        touches->list[buf->touch].mode |= mode;
        return SPILL_OK;
    }
    if (touches->count == touches->cap &&
        SPILL_HEAP_GROW(touches->list, touches->cap, (size_t)touches->count + 1) != 0)
        return SPILL_ERR_NOMEM;
    buf->stamp = touches->stamp;
    buf->touch = touches->count;
    touches->list[touches->count++] = (struct spill_touch){slot, mode};
    return SPILL_OK;
}

/* Words of one parameter: DATA is the program's copy, OFFSET its place in the parameter block,
 * which decides where the aligned words are. */
static enum spill_status scan_words(struct spill_bufmap *map, struct spill_touches *touches,
                                    const unsigned char *data, uint64_t bytes, uint64_t offset)
{
    enum spill_status status = SPILL_OK;
    uint64_t word;
    for (uint64_t at = -offset & 7; status == SPILL_OK && at + sizeof(word) <= bytes;
         at += sizeof(word)) {
        memcpy(&word, data + at, sizeof(word));
        uint32_t slot = spill_bufmap_find(map, word);
        if (slot != SPILL_NO_BUFFER)
            status = touch(map, touches, slot, SPILL_ACCESS_UNKNOWN);
    }
    return status;
}

static enum spill_status touch_map(struct spill_bufmap *map, struct spill_touches *touches,
                                   const struct spill_tensormap *tensor)
{
    uint32_t slot = spill_bufmap_find(map, tensor->addr);
    return slot == SPILL_NO_BUFFER ? SPILL_OK : touch(map, touches, slot, SPILL_ACCESS_UNKNOWN);
}

/* Tensor maps in a parameter, as above. */
static enum spill_status scan_maps(struct spill_bufmap *map, struct spill_touches *touches,
                                   const unsigned char *data, uint64_t bytes, uint64_t offset)
{
    enum spill_status status = SPILL_OK;
    for (uint64_t at = -offset & (SPILL_TENSORMAP_ALIGN - 1);
         status == SPILL_OK && at + SPILL_TENSORMAP_BYTES <= bytes; at += SPILL_TENSORMAP_ALIGN) {
        struct spill_tensormap *tensor = spill_tensormaps_find(data + at);
        if (tensor == NULL)
            continue;
        spill_tensormaps_settle(tensor);
        status = touch_map(map, touches, tensor);
    }
    return status;
}

static enum spill_status scan_everything(struct spill_bufmap *map, struct spill_touches *touches)
{
    enum spill_status status = SPILL_OK;
    touches->everything = true;
    for (uint32_t s = 0; status == SPILL_OK && s < map->slot_count; s++)
        if (map->bufs[s].addr != 0)
            status = touch(map, touches, s, SPILL_ACCESS_UNKNOWN);
    return status;
}

/* Called with the bytes of a parameter, or of all, and their place in the parameter block. */
typedef enum spill_status visit_param(void *arg, const unsigned char *data, uint64_t bytes,
                                      uint64_t offset);

/* `extra`: a list of marks and values that names one packed parameter block. */
static inline enum spill_status visit_extra(void **extra, visit_param *visit, void *arg)
{
    const unsigned char *block = NULL;
    size_t bytes = 0;
    for (unsigned i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            block = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = *(const size_t *)extra[i + 1];
        else
            return SPILL_ERR_UNSUPPORTED; /* a mark we do not know */
    }
    return block == NULL ? SPILL_OK : visit(arg, block, bytes, 0);
}

/* SPILL_ERR_UNSUPPORTED: what the parameters are is not known. */
static inline enum spill_status visit_params(const struct spill_opcall *op, visit_param *visit,
                                             void *arg)
{
    if (op->extra != NULL)
        return visit_extra(op->extra, visit, arg);
    const struct spill_kernel *kernel = spill_kernels_get(op->function);
    if (kernel == NULL || kernel->opaque || (op->params == NULL && kernel->param_count > 0))
        return SPILL_ERR_UNSUPPORTED;
    enum spill_status status = SPILL_OK;
    for (uint32_t i = 0; status == SPILL_OK && i < kernel->param_count; i++)
        status = visit(arg, op->params[i], kernel->params[i].bytes, kernel->params[i].offset);
    return status;
}

struct scan {
    struct spill_bufmap *map;
    struct spill_touches *touches;
};

static enum spill_status scan_param(void *arg, const unsigned char *data, uint64_t bytes,
                                    uint64_t offset)
{
    const struct scan *s = arg;
    enum spill_status status = scan_words(s->map, s->touches, data, bytes, offset);
    if (status == SPILL_OK && spill_tensormaps_count > 0 && bytes >= SPILL_TENSORMAP_BYTES)
        status = scan_maps(s->map, s->touches, data, bytes, offset);
    return status;
}

static enum spill_status scan_kernel(struct spill_bufmap *map, const struct spill_opcall *op,
                                     struct spill_touches *touches)
{
    struct scan scan = {map, touches};
    enum spill_status status = visit_params(op, scan_param, &scan);
    return status == SPILL_ERR_UNSUPPORTED ? scan_everything(map, touches) : status;
}

static enum spill_status scan_graph(struct spill_bufmap *map, const struct spill_opcall *op,
                                    struct spill_touches *touches)
{
    uint32_t count;
    const struct spill_graph_word *words = spill_graphs_words(op->graph, &count);
    enum spill_status status = SPILL_OK;
    for (uint32_t i = 0; status == SPILL_OK && i < count; i++) {
        uint32_t slot = spill_bufmap_find(map, words[i].addr);
        if (slot != SPILL_NO_BUFFER)
            status = touch(map, touches, slot, words[i].mode);
    }
    return status;
}

struct words {
    void (*found)(void *arg, uint64_t word);
    void *arg;
};

static enum spill_status find_words(void *arg, const unsigned char *data, uint64_t bytes,
                                    uint64_t offset)
{
    const struct words *w = arg;
    uint64_t word;
    for (uint64_t at = -offset & 7; at + sizeof(word) <= bytes; at += sizeof(word)) {
        memcpy(&word, data + at, sizeof(word));
        w->found(w->arg, word);
    }
    for (uint64_t at = -offset & (SPILL_TENSORMAP_ALIGN - 1);
         spill_tensormaps_count > 0 && at + SPILL_TENSORMAP_BYTES <= bytes;
         at += SPILL_TENSORMAP_ALIGN) {
        struct spill_tensormap *tensor = spill_tensormaps_find(data + at);
        if (tensor == NULL)
            continue;
        spill_tensormaps_settle(tensor);
        w->found(w->arg, tensor->addr);
    }
    return SPILL_OK;
}

bool spill_access_words(const struct spill_opcall *op, void (*found)(void *arg, uint64_t word),
                        void *arg)
{
    struct words words = {found, arg};
    return visit_params(op, find_words, &words) == SPILL_OK;
}

enum spill_status spill_access_scan(struct spill_bufmap *map, const struct spill_opcall *op,
                                    struct spill_touches *touches)
{
    enum spill_status status = SPILL_OK;
    touches->count = 0;
    touches->everything = false;
    touches->stamp++;
    if (op->kind == SPILL_OPKIND_ALL)
        return scan_everything(map, touches);
    for (uint32_t i = 0; status == SPILL_OK && i < op->range_count; i++) {
        uint32_t slot = spill_bufmap_find(map, op->ranges[i].addr);
        if (slot != SPILL_NO_BUFFER)
            status = touch(map, touches, slot, op->ranges[i].mode);
    }
    for (uint32_t i = 0; status == SPILL_OK && i < op->more_count; i++) {
        uint32_t slot = spill_bufmap_find(map, op->more[i].addr);
        if (slot != SPILL_NO_BUFFER)
            status = touch(map, touches, slot, op->more[i].mode);
    }
    if (status == SPILL_OK && op->kind == SPILL_OPKIND_KERNEL)
        status = scan_kernel(map, op, touches);
    if (op->kind == SPILL_OPKIND_GRAPH)
        status = scan_graph(map, op, touches);
    return status;
}

void spill_access_stored(struct spill_bufmap *map, const void *data, uint64_t bytes,
                         uint64_t maps_every, void (*found)(void *arg, uint32_t slot), void *arg)
{
    const unsigned char *at = data;
    uint64_t word;
    for (uint64_t i = 0; i + sizeof(word) <= bytes; i += sizeof(word)) {
        memcpy(&word, at + i, sizeof(word));
        uint32_t slot = spill_bufmap_find(map, word);
        if (slot != SPILL_NO_BUFFER)
            found(arg, slot);
    }
    for (uint64_t i = 0; spill_tensormaps_count > 0 && i + SPILL_TENSORMAP_BYTES <= bytes;
         i += maps_every) {
        struct spill_tensormap *tensor = spill_tensormaps_find(at + i);
        if (tensor == NULL)
            continue;
        spill_tensormaps_settle(tensor);
        uint32_t slot = spill_bufmap_find(map, tensor->addr);
        if (slot != SPILL_NO_BUFFER)
            found(arg, slot);
    }
}
