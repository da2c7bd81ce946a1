/* SPDX-License-Identifier: Apache-2.0 */
/* Reader for the whole-iteration traces of G10 (MICRO'23) in their text form:
 *     T id global bytes              a tensor; global = 1 when it outlives the iteration
 *     K id name us in=ids out=ids    a kernel: microseconds, tensors read, tensors written
 * Ids are below 1,000,000; those of kernels rise. A tensor stands before the kernels that name it,
 * and if it is not global it is born at its first use and dies at its last. */
#ifndef SPILL_G10_H
#define SPILL_G10_H

#include "preload/base/status.h"
#include "solver/textform.h"

/* Reads all lines of SCAN into FORM, for spill_textform_read. */
enum spill_status spill_g10_read(struct spill_textscan *scan, struct spill_textform *form);

#endif
