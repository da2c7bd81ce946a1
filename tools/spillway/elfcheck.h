/* SPDX-License-Identifier: Apache-2.0 */
/* Will the dynamic loader preload anything into this program? */
#ifndef SPILL_ELFCHECK_H
#define SPILL_ELFCHECK_H

/* One warning if not: a static program has no loader, a setuid one ignores LD_PRELOAD. Scripts and
 * what cannot be read pass in silence. */
void spill_elfcheck_warn(const char *path);

#endif
