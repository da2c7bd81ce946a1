/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/fromtrace.h"

#include <stdlib.h>
#include <string.h>

/* Where a link was not measured: a PCIe 3 x16 slot, the slowest that training cards sit in. */
#define DEFAULT_RATE       UINT64_C(12000000000)
#define DEFAULT_LATENCY_NS 10000

static struct spill_link link_of(const struct spill_trace_link *measured)
{
    if (measured->bytes_per_s == 0)
        return (struct spill_link){DEFAULT_LATENCY_NS, DEFAULT_RATE};
    return (struct spill_link){measured->latency_ns, measured->bytes_per_s};
}

/* Position of op K in the order that starts at op FROM. */
static uint32_t since(uint32_t k, uint32_t from, uint32_t op_count)
{
    return k >= from ? k - from : k + op_count - from;
}

/* An ITERATION buffer needs memory from its first access on, and up to its free: as long as it is
 * not freed the program may turn out to do something else than planned, and read it once more. */
static void narrow_lives(const struct spill_trace *trace, struct spill_buffer *buffers)
{
    uint32_t n = trace->op_count;
    for (uint32_t b = 0; b < trace->buffer_count; b++)
        buffers[b].birth_op = buffers[b].death_op = SPILL_TRACE_NONE;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t a = 0; a < trace->ops[k].access_count; a++) {
            uint32_t b = trace->accesses[trace->ops[k].access_first + a].buffer;
            uint32_t from =
                trace->buffers[b].birth_op == SPILL_TRACE_NONE ? 0 : trace->buffers[b].birth_op % n;
            struct spill_buffer *buffer = &buffers[b];
            if (buffer->birth_op == SPILL_TRACE_NONE ||
                since(k, from, n) < since(buffer->birth_op, from, n))
                buffer->birth_op = k;
            if (buffer->death_op == SPILL_TRACE_NONE ||
                since(k, from, n) > since(buffer->death_op, from, n))
                buffer->death_op = k;
        }
    for (uint32_t b = 0; b < trace->buffer_count; b++) {
        const struct spill_trace_buffer *traced = &trace->buffers[b];
        /* Freed at the very beginning: through the first op, so that no free is left for later. */
        uint32_t last = traced->free_op == 0 ? 0 : traced->free_op - 1, from = traced->birth_op % n;
        if (buffers[b].birth_op != SPILL_TRACE_NONE && traced->birth_op != SPILL_TRACE_NONE &&
            traced->free_op != SPILL_TRACE_NONE &&
            since(last, from, n) > since(buffers[b].death_op, from, n))
            buffers[b].death_op = last;
    }
    for (uint32_t b = 0; b < trace->buffer_count; b++)
        if (buffers[b].birth_op == SPILL_TRACE_NONE) /* never touched: memory for a moment */
            buffers[b].birth_op = buffers[b].death_op =
                trace->buffers[b].birth_op == SPILL_TRACE_NONE ? 0 : trace->buffers[b].birth_op % n;
}

enum spill_status spill_fromtrace(const struct spill_trace *trace, uint64_t gpu_budget,
                                  uint64_t host_budget, struct spill_problem *problem)
{
    memset(problem, 0, sizeof(*problem));
    if (trace->op_count == 0 || trace->page_bytes == 0)
        return SPILL_ERR_INVAL;
    struct spill_op *ops = calloc(trace->op_count, sizeof(*ops));
    struct spill_access *accesses = calloc((size_t)trace->access_count + 1, sizeof(*accesses));
    struct spill_buffer *buffers = calloc((size_t)trace->buffer_count + 1, sizeof(*buffers));
    problem->ops = ops;
    problem->accesses = accesses;
    problem->buffers = buffers;
    if (ops == NULL || accesses == NULL || buffers == NULL) {
        spill_fromtrace_free(problem);
        return SPILL_ERR_NOMEM;
    }
    for (uint32_t k = 0; k < trace->op_count; k++)
        ops[k] = (struct spill_op){trace->ops[k].duration_ns, trace->ops[k].access_first,
                                   trace->ops[k].access_count};
    for (uint32_t a = 0; a < trace->access_count; a++)
        accesses[a] = (struct spill_access){trace->accesses[a].buffer, trace->accesses[a].mode};
    for (uint32_t b = 0; b < trace->buffer_count; b++)
        buffers[b] = (struct spill_buffer){
            .bytes = trace->buffers[b].bytes,
            .life = trace->buffers[b].life == SPILL_TRACE_PERSISTENT ? SPILL_LIFE_PERSISTENT
                                                                     : SPILL_LIFE_ITERATION,
            .pinned = trace->buffers[b].pin != SPILL_TRACE_UNPINNED,
        };
    narrow_lives(trace, buffers);
    problem->op_count = trace->op_count;
    problem->access_count = trace->access_count;
    problem->buffer_count = trace->buffer_count;
    problem->out = link_of(&trace->out);
    problem->in = link_of(&trace->in);
    problem->duplex_permille = trace->duplex_permille == 0 ? 1000 : trace->duplex_permille;
    problem->page_bytes = trace->page_bytes;
    problem->gpu_budget = gpu_budget;
    problem->host_budget = host_budget;
    return SPILL_OK;
}

static void release(const void *table)
{
    free((void *)(uintptr_t)table); /* the problem's tables are const for everybody else */
}

void spill_fromtrace_free(struct spill_problem *problem)
{
    release(problem->ops);
    release(problem->accesses);
    release(problem->buffers);
    memset(problem, 0, sizeof(*problem));
}
