/* SPDX-License-Identifier: Apache-2.0 */
/* SIMGPU_TIMELINE=FILE: the virtual timeline in the trace-event format that Perfetto and Chrome
 * read. */
#ifndef SIMGPU_TIMELINE_H
#define SIMGPU_TIMELINE_H

#include "op.h"

void simgpu_timeline_load(void);
void simgpu_timeline_op(const struct simgpu_op *op);

#endif
