/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/bufclass.h"

/* Uses count as one go if all times between them, but the longest, are this part of a step. */
enum { IN_ONE_GO = 100 };

enum spill_bufclass spill_bufclass_of(const struct spill_trace_buffer *buffer,
                                      const struct spill_idle *idle, uint64_t step_ns)
{
    if (buffer->pin != SPILL_TRACE_UNPINNED)
        return SPILL_BUFCLASS_PINNED;
    if (buffer->life == SPILL_TRACE_PERSISTENT)
        return idle->total_ns - idle->ns > step_ns / IN_ONE_GO ? SPILL_BUFCLASS_REPEATED
                                                               : SPILL_BUFCLASS_ONCE;
    return idle->ns > 0 ? SPILL_BUFCLASS_IDLE : SPILL_BUFCLASS_BUSY;
}

const char *spill_bufclass_key(enum spill_bufclass bufclass)
{
    static const char *const keys[SPILL_BUFCLASS_COUNT] = {"small", "pinned", "repeated",
                                                           "once",  "idle",   "busy"};
    return keys[bufclass];
}

const char *spill_bufclass_label(enum spill_bufclass bufclass)
{
    static const char *const labels[SPILL_BUFCLASS_COUNT] = {"Below one page",
                                                             "Pinned",
                                                             "Persistent, used at several times",
                                                             "Persistent, used in one go",
                                                             "Of one step, idle in between",
                                                             "Of one step, never idle"};
    return labels[bufclass];
}
