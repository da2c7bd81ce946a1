/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a trace file: read, and if they are one, put through all that is made of a trace.
 * The bytes are tried as they are and with their checksums put right, or nothing would get past
 * those.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/tracefile.h"
#include "profiler/tracelayout.h"
#include "solver/fromtrace.h"
#include "tools/spillway/facts.h"
#include "tools/spillway/summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct spill_trace *trace)
{
    struct spill_facts facts;
    struct spill_problem problem;
    FILE *out = fopen("/dev/null", "w");
    if (out == NULL)
        abort();
    (void)spill_summary_print(trace, out);
    if (spill_facts_build(trace, &facts) == SPILL_OK) {
        (void)spill_report_json(&facts, out);
        (void)spill_report_csv_buffers(&facts, out);
        (void)spill_report_csv_ops(&facts, out);
        (void)spill_report_perfetto(&facts, out);
        (void)spill_report_memory_viz(&facts, out);
        (void)spill_report_folded(&facts, out);
        (void)spill_report_folded_idle(&facts, out);
        spill_facts_free(&facts);
    }
    if (spill_fromtrace(trace, (uint64_t)1 << 30, (uint64_t)1 << 30, &problem) == SPILL_OK)
        spill_fromtrace_free(&problem);
    fclose(out);
}

static void try_bytes(const uint8_t *data, size_t size)
{
    struct spill_trace *trace;
    char complaint[128] = "";
    if (spill_tracefile_parse(data, size, &trace, complaint, sizeof(complaint)) == SPILL_OK) {
        use(trace);
        spill_tracefile_free(trace);
    } else if (complaint[0] == '\0') {
        abort(); /* refused without a reason */
    }
}

static void mend(uint8_t *data, size_t size)
{
    struct spill_tracelayout_record record;
    size_t at = sizeof(struct spill_tracelayout_head);
    while (at <= size && size - at >= sizeof(record)) {
        uint64_t bytes;
        memcpy(&record, data + at, sizeof(record));
        if (__builtin_mul_overflow((uint64_t)record.elem_bytes, record.count, &bytes) ||
            bytes > size - at - sizeof(record))
            return;
        record.checksum = spill_tracelayout_checksum(data + at + sizeof(record), (size_t)bytes);
        memcpy(data + at, &record, sizeof(record));
        at += sizeof(record) + (((size_t)bytes + 7) & ~(size_t)7);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_bytes(data, size);
    uint8_t *mended = malloc(size + 1);
    if (mended == NULL)
        return 0;
    memcpy(mended, data, size);
    mend(mended, size);
    try_bytes(mended, size);
    free(mended);
    return 0;
}
