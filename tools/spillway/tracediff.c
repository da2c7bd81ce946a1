/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/tracediff.h"

#include <stdlib.h>
#include <string.h>

#include "tools/spillway/tracetext.h"

typedef struct spill_tracediff_group group;

static int by_identity(const void *left, const void *right)
{
    const group *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    if (order != 0)
        return order;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->bytes == b->bytes ? 0 : a->bytes < b->bytes ? -1 : 1;
}

static uint64_t change(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static int by_change(const void *left, const void *right)
{
    const group *a = left, *b = right;
    bool a_differs = a->count[0] != a->count[1], b_differs = b->count[0] != b->count[1];
    uint64_t a_most = change(a->ns[0], a->ns[1]) + a->bytes * change(a->count[0], a->count[1]),
             b_most = change(b->ns[0], b->ns[1]) + b->bytes * change(b->count[0], b->count[1]);
    if (a_differs != b_differs)
        return a_differs ? -1 : 1;
    if (a_most != b_most)
        return a_most > b_most ? -1 : 1;
    return by_identity(left, right);
}

/* Sums up what is the same thing; the number of groups. */
static uint32_t merge(group *list, size_t count)
{
    size_t kept = 0;
    if (count == 0)
        return 0;
    qsort(list, count, sizeof(*list), by_identity);
    for (size_t i = 1; i < count; i++) {
        if (by_identity(&list[kept], &list[i]) != 0) {
            list[++kept] = list[i];
            continue;
        }
        for (int t = 0; t < 2; t++) {
            list[kept].count[t] += list[i].count[t];
            list[kept].ns[t] += list[i].ns[t];
        }
    }
    qsort(list, kept + 1, sizeof(*list), by_change);
    return (uint32_t)kept + 1;
}

static const char *name_of(const struct spill_trace *trace, uint32_t offset)
{
    return spill_tracetext_name(trace, offset, "");
}

static bool same_op(const struct spill_trace *a, const struct spill_trace *b, uint32_t k)
{
    const struct spill_trace_op *x = &a->ops[k], *y = &b->ops[k];
    return x->kind == y->kind && x->access_count == y->access_count &&
           memcmp(x->grid, y->grid, sizeof(x->grid)) == 0 &&
           memcmp(x->block, y->block, sizeof(x->block)) == 0 &&
           strcmp(name_of(a, x->name), name_of(b, y->name)) == 0;
}

static uint32_t find_parting(const struct spill_trace *a, const struct spill_trace *b)
{
    uint32_t least = a->op_count < b->op_count ? a->op_count : b->op_count;
    for (uint32_t k = 0; k < least; k++)
        if (!same_op(a, b, k))
            return k;
    return a->op_count == b->op_count ? SPILL_TRACE_NONE : least;
}

enum spill_status spill_tracediff_build(const struct spill_trace *a, const struct spill_trace *b,
                                        struct spill_tracediff *diff)
{
    *diff = (struct spill_tracediff){.trace = {a, b}};
    size_t ops = 0, buffers = 0;
    diff->ops = calloc((size_t)a->op_count + b->op_count + 1, sizeof(*diff->ops));
    diff->buffers = calloc((size_t)a->buffer_count + b->buffer_count + 1, sizeof(*diff->buffers));
    if (diff->ops == NULL || diff->buffers == NULL) {
        spill_tracediff_free(diff);
        return SPILL_ERR_NOMEM;
    }
    for (int t = 0; t < 2; t++) {
        const struct spill_trace *trace = diff->trace[t];
        for (uint32_t k = 0; k < trace->op_count; k++) {
            group *g = &diff->ops[ops++];
            g->name = name_of(trace, trace->ops[k].name);
            g->kind = trace->ops[k].kind;
            g->count[t] = 1;
            g->ns[t] = trace->ops[k].duration_ns;
        }
        for (uint32_t n = 0; n < trace->buffer_count; n++) {
            group *g = &diff->buffers[buffers++];
            g->name = name_of(trace, trace->buffers[n].site);
            g->kind = trace->buffers[n].life;
            g->bytes = trace->buffers[n].bytes;
            g->count[t] = 1;
        }
    }
    diff->op_groups = merge(diff->ops, ops);
    diff->buffer_groups = merge(diff->buffers, buffers);
    diff->parting = find_parting(a, b);
    /* Those that differ come first. */
    diff->alike =
        diff->parting == SPILL_TRACE_NONE &&
        (diff->buffer_groups == 0 || diff->buffers[0].count[0] == diff->buffers[0].count[1]);
    return SPILL_OK;
}

void spill_tracediff_free(struct spill_tracediff *diff)
{
    free(diff->ops);
    free(diff->buffers);
    *diff = (struct spill_tracediff){.parting = SPILL_TRACE_NONE};
}
