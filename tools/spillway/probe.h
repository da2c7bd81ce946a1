/* SPDX-License-Identifier: Apache-2.0 */
/* What 'spillway doctor' looks at. Each adds what it found; nothing is changed on the machine. */
#ifndef SPILL_PROBE_H
#define SPILL_PROBE_H

#include <stdbool.h>

#include "tools/spillway/finding.h"

/* Kernel, C library, host memory, limits. */
void spill_probe_host(struct spill_findings *found);

/* Driver, device, links, pinned memory. False: there is no driver. */
bool spill_probe_driver(struct spill_findings *found);

/* Would the library be in the program NAME, and act there? NAME is not run. False: there is no such
 * program. */
bool spill_probe_program(const char *name, struct spill_findings *found);

#endif
