/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a trace as words. */
#ifndef SPILL_TRACETEXT_H
#define SPILL_TRACETEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/base/trace.h"

enum { SPILL_TRACETEXT_NAME = 256 };

/* The text at OFFSET of the names, OTHERWISE when there is none. */
const char *spill_tracetext_name(const struct spill_trace *trace, uint32_t offset,
                                 const char *otherwise);
/* Name of op OP as the source has it, into OUT, which it returns. */
char *spill_tracetext_op(const struct spill_trace *trace, uint32_t op, char *out, size_t out_len);
const char *spill_tracetext_kind(uint32_t kind);
const char *spill_tracetext_mode(uint32_t mode);
const char *spill_tracetext_life(uint32_t life);
const char *spill_tracetext_pin(uint32_t pin); /* NULL for SPILL_TRACE_UNPINNED */

/* One frame of a call site, whose text is "symbol+0x12 in module;0x34 in module;...", innermost
 * first. */
struct spill_siteframe {
    const char *text; /* as it stands there, LEN bytes */
    size_t len;
    char name[SPILL_TRACETEXT_NAME]; /* the symbol as the source has it, else "0x34" */
    char module[SPILL_TRACETEXT_NAME];
    uint64_t offset; /* from the symbol; 0 without one */
};

/* Takes the next frame off *SITE; false when none is left. */
bool spill_tracetext_frame(const char **site, struct spill_siteframe *frame);

#endif
