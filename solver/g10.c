/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/g10.h"

#include <stdlib.h>
#include <string.h>

#define ID_MOST   999999
#define NO_TENSOR UINT32_MAX

/* What is known of a tensor id. */
struct tensor {
    uint32_t buffer;
    uint32_t seen_at; /* op + 1 that last listed it, and where */
    uint32_t access;
};

struct reader {
    struct spill_textscan *scan;
    struct spill_textform *form;
    struct tensor *tensors; /* by id; tensor_room of them */
    uint32_t tensor_room;
    uint64_t kernels_from; /* the least id that the next kernel may have */
};

static bool make_room(struct reader *r, uint32_t id)
{
    uint32_t room = id + id / 2 + 64;
    struct tensor *larger;

    if (id < r->tensor_room)
        return true;
    larger = realloc(r->tensors, room * sizeof(*larger));
    if (larger == NULL)
        return false;
    for (uint32_t i = r->tensor_room; i < room; i++)
        larger[i] = (struct tensor){.buffer = NO_TENSOR};
    r->tensors = larger;
    r->tensor_room = room;
    return true;
}

static enum spill_status read_tensor(struct reader *r)
{
    uint64_t id, global, bytes;
    enum spill_status status = spill_textscan_number(r->scan, "a tensor's id", ID_MOST, &id);

    if (status == SPILL_OK && id < r->tensor_room && r->tensors[id].buffer != NO_TENSOR)
        status = spill_textscan_reject(r->scan, "is the id of a tensor above");
    if (status == SPILL_OK)
        status = spill_textscan_number(r->scan, "a global flag", 1, &global);
    if (status == SPILL_OK)
        status = spill_textscan_number(r->scan, "a size", SPILL_TEXTFORM_BYTES_MOST, &bytes);
    if (status == SPILL_OK && !make_room(r, (uint32_t)id))
        status = SPILL_ERR_NOMEM;
    if (status != SPILL_OK)
        return status;
    return spill_textform_buffer(r->form, r->scan, bytes,
                                 global ? SPILL_LIFE_PERSISTENT : SPILL_LIFE_ITERATION,
                                 &r->tensors[id].buffer);
}

/* A tensor named twice by a kernel is one access with both modes. */
static enum spill_status list_tensor(struct reader *r, uint64_t id, uint32_t mode)
{
    uint32_t op = r->form->problem.op_count;
    struct tensor *tensor;

    if (id >= r->tensor_room || r->tensors[id].buffer == NO_TENSOR)
        return spill_textscan_complain(r->scan, "no line above has tensor %llu",
                                       (unsigned long long)id);
    tensor = &r->tensors[id];
    if (tensor->seen_at == op) {
        r->form->accesses[tensor->access].mode |= mode;
        return SPILL_OK;
    }
    tensor->seen_at = op;
    tensor->access = r->form->problem.access_count;
    return spill_textform_touch(r->form, tensor->buffer, mode);
}

/* A word NAME followed by ids: in=1,2,3 */
static enum spill_status read_list(struct reader *r, const char *name, uint32_t mode)
{
    enum spill_status status = spill_textscan_word(r->scan, name);
    size_t length = strlen(name);
    const char *at = r->scan->word + length, *end = r->scan->at;

    if (status == SPILL_OK &&
        (r->scan->word_len < length || memcmp(r->scan->word, name, length) != 0))
        return spill_textscan_reject(r->scan, "stands where in= and then out= belong");
    while (status == SPILL_OK && at < end) {
        uint64_t id;

        at = spill_textscan_digits(at, end, ID_MOST, &id);
        if (at == NULL || (at < end && (*at != ',' || at + 1 == end)))
            return spill_textscan_reject(r->scan,
                                         "is not a list of tensor ids with commas between");
        status = list_tensor(r, id, mode);
        at += at < end;
    }
    return status;
}

static enum spill_status read_kernel(struct reader *r)
{
    uint64_t id, ns;
    const char *name;
    size_t name_len;
    enum spill_status status = spill_textscan_number(r->scan, "a kernel's id", ID_MOST, &id);

    if (status == SPILL_OK && id < r->kernels_from)
        status = spill_textscan_reject(r->scan, "is not above the kernel ids before it");
    if (status == SPILL_OK)
        status = spill_textscan_word(r->scan, "a name");
    name = r->scan->word;
    name_len = r->scan->word_len;
    if (status == SPILL_OK)
        status = spill_textscan_time(r->scan, "a time", &ns);
    if (status == SPILL_OK)
        status = spill_textform_op(r->form, r->scan, name, name_len, ns);
    if (status == SPILL_OK)
        status = read_list(r, "in=", SPILL_ACCESS_READ);
    if (status == SPILL_OK)
        status = read_list(r, "out=", SPILL_ACCESS_WRITE);
    r->kernels_from = status == SPILL_OK ? id + 1 : 0;
    return status;
}

enum spill_status spill_g10_read(struct spill_textscan *scan, struct spill_textform *form)
{
    struct reader r = {.scan = scan, .form = form};
    enum spill_status status;

    while ((status = spill_textscan_line(scan)) == SPILL_OK) {
        char letter = spill_textscan_letter(scan);

        if (letter == 'T')
            status = read_tensor(&r);
        else if (letter == 'K')
            status = read_kernel(&r);
        else if (letter == 'L')
            status = spill_textform_links(form, scan);
        else
            status = spill_textscan_reject(scan, "stands where T, K or L belongs");
        if (status == SPILL_OK)
            status = spill_textscan_end(scan);
        if (status != SPILL_OK)
            break;
    }
    free(r.tensors);
    return status == SPILL_ERR_NOT_FOUND ? SPILL_OK : status;
}
