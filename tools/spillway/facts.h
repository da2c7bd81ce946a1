/* SPDX-License-Identifier: Apache-2.0 */
/* A trace with what all reports derive from it, and the reports. */
#ifndef SPILL_FACTS_H
#define SPILL_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "preload/base/status.h"
#include "preload/base/trace.h"
#include "tools/spillway/bufclass.h"
#include "tools/spillway/idle.h"
#include "tools/spillway/lifeline.h"
#include "tools/spillway/timeline.h"

struct spill_forecast;
struct spill_json;

struct spill_facts {
    const struct spill_trace *trace;
    const struct spill_forecast *forecast; /* NULL: not asked for */
    struct spill_idle *idle;               /* entry b: buffer b */
    uint64_t *start;                       /* of each op; [op_count]: end of the iteration */
    struct spill_timesum time;
    struct spill_lifeline line;
};

enum spill_status spill_facts_build(const struct spill_trace *trace, struct spill_facts *facts);
void spill_facts_free(struct spill_facts *facts);

/* Iterations that were watched once the repeated one was known, a stretch that did something else
 * counting as one, and the share of them, 0 to 1, that are alike: the match score. */
uint64_t spill_facts_watched(const struct spill_trace *trace);
double spill_facts_match(const struct spill_trace *trace);

/* The class of buffer B. */
enum spill_bufclass spill_facts_class(const struct spill_facts *facts, uint32_t b);

/* Reports. Each writes one document; false if OUT could not be written or memory was out. */
bool spill_report_html(const struct spill_facts *facts, FILE *out); /* needs the forecast */
bool spill_report_json(const struct spill_facts *facts, FILE *out);
bool spill_report_csv_buffers(const struct spill_facts *facts, FILE *out);
bool spill_report_csv_ops(const struct spill_facts *facts, FILE *out);
bool spill_report_csv_moves(const struct spill_facts *facts, FILE *out); /* needs the forecast */
bool spill_report_perfetto(const struct spill_facts *facts, FILE *out);
bool spill_report_memory_viz(const struct spill_facts *facts, FILE *out);
bool spill_report_folded(const struct spill_facts *facts, FILE *out);
bool spill_report_folded_idle(const struct spill_facts *facts, FILE *out);

/* What the JSON report begins with, up to the lists of everything, into the object that is open. */
void spill_report_json_head(const struct spill_facts *facts, struct spill_json *json);

#endif
