/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/textform.h"

#include <stdlib.h>
#include <string.h>

#include "solver/chain.h"
#include "solver/g10.h"

#define COUNT_MOST (UINT32_MAX / 8)

/* Makes room for MORE elements of SIZE after COUNT. */
static bool grow(void **table, uint32_t *room, uint32_t count, uint32_t more, size_t size)
{
    uint32_t wanted;
    void *larger;

    if (*room - count >= more)
        return true;
    if (more > COUNT_MOST || count > COUNT_MOST)
        return false;
    wanted = count + more + count / 2 + 64;
    larger = realloc(*table, wanted * size);
    if (larger == NULL)
        return false;
    *table = larger;
    *room = wanted;
    return true;
}

/* Each table goes through a void pointer of its own, so that no pointer is read as another type. */
#define GROW(form, member, count, more)                                                            \
    do {                                                                                           \
        void *table_ = (form)->member;                                                             \
        if (!grow(&table_, &(form)->ROOM_##member, count, more, sizeof(*(form)->member)))          \
            return SPILL_ERR_NOMEM;                                                                \
        (form)->member = table_;                                                                   \
    } while (0)
#define ROOM_ops      op_room
#define ROOM_accesses access_room
#define ROOM_buffers  buffer_room
#define ROOM_op_name  op_name_room
#define ROOM_names    name_room

enum spill_status spill_textform_buffer(struct spill_textform *form, struct spill_textscan *scan,
                                        uint64_t bytes, uint32_t life, uint32_t *index)
{
    form->total_bytes += bytes;
    if (form->total_bytes > SPILL_TEXTFORM_TOTAL_MOST)
        return spill_textscan_complain(scan, "the sizes up to here add up to more than 8 PiB");
    GROW(form, buffers, form->problem.buffer_count, 1);
    *index = form->problem.buffer_count++;
    form->buffers[*index] =
        (struct spill_buffer){.bytes = bytes, .life = life, .birth_op = UINT32_MAX};
    return SPILL_OK;
}

enum spill_status spill_textform_op(struct spill_textform *form, struct spill_textscan *scan,
                                    const char *name, size_t length, uint64_t ns)
{
    struct spill_problem *p = &form->problem;

    form->total_ns += ns;
    if (form->total_ns > SPILL_TEXTFORM_NS_MOST)
        return spill_textscan_complain(scan, "the times up to here add up to more than two years");
    if (length >= COUNT_MOST)
        return SPILL_ERR_NOMEM;
    GROW(form, names, form->name_bytes, (uint32_t)length + 2);
    if (form->name_bytes == 0)
        form->names[form->name_bytes++] = '\0';
    GROW(form, op_name, p->op_count, 1);
    GROW(form, ops, p->op_count, 1);
    form->op_name[p->op_count] = form->name_bytes;
    memcpy(form->names + form->name_bytes, name, length);
    form->names[form->name_bytes + length] = '\0';
    form->name_bytes += (uint32_t)length + 1;
    form->ops[p->op_count++] = (struct spill_op){ns, p->access_count, 0};
    return SPILL_OK;
}

enum spill_status spill_textform_touch(struct spill_textform *form, uint32_t buffer, uint32_t mode)
{
    struct spill_problem *p = &form->problem;
    struct spill_op *op = &form->ops[p->op_count - 1];

    GROW(form, accesses, p->access_count, 1);
    form->accesses[p->access_count++] = (struct spill_access){buffer, mode};
    op->access_count++;
    if (form->buffers[buffer].birth_op == UINT32_MAX)
        form->buffers[buffer].birth_op = p->op_count - 1;
    form->buffers[buffer].death_op = p->op_count - 1;
    return SPILL_OK;
}

enum spill_status spill_textform_links(struct spill_textform *form, struct spill_textscan *scan)
{
    struct spill_problem *p = &form->problem;
    uint64_t latency, out, in, duplex;
    enum spill_status status = spill_textscan_time(scan, "a latency", &latency);

    if (status == SPILL_OK && p->duplex_permille != 0)
        return spill_textscan_complain(scan, "a second line for the links");
    if (status == SPILL_OK && latency > UINT64_C(1000000000))
        status = spill_textscan_reject(scan, "is too long for a latency: a second at most");
    if (status == SPILL_OK)
        status = spill_textscan_number(scan, "a rate", UINT64_C(1) << 50, &out);
    if (status == SPILL_OK)
        status = spill_textscan_number(scan, "a rate", UINT64_C(1) << 50, &in);
    if (status == SPILL_OK)
        status = spill_textscan_number(scan, "a duplex factor", 1000, &duplex);
    if (status == SPILL_OK && (out == 0 || in == 0 || duplex == 0))
        status = spill_textscan_complain(scan, "a link needs a rate, and a duplex factor, above 0");
    if (status != SPILL_OK)
        return status;
    p->out = (struct spill_link){latency, out};
    p->in = (struct spill_link){latency, in};
    p->duplex_permille = (uint32_t)duplex;
    return SPILL_OK;
}

/* The letter of the first line that is no comment, and not of the links if there is another; '\0'
 * when that line begins with a longer word. */
static char first_letter(const char *text, size_t length)
{
    struct spill_textscan scan;
    char letter = '\0';

    spill_textscan_open(&scan, text, length, NULL, 0);
    while (spill_textscan_line(&scan) == SPILL_OK) {
        letter = spill_textscan_letter(&scan);
        if (letter != 'L')
            break;
    }
    return letter;
}

bool spill_textform_is(const char *text, size_t length)
{
    char letter = first_letter(text, length);

    return letter != '\0' && strchr("TKISL", letter) != NULL;
}

/* What no op touches: a persistent buffer keeps its memory, another was never there. */
static void settle_untouched(struct spill_textform *form)
{
    for (uint32_t b = 0; b < form->problem.buffer_count; b++)
        if (form->buffers[b].birth_op == UINT32_MAX) {
            form->buffers[b].birth_op = 0;
            if (form->buffers[b].life == SPILL_LIFE_ITERATION)
                form->buffers[b].bytes = 0;
        }
}

enum spill_status spill_textform_read(const char *text, size_t length, struct spill_textform *form,
                                      char *complaint, size_t complaint_len)
{
    struct spill_textscan scan;
    enum spill_status status;
    char letter = first_letter(text, length);

    memset(form, 0, sizeof(*form));
    spill_textscan_open(&scan, text, length, complaint, complaint_len);
    if (letter == 'I' || letter == 'S')
        status = spill_chain_read(&scan, form);
    else
        status = spill_g10_read(&scan, form);
    if (status == SPILL_OK && form->problem.op_count == 0)
        status = spill_textscan_complain(&scan, "it ends without an operation");
    if (status == SPILL_ERR_NOMEM)
        spill_textscan_complain(&scan, "out of memory");
    if (status != SPILL_OK) {
        spill_textform_free(form);
        return status;
    }
    settle_untouched(form);
    form->problem.ops = form->ops;
    form->problem.accesses = form->accesses;
    form->problem.buffers = form->buffers;
    return SPILL_OK;
}

void spill_textform_free(struct spill_textform *form)
{
    free(form->ops);
    free(form->accesses);
    free(form->buffers);
    free(form->op_name);
    free(form->names);
    memset(form, 0, sizeof(*form));
}
