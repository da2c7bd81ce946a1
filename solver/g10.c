/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/g10.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ID_MOST      1000000u
#define NOT_A_TENSOR UINT32_MAX

struct reader {
    struct spill_g10 *trace;
    uint32_t *index_of; /* tensor id -> buffer */
    uint32_t *seen_at;  /* buffer -> op + 1 that last listed it, and where */
    uint32_t *access_of;
    uint32_t access_room, op_room, buffer_room;
};

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

/* A decimal number below 10^18 with an optional fraction, of which MILLI keeps three digits. */
static const char *read_number(const char *at, uint64_t *whole, uint64_t *milli)
{
    uint64_t value = 0, fraction = 0, unit = 100;

    if (*at < '0' || *at > '9')
        return NULL;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (value >= UINT64_C(100000000000000000))
            return NULL;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (milli != NULL && *at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++, unit /= 10)
            fraction += unit * (uint64_t)(*at - '0');
    *whole = value;
    if (milli != NULL)
        *milli = fraction;
    return at;
}

static bool grow(void **table, uint32_t *room, uint32_t count, size_t size)
{
    void *larger;

    if (count < *room)
        return true;
    if (*room > UINT32_MAX / 4)
        return false;
    larger = realloc(*table, ((size_t)*room * 2 + 64) * size);
    if (larger == NULL)
        return false;
    *table = larger;
    *room = *room * 2 + 64;
    return true;
}

static enum spill_status read_tensor(struct reader *r, const char *at)
{
    struct spill_g10 *trace = r->trace;
    uint64_t id, global, bytes;
    void *table = trace->buffers;

    if ((at = read_number(skip_blanks(at), &id, NULL)) == NULL || id >= ID_MOST ||
        r->index_of[id] != NOT_A_TENSOR ||
        (at = read_number(skip_blanks(at), &global, NULL)) == NULL || global > 1 ||
        (at = read_number(skip_blanks(at), &bytes, NULL)) == NULL || *skip_blanks(at) != '\0')
        return SPILL_ERR_FORMAT;
    if (!grow(&table, &r->buffer_room, trace->problem.buffer_count, sizeof(struct spill_buffer)))
        return SPILL_ERR_NOMEM;
    trace->buffers = table;
    r->index_of[id] = trace->problem.buffer_count;
    trace->buffers[trace->problem.buffer_count++] =
        (struct spill_buffer){.bytes = bytes,
                              .life = global ? SPILL_LIFE_PERSISTENT : SPILL_LIFE_ITERATION,
                              .birth_op = UINT32_MAX};
    return SPILL_OK;
}

/* A list "in=1,2,3"; a tensor named twice is one access with both modes. */
static enum spill_status read_list(struct reader *r, const char **text, const char *name,
                                   uint32_t mode)
{
    struct spill_problem *problem = &r->trace->problem;
    const char *at = skip_blanks(*text);
    size_t length = strlen(name);

    if (strncmp(at, name, length) != 0)
        return SPILL_ERR_FORMAT;
    at += length;
    while (*at >= '0' && *at <= '9') {
        uint64_t id;
        uint32_t b, op = problem->op_count;
        void *table = r->trace->accesses;

        at = read_number(at, &id, NULL);
        if (at == NULL || id >= ID_MOST || r->index_of[id] == NOT_A_TENSOR)
            return SPILL_ERR_FORMAT;
        b = r->index_of[id];
        if (r->seen_at[id] == op + 1) {
            r->trace->accesses[r->access_of[id]].mode |= mode;
        } else {
            if (!grow(&table, &r->access_room, problem->access_count, sizeof(struct spill_access)))
                return SPILL_ERR_NOMEM;
            r->trace->accesses = table;
            r->seen_at[id] = op + 1;
            r->access_of[id] = problem->access_count;
            r->trace->accesses[problem->access_count++] = (struct spill_access){b, mode};
        }
        if (r->trace->buffers[b].birth_op == UINT32_MAX)
            r->trace->buffers[b].birth_op = op;
        r->trace->buffers[b].death_op = op;
        if (*at == ',')
            at++;
    }
    *text = at;
    return SPILL_OK;
}

