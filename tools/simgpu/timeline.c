/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline.h"

void simgpu_timeline_op(const struct simgpu_op *op)
{
    (void)op;
}
