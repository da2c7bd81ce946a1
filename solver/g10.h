/* SPDX-License-Identifier: Apache-2.0 */
/* Reader for the whole-iteration traces of G10 (MICRO'23) in their text form:
 *     T id global bytes              a tensor; global = 1 when it outlives the iteration
 *     K id name us in=ids out=ids    a kernel: microseconds, tensors read, tensors written
 * Lines that begin with # are comments. A tensor that is not global is born at its first use and
 * dies at its last. */
#ifndef SPILL_G10_H
#define SPILL_G10_H

#include <stdint.h>

#include "preload/base/status.h"
#include "solver/problem.h"

/* Owns the tables of its problem. Links, page size and budgets are zero: the caller sets them. */
struct spill_g10 {
    struct spill_problem problem;
    struct spill_op *ops;
    struct spill_access *accesses;
    struct spill_buffer *buffers;
    uint32_t line; /* the line at fault after SPILL_ERR_FORMAT */
};

/* Reads TEXT (terminated). SPILL_ERR_FORMAT: not of the form; trace->line says where. On failure
 * nothing needs freeing. */
enum spill_status spill_g10_read(const char *text, struct spill_g10 *trace);
void spill_g10_free(struct spill_g10 *trace);

#endif
