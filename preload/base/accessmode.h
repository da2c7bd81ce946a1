/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPILL_ACCESSMODE_H
#define SPILL_ACCESSMODE_H

/* How an op touches a buffer. */
enum spill_access_mode {
    SPILL_ACCESS_READ = 1,
    SPILL_ACCESS_WRITE = 2,
    SPILL_ACCESS_UNKNOWN = 3 /* counts as both */
};

#endif
