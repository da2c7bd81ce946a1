/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/loadtrace.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/base/log.h"
#include "profiler/tracefile.h"
#include "solver/textform.h"

enum { COMPLAINT = 256, HEAD = 4096 };
#define PAGE_BYTES (UINT64_C(2) << 20)

/* All of PATH, LENGTH bytes, if it begins like a text form; NULL if not, or if it cannot be read:
 * the reader of traces will say why. */
static char *read_text(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    size_t room = HEAD, used = 0, more;
    char *text = file != NULL ? malloc(room) : NULL;
    bool is_text = false;
    while (text != NULL && (more = fread(text + used, 1, room - used, file)) > 0) {
        is_text = is_text || spill_textform_is(text, more); /* asked of the first part alone */
        used += more;
        if (!is_text)
            break;
        if (used == room) {
            char *larger = realloc(text, room *= 2);
            if (larger == NULL)
                break;
            text = larger;
        }
    }
    if (text == NULL || !is_text || ferror(file) || !feof(file)) {
        free(text);
        text = NULL;
    }
    if (file != NULL)
        fclose(file);
    *length = used;
    return text;
}

/* The most bytes of pages at one op. */
static uint64_t count_peak(const struct spill_trace *trace, const struct spill_problem *problem)
{
    uint64_t peak = 0;
    uint64_t *change = calloc((size_t)trace->op_count + 1, sizeof(*change)), now = 0;
    if (change == NULL)
        return 0;
    for (uint32_t b = 0; b < trace->buffer_count; b++) {
        const struct spill_buffer *buffer = &problem->buffers[b];
        bool stays = buffer->life == SPILL_LIFE_PERSISTENT;
        uint64_t bytes = (buffer->bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
        change[stays ? 0 : buffer->birth_op] += bytes;
        change[stays ? trace->op_count : buffer->death_op + 1] -= bytes;
    }
    for (uint32_t k = 0; k < trace->op_count; k++) {
        now += change[k];
        peak = now > peak ? now : peak;
    }
    free(change);
    return peak;
}

/* NAME is the program's. */
static struct spill_trace *convert(const struct spill_textform *form, const char *name)
{
    const struct spill_problem *p = &form->problem;
    struct spill_trace *trace = calloc(1, sizeof(*trace));
    size_t name_len = strlen(name) + 1;
    if (trace == NULL)
        return NULL;
    trace->ops = calloc((size_t)p->op_count + 1, sizeof(*trace->ops));
    trace->accesses = calloc((size_t)p->access_count + 1, sizeof(*trace->accesses));
    trace->buffers = calloc((size_t)p->buffer_count + 1, sizeof(*trace->buffers));
    trace->names = malloc(form->name_bytes + name_len);
    if (trace->ops == NULL || trace->accesses == NULL || trace->buffers == NULL ||
        trace->names == NULL) {
        spill_tracefile_free(trace);
        return NULL;
    }
    memcpy(trace->names, form->names, form->name_bytes);
    memcpy(trace->names + form->name_bytes, name, name_len);
    for (uint32_t k = 0; k < p->op_count; k++) {
        trace->ops[k] = (struct spill_trace_op){.duration_ns = p->ops[k].duration_ns,
                                                .name = form->op_name[k],
                                                .access_first = p->ops[k].access_first,
                                                .access_count = p->ops[k].access_count};
        trace->step_ns += p->ops[k].duration_ns;
    }
    for (uint32_t a = 0; a < p->access_count; a++)
        trace->accesses[a] =
            (struct spill_trace_access){p->accesses[a].buffer, p->accesses[a].mode};
    for (uint32_t b = 0; b < p->buffer_count; b++) {
        bool stays = p->buffers[b].life == SPILL_LIFE_PERSISTENT;
        trace->buffers[b] = (struct spill_trace_buffer){
            .bytes = p->buffers[b].bytes,
            .life = stays ? SPILL_TRACE_PERSISTENT : SPILL_TRACE_ITERATION,
            .birth_op = stays ? SPILL_TRACE_NONE : p->buffers[b].birth_op,
            .free_op = stays ? SPILL_TRACE_NONE : p->buffers[b].death_op + 1,
            .site = SPILL_TRACE_NONE};
    }
    trace->op_count = p->op_count;
    trace->access_count = p->access_count;
    trace->buffer_count = p->buffer_count;
    trace->name_bytes = form->name_bytes + (uint32_t)name_len;
    trace->program = form->name_bytes;
    trace->out = (struct spill_trace_link){p->out.latency_ns, p->out.bytes_per_s};
    trace->in = (struct spill_trace_link){p->in.latency_ns, p->in.bytes_per_s};
    trace->duplex_permille = p->duplex_permille;
    trace->iterations = 1;
    trace->page_bytes = PAGE_BYTES;
    trace->peak_bytes = trace->gpu_bytes = count_peak(trace, p);
    return trace;
}

struct spill_trace *spill_loadtrace(const char *path)
{
    char complaint[COMPLAINT];
    struct spill_trace *trace = NULL;
    struct spill_textform form;
    size_t length;
    char *text = read_text(path, &length);
    if (text == NULL) {
        if (spill_tracefile_read(path, &trace, complaint, sizeof(complaint)) == SPILL_OK)
            return trace;
    } else if (spill_textform_read(text, length, &form, complaint, sizeof(complaint)) == SPILL_OK) {
        const char *slash = strrchr(path, '/');
        trace = convert(&form, slash != NULL ? slash + 1 : path);
        spill_textform_free(&form);
        snprintf(complaint, sizeof(complaint), "out of memory");
    }
    free(text);
    if (trace == NULL)
        spill_log(SPILL_LOG_ERROR, "cannot read %s: %s", path, complaint);
    return trace;
}
