/* SPDX-License-Identifier: Apache-2.0 */
/* Planning problems written as text, a line a thing; # begins a comment. Two forms:
 *   a G10 trace (solver/g10.h): lines T and K;
 *   a chain of stages (solver/chain.h): lines I and S.
 * Either may have one line for the links, else they are zero, that is not known:
 *   L latency out in duplex    microseconds a copy; bytes per second to the host and to the GPU;
 *                              the rate each keeps while both are busy, in permille, 1 to 1000
 * Sizes are bytes, times microseconds with decimals. A text that is not of its form is refused with
 * the line and the reason. */
#ifndef SPILL_TEXTFORM_H
#define SPILL_TEXTFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/base/status.h"
#include "solver/problem.h"
#include "solver/textscan.h"

/* Largest size of one buffer, and of all together: 1 PiB and 8 PiB. */
#define SPILL_TEXTFORM_BYTES_MOST (UINT64_C(1) << 50)
#define SPILL_TEXTFORM_TOTAL_MOST (UINT64_C(1) << 53)
/* Longest iteration: two years. */
#define SPILL_TEXTFORM_NS_MOST (UINT64_C(1) << 56)

/* Owns the tables of its problem. Page size and budgets are zero: the caller sets them. */
struct spill_textform {
    struct spill_problem problem;
    struct spill_op *ops;
    struct spill_access *accesses;
    struct spill_buffer *buffers;
    uint32_t *op_name; /* of each op: offset of its terminated name in names; offset 0 is "" */
    char *names;
    uint32_t name_bytes;
    /* while it is read */
    uint32_t op_room, access_room, buffer_room, op_name_room, name_room;
    uint64_t total_bytes, total_ns;
};

/* Does TEXT begin like one of the two forms? */
bool spill_textform_is(const char *text, size_t length);

/* Reads LENGTH bytes of TEXT in the form that its first line has. SPILL_ERR_FORMAT or _NOMEM with a
 * one-line reason in COMPLAINT (COMPLAINT_LEN chars, may be NULL); then nothing needs freeing. */
enum spill_status spill_textform_read(const char *text, size_t length, struct spill_textform *form,
                                      char *complaint, size_t complaint_len);
void spill_textform_free(struct spill_textform *form);

/* For the readers of the forms. A buffer without a touch has birth_op UINT32_MAX until the end. */
enum spill_status spill_textform_buffer(struct spill_textform *form, struct spill_textscan *scan,
                                        uint64_t bytes, uint32_t life, uint32_t *index);
enum spill_status spill_textform_op(struct spill_textform *form, struct spill_textscan *scan,
                                    const char *name, size_t length, uint64_t ns);
/* The op added last touches BUFFER, which is born or dies there if it is first or last to do so. */
enum spill_status spill_textform_touch(struct spill_textform *form, uint32_t buffer, uint32_t mode);
/* The rest of a line L. */
enum spill_status spill_textform_links(struct spill_textform *form, struct spill_textscan *scan);

#endif
