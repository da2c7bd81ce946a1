/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/facts.h"

#include <stdlib.h>
#include <string.h>

enum spill_status spill_facts_build(const struct spill_trace *trace, struct spill_facts *facts)
{
    *facts = (struct spill_facts){.trace = trace};
    facts->start = calloc((size_t)trace->op_count + 1, sizeof(*facts->start));
    if (facts->start == NULL || spill_idle_each(trace, &facts->idle) != SPILL_OK ||
        spill_lifeline_build(trace, &facts->line) != SPILL_OK ||
        spill_timeline_sum(trace, &facts->time) != SPILL_OK) {
        spill_facts_free(facts);
        return SPILL_ERR_NOMEM;
    }
    spill_timeline_starts(trace, facts->start);
    return SPILL_OK;
}

void spill_facts_free(struct spill_facts *facts)
{
    free(facts->idle);
    free(facts->start);
    spill_lifeline_free(&facts->line);
    memset(facts, 0, sizeof(*facts));
}

enum spill_bufclass spill_facts_class(const struct spill_facts *facts, uint32_t b)
{
    return spill_bufclass_of(&facts->trace->buffers[b], &facts->idle[b],
                             facts->start[facts->trace->op_count]);
}

uint64_t spill_facts_watched(const struct spill_trace *trace)
{
    return (uint64_t)trace->iterations + trace->others;
}

double spill_facts_match(const struct spill_trace *trace)
{
    return trace->iterations == 0 ? 0 : trace->iterations / (double)spill_facts_watched(trace);
}
