/* SPDX-License-Identifier: Apache-2.0 */
/* Reader for chains of stages, the model of Beaumont, Eyraud-Dubois and Shilova (Euro-Par 2020; in
 * the notation of their POFO, NeurIPS 2021): an iteration runs F_1 .. F_L and then B_L .. B_1.
 *     I bytes                                             |a_0|, the input
 *     S name uF uB activation saved tmpF tmpB             stage 1, 2, ... L in order:
 *         uF, uB        microseconds of its forward and its backward step
 *         activation    |a_i|, its output
 *         saved         all that its forward step keeps for its backward, the output included, so
 *                       at least |a_i|
 *         tmpF, tmpB    what lives during its forward, or its backward, step alone
 * F_i reads a_(i-1), writes a_i and what it saves. B_i reads a_(i-1), what F_i saved and the
 * gradient of a_i, which has the size of a_i, and writes the gradient of a_(i-1). Parameters are
 * not part of a chain: their memory is taken off the budget first. */
#ifndef SPILL_CHAIN_H
#define SPILL_CHAIN_H

#include "preload/base/status.h"
#include "solver/textform.h"

/* Reads all lines of SCAN into FORM, for spill_textform_read. Ops are F_1 .. F_L, B_L .. B_1; for
 * names see spill_textform. */
enum spill_status spill_chain_read(struct spill_textscan *scan, struct spill_textform *form);

#endif
