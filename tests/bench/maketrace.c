/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the trace of a made-up training iteration, for trying the tools on large ones:
 *     maketrace OPS LAYERS PAGES FILE
 * LAYERS layers, each with a weight of PAGES pages of 2 MiB, two optimizer states, a gradient, an
 * activation of twice that and a workspace; OPS operations in all, shared out evenly. Some names
 * hold what would end an HTML script. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/base/accessmode.h"
#include "profiler/tracefile.h"

enum { PAGE = 2 << 20, KINDS = 6, WEIGHT = 0, FIRST, SECOND, GRADIENT, ACTIVATION, WORKSPACE };

static char names[] =
    "\0_Z6affineILi128ELi32ELb1EEvPKfS1_Pf\0void attention<128>(</script><b>\"x\")\0"
    "_Z13affine_weightPKfS0_Pf\0_Z4adamPfS_S_S_\0"
    "cudaMalloc+0x42 in libcudart.so.13;_ZN5model5layer8allocateEm+0x1c8 in "
    "train;model::forward(</script>)+0x10 in train;main+0x20 in train\0"
    "/home/user/train\0Made-up GPU\0";

static uint32_t offset(const char *start)
{
    for (uint32_t at = 1; at < sizeof(names); at += (uint32_t)strlen(names + at) + 1)
        if (strncmp(names + at, start, strlen(start)) == 0)
            return at;
    abort();
}

static void touch(struct spill_trace *trace, uint32_t buffer, uint32_t mode)
{
    trace->accesses[trace->access_count++] = (struct spill_trace_access){buffer, mode};
    trace->ops[trace->op_count].access_count++;
}

/* COUNT ops that take NS together; each touches what the first touches. */
static void end_ops(struct spill_trace *trace, uint32_t name, uint32_t count, uint64_t ns)
{
    uint32_t accesses = trace->ops[trace->op_count].access_count;
    const struct spill_trace_access *first = &trace->accesses[trace->access_count - accesses];
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) {
            memcpy(&trace->accesses[trace->access_count], first, accesses * sizeof(*first));
            trace->access_count += accesses;
        }
        trace->ops[trace->op_count++] =
            (struct spill_trace_op){.duration_ns = ns / count,
                                    .name = name,
                                    .access_first = trace->access_count - accesses,
                                    .access_count = accesses,
                                    .grid = {64, 1, 1},
                                    .block = {128, 1, 1}};
    }
}

int main(int argc, char **argv)
{
    uint32_t ops = argc == 5 ? (uint32_t)atol(argv[1]) : 0;
    uint32_t layers = argc == 5 ? (uint32_t)atol(argv[2]) : 0;
    uint64_t bytes = argc == 5 ? (uint64_t)atol(argv[3]) * PAGE : 0;
    if (layers == 0 || bytes == 0 || ops < 3 * layers) {
        fprintf(stderr, "usage: maketrace OPS LAYERS PAGES FILE, with 3 or more OPS a layer\n");
        return 64;
    }
    uint32_t each = ops / layers / 3, spare = ops - each * layers * 3;
    struct spill_trace trace = {.names = names,
                                .name_bytes = sizeof(names),
                                .buffer_count = KINDS * layers,
                                .page_bytes = PAGE,
                                .gpu_bytes = UINT64_C(192) << 30,
                                .iterations = 3,
                                .small_bytes = 8 * PAGE,
                                .out = {9000, UINT64_C(25000000000)},
                                .in = {9000, UINT64_C(24000000000)},
                                .duplex_permille = 900,
                                .device_name = offset("Made-up"),
                                .program = offset("/home")};
    trace.ops = calloc(ops + 1, sizeof(*trace.ops));
    trace.accesses = calloc(4 * (size_t)ops, sizeof(*trace.accesses));
    trace.buffers = calloc(trace.buffer_count, sizeof(*trace.buffers));
    if (trace.ops == NULL || trace.accesses == NULL || trace.buffers == NULL)
        return 1;
    for (uint32_t b = 0; b < trace.buffer_count; b++) {
        uint32_t layer = b / KINDS, kind = b % KINDS, back = (2 * layers - 1 - layer) * each;
        trace.buffers[b] = (struct spill_trace_buffer){
            .address = (UINT64_C(1) << 45) + b * 4 * bytes,
            .bytes = (kind == ACTIVATION ? 2 : 1) * bytes - layer % 7 * 1000,
            .life = kind <= SECOND ? SPILL_TRACE_PERSISTENT : SPILL_TRACE_ITERATION,
            .pin = b == 1 ? SPILL_TRACE_PIN_STORED_ADDRESS : SPILL_TRACE_UNPINNED,
            .birth_op = kind == GRADIENT ? back : layer * each,
            .free_op = kind == GRADIENT     ? (2 * layers + layer + 1) * each
                       : kind == ACTIVATION ? back + each
                                            : (layer + 1) * each,
            .site = offset("cudaMalloc")};
    }
    for (uint32_t l = 0; l < layers; l++) {
        touch(&trace, KINDS * l + WEIGHT, SPILL_ACCESS_READ);
        if (l > 0)
            touch(&trace, KINDS * (l - 1) + ACTIVATION, SPILL_ACCESS_READ);
        touch(&trace, KINDS * l + ACTIVATION, SPILL_ACCESS_WRITE);
        touch(&trace, KINDS * l + WORKSPACE, SPILL_ACCESS_UNKNOWN);
        end_ops(&trace, offset(l % 2 == 0 ? "_Z6affine" : "void"), each, bytes / 16);
    }
    for (uint32_t l = layers; l-- > 0;) {
        touch(&trace, KINDS * l + WEIGHT, SPILL_ACCESS_READ);
        touch(&trace, KINDS * l + ACTIVATION, SPILL_ACCESS_READ);
        touch(&trace, KINDS * l + GRADIENT, SPILL_ACCESS_WRITE);
        end_ops(&trace, offset("_Z13affine"), each, bytes / 8);
    }
    for (uint32_t l = 0; l < layers; l++) {
        for (uint32_t kind = WEIGHT; kind <= GRADIENT; kind++)
            touch(&trace, KINDS * l + kind, SPILL_ACCESS_UNKNOWN);
        end_ops(&trace, offset("_Z4adam"), each + (l + 1 == layers ? spare : 0), bytes / 50);
    }
    for (uint32_t k = 0; k < trace.op_count; k++)
        trace.step_ns += trace.ops[k].duration_ns;
    trace.peak_bytes = trace.buffer_count * bytes;
    enum spill_status status = spill_tracefile_write(argv[4], &trace);
    if (status != SPILL_OK)
        fprintf(stderr, "maketrace: %s: %s\n", argv[4], spill_status_text(status));
    free(trace.ops);
    free(trace.accesses);
    free(trace.buffers);
    return status != SPILL_OK;
}
