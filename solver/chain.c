/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/chain.h"

#include <stdio.h>
#include <stdlib.h>

#define STAGES_MOST 1000000u

struct stage {
    const char *name;
    size_t name_len;
    uint64_t forward_ns, backward_ns;
    uint64_t activation, rest, forward_temporary, backward_temporary; /* bytes */
    uint32_t output, saved, gradient; /* buffers: a_i, what else F_i saves, gradient of a_i */
};

struct reader {
    struct spill_textscan *scan;
    struct spill_textform *form;
    struct stage *stages; /* stage 0 is the input */
    uint32_t count, room; /* count: with the input */
};

static enum spill_status read_size(struct reader *r, const char *what, uint64_t *bytes)
{
    return spill_textscan_number(r->scan, what, SPILL_TEXTFORM_BYTES_MOST, bytes);
}

static struct stage *new_stage(struct reader *r)
{
    if (r->count == r->room) {
        uint32_t room = r->room * 2 + 64;
        struct stage *larger = realloc(r->stages, room * sizeof(*larger));

        if (larger == NULL)
            return NULL;
        r->stages = larger;
        r->room = room;
    }
    r->stages[r->count] = (struct stage){.name = ""};
    return &r->stages[r->count++];
}

static enum spill_status read_input(struct reader *r)
{
    struct stage *input;

    if (r->count > 0)
        return spill_textscan_complain(r->scan, "the input (I) comes once, before the stages");
    if ((input = new_stage(r)) == NULL)
        return SPILL_ERR_NOMEM;
    return read_size(r, "the size of the input", &input->activation);
}

static enum spill_status read_stage(struct reader *r)
{
    struct stage *s;
    uint64_t saved = 0;
    enum spill_status status;

    if (r->count == 0)
        return spill_textscan_complain(r->scan, "the input (I) comes before the stages");
    if (r->count > STAGES_MOST)
        return spill_textscan_complain(r->scan, "too many stages: %u at most", STAGES_MOST);
    if ((s = new_stage(r)) == NULL)
        return SPILL_ERR_NOMEM;
    status = spill_textscan_word(r->scan, "the stage's name");
    s->name = r->scan->word;
    s->name_len = r->scan->word_len;
    if (status == SPILL_OK)
        status = spill_textscan_time(r->scan, "a forward time", &s->forward_ns);
    if (status == SPILL_OK)
        status = spill_textscan_time(r->scan, "a backward time", &s->backward_ns);
    if (status == SPILL_OK)
        status = read_size(r, "the activation's size", &s->activation);
    if (status == SPILL_OK)
        status = read_size(r, "the saved size", &saved);
    if (status == SPILL_OK && saved < s->activation)
        status = spill_textscan_reject(r->scan, "saved is less than the activation, which it "
                                                "includes");
    if (status == SPILL_OK)
        status = read_size(r, "the forward temporary size", &s->forward_temporary);
    if (status == SPILL_OK)
        status = read_size(r, "the backward temporary size", &s->backward_temporary);
    s->rest = saved - s->activation;
    return status;
}

/* A new buffer of one iteration that the op touches; *INDEX may be NULL. */
static enum spill_status make(struct reader *r, uint64_t bytes, uint32_t mode, uint32_t *index)
{
    uint32_t b;
    enum spill_status status;

    if (bytes == 0)
        return SPILL_OK; /* never touched: *INDEX is not read */
    status = spill_textform_buffer(r->form, r->scan, bytes, SPILL_LIFE_ITERATION, &b);
    if (status != SPILL_OK)
        return status;
    if (index != NULL)
        *index = b;
    return spill_textform_touch(r->form, b, mode);
}

static enum spill_status touch(struct reader *r, uint64_t bytes, uint32_t buffer)
{
    return bytes == 0 ? SPILL_OK : spill_textform_touch(r->form, buffer, SPILL_ACCESS_READ);
}

static enum spill_status add_op(struct reader *r, const struct stage *s, const char *step,
                                uint64_t ns)
{
    char name[96];
    int length = snprintf(name, sizeof(name), "%.*s%s", s->name_len < 80 ? (int)s->name_len : 80,
                          s->name, step);

    return spill_textform_op(r->form, r->scan, name, (size_t)length, ns);
}

static enum spill_status forward(struct reader *r, uint32_t i)
{
    struct stage *input = &r->stages[i - 1], *s = &r->stages[i];
    enum spill_status status = add_op(r, s, "_forward", s->forward_ns);

    if (status == SPILL_OK) /* the first stage finds the input in place */
        status = i == 1 ? make(r, input->activation, SPILL_ACCESS_READ, &input->output)
                        : touch(r, input->activation, input->output);
    if (status == SPILL_OK)
        status = make(r, s->activation, SPILL_ACCESS_WRITE, &s->output);
    if (status == SPILL_OK)
        status = make(r, s->rest, SPILL_ACCESS_WRITE, &s->saved);
    if (status == SPILL_OK)
        status = make(r, s->forward_temporary, SPILL_ACCESS_UNKNOWN, NULL);
    return status;
}

static enum spill_status backward(struct reader *r, uint32_t i)
{
    struct stage *input = &r->stages[i - 1], *s = &r->stages[i];
    enum spill_status status = add_op(r, s, "_backward", s->backward_ns);

    if (status == SPILL_OK)
        status = touch(r, input->activation, input->output);
    if (status == SPILL_OK)
        status = touch(r, s->activation, s->output);
    if (status == SPILL_OK)
        status = touch(r, s->rest, s->saved);
    if (status == SPILL_OK) /* that of the last output comes from nowhere: there is no loss stage */
        status = i + 1 == r->count ? make(r, s->activation, SPILL_ACCESS_UNKNOWN, NULL)
                                   : touch(r, s->activation, s->gradient);
    if (status == SPILL_OK)
        status = make(r, input->activation, SPILL_ACCESS_WRITE, &input->gradient);
    if (status == SPILL_OK)
        status = make(r, s->backward_temporary, SPILL_ACCESS_UNKNOWN, NULL);
    return status;
}

static enum spill_status read_lines(struct reader *r)
{
    enum spill_status status;

    while ((status = spill_textscan_line(r->scan)) == SPILL_OK) {
        char letter = spill_textscan_letter(r->scan);

        if (letter == 'I')
            status = read_input(r);
        else if (letter == 'S')
            status = read_stage(r);
        else if (letter == 'L')
            status = spill_textform_links(r->form, r->scan);
        else
            status = spill_textscan_reject(r->scan, "stands where I, S or L belongs");
        if (status == SPILL_OK)
            status = spill_textscan_end(r->scan);
        if (status != SPILL_OK)
            return status;
    }
    return status == SPILL_ERR_NOT_FOUND ? SPILL_OK : status;
}

enum spill_status spill_chain_read(struct spill_textscan *scan, struct spill_textform *form)
{
    struct reader r = {.scan = scan, .form = form};
    enum spill_status status = read_lines(&r);

    for (uint32_t i = 1; i < r.count && status == SPILL_OK; i++)
        status = forward(&r, i);
    for (uint32_t i = r.count; i-- > 1 && status == SPILL_OK;)
        status = backward(&r, i);
    free(r.stages);
    return status;
}