static enum spill_status read_kernel(struct reader *r, const char *at)
{
    struct spill_problem *problem = &r->trace->problem;
    uint64_t id, us, ns;
    uint32_t first = problem->access_count;
    void *table = r->trace->ops;
    enum spill_status status;

    if ((at = read_number(skip_blanks(at), &id, NULL)) == NULL)
        return SPILL_ERR_FORMAT;
    at = skip_blanks(at);
    while (*at != '\0' && *at != ' ' && *at != '\t')
        at++;
    if ((at = read_number(skip_blanks(at), &us, &ns)) == NULL || us > UINT64_C(1000000000000))
        return SPILL_ERR_FORMAT;
    if (!grow(&table, &r->op_room, problem->op_count, sizeof(struct spill_op)))
        return SPILL_ERR_NOMEM;
    r->trace->ops = table;
    status = read_list(r, &at, "in=", SPILL_ACCESS_READ);
    if (status == SPILL_OK)
        status = read_list(r, &at, "out=", SPILL_ACCESS_WRITE);
    if (status == SPILL_OK && *skip_blanks(at) != '\0')
        status = SPILL_ERR_FORMAT;
    if (status != SPILL_OK)
        return status;
    r->trace->ops[problem->op_count++] =
        (struct spill_op){us * 1000 + ns, first, problem->access_count - first};
    return SPILL_OK;
}

static enum spill_status read_lines(struct reader *r, const char *text, char *line, size_t room)
{
    enum spill_status status = SPILL_OK;

    while (*text != '\0' && status == SPILL_OK) {
        size_t length = strcspn(text, "\n");
        const char *at;

        r->trace->line++;
        if (length >= room)
            return SPILL_ERR_FORMAT;
        memcpy(line, text, length);
        line[length] = '\0';
        text += length + (text[length] == '\n');
        at = skip_blanks(line);
        if (*at == 'T' && (at[1] == ' ' || at[1] == '\t'))
            status = read_tensor(r, at + 1);
        else if (*at == 'K' && (at[1] == ' ' || at[1] == '\t'))
            status = read_kernel(r, at + 1);
        else if (*at != '\0' && *at != '#')
            status = SPILL_ERR_FORMAT;
    }
    return status;
}

enum spill_status spill_g10_read(const char *text, struct spill_g10 *trace)
{
    struct reader r = {.trace = trace};
    size_t room = strlen(text) + 1;
    char *line = malloc(room);
    enum spill_status status = SPILL_ERR_NOMEM;

    memset(trace, 0, sizeof(*trace));
    r.index_of = malloc(ID_MOST * sizeof(uint32_t));
    r.seen_at = calloc(ID_MOST, sizeof(uint32_t));
    r.access_of = calloc(ID_MOST, sizeof(uint32_t));
    if (line != NULL && r.index_of != NULL && r.seen_at != NULL && r.access_of != NULL) {
        memset(r.index_of, 0xff, ID_MOST * sizeof(uint32_t));
        status = read_lines(&r, text, line, room);
    }
    free(line);
    free(r.index_of);
    free(r.seen_at);
    free(r.access_of);
    if (status == SPILL_OK && trace->problem.op_count == 0)
        status = SPILL_ERR_FORMAT;
    for (uint32_t b = 0; b < trace->problem.buffer_count && status == SPILL_OK; b++)
        if (trace->buffers[b].birth_op == UINT32_MAX) { /* used by nothing: not there at all */
            trace->buffers[b].birth_op = 0;
            if (trace->buffers[b].life == SPILL_LIFE_ITERATION)
                trace->buffers[b].bytes = 0;
        }
    if (status != SPILL_OK) {
        uint32_t at = trace->line;

        spill_g10_free(trace);
        trace->line = at;
        return status;
    }
    trace->problem.ops = trace->ops;
    trace->problem.accesses = trace->accesses;
    trace->problem.buffers = trace->buffers;
    return SPILL_OK;
}

void spill_g10_free(struct spill_g10 *trace)
{
    free(trace->ops);
    free(trace->accesses);
    free(trace->buffers);
    memset(trace, 0, sizeof(*trace));
}
