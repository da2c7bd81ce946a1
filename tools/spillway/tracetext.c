/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/tracetext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/base/accessmode.h"
#include "tools/spillway/demangle.h"

const char *spill_tracetext_name(const struct spill_trace *trace, uint32_t offset,
                                 const char *otherwise)
{
    return offset == SPILL_TRACE_NONE || trace->names[offset] == '\0' ? otherwise
                                                                      : trace->names + offset;
}

char *spill_tracetext_op(const struct spill_trace *trace, uint32_t op, char *out, size_t out_len)
{
    return spill_demangle(spill_tracetext_name(trace, trace->ops[op].name, "?"), out, out_len);
}

const char *spill_tracetext_kind(uint32_t kind)
{
    /* enum spill_opkind, whose header needs CUDA's. */
    static const char *const kinds[] = {"kernel", "copy", "set", "host", "all", "graph"};
    return kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[kind] : "other";
}

const char *spill_tracetext_mode(uint32_t mode)
{
    return mode == SPILL_ACCESS_READ ? "read" : mode == SPILL_ACCESS_WRITE ? "write" : "unknown";
}

const char *spill_tracetext_life(uint32_t life)
{
    return life == SPILL_TRACE_PERSISTENT ? "persistent" : "iteration";
}

const char *spill_tracetext_pin(uint32_t pin)
{
    static const char *const pins[SPILL_TRACE_PIN_COUNT] = {
        [SPILL_TRACE_PIN_STORED_ADDRESS] = "stored address",
        [SPILL_TRACE_PIN_USER] = "by request",
        [SPILL_TRACE_PIN_FAULT] = "faulted",
        [SPILL_TRACE_PIN_STREAM_VALUE] = "stream value",
        [SPILL_TRACE_PIN_TEXTURE] = "texture",
        [SPILL_TRACE_PIN_EXPORTED] = "exported",
    };
    return pins[pin];
}

/* The last " in ": a symbol may hold one, a module's file name hardly. */
static const char *find_module(const char *text, size_t len)
{
    for (size_t i = len; i >= 4; i--)
        if (memcmp(text + i - 4, " in ", 4) == 0)
            return text + i;
    return NULL;
}

bool spill_tracetext_frame(const char **site, struct spill_siteframe *frame)
{
    char place[SPILL_TRACETEXT_NAME];
    const char *text = *site;
    if (*text == '\0')
        return false;
    size_t len = strcspn(text, ";");
    *site = text + len + (text[len] != '\0');
    const char *module = find_module(text, len);
    size_t place_len = module == NULL ? len : (size_t)(module - text) - 4;
    frame->text = text;
    frame->len = len;
    frame->offset = 0;
    snprintf(place, sizeof(place), "%.*s", (int)place_len, text);
    snprintf(frame->module, sizeof(frame->module), "%.*s",
             module == NULL ? 0 : (int)(text + len - module), module == NULL ? "" : module);
    char *plus = strrchr(place, '+');
    if (plus != NULL && plus != place && strncmp(plus, "+0x", 3) == 0) {
        frame->offset = strtoull(plus + 1, NULL, 16);
        *plus = '\0';
    }
    spill_demangle(place, frame->name, sizeof(frame->name));
    return true;
}
