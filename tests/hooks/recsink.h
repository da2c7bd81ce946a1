/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECSINK_H
#define RECSINK_H

#include <stdint.h>

struct recsink_counts {
    unsigned before, after, others;
    int64_t unmanaged;
    unsigned kind, ranges, default_stream; /* of the last op */
    uint64_t pinned;                       /* last address */
    uint64_t managed_base, managed_bytes;  /* set by the test: what counts as managed */
};

#endif
