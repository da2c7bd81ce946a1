/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECSINK_H
#define RECSINK_H

#include <stdint.h>

struct recsink_counts {
    unsigned before, after, ordered, others, captures, graphs;
    int64_t unmanaged;
    unsigned kind, ranges, default_stream; /* of the last op */
    uint64_t pinned, mapped;               /* last addresses */
    uint64_t managed_base, managed_bytes;  /* set by the test: what counts as managed */
    uint64_t sought;                       /* set by the test: a word that copies may carry */
    unsigned carried;                      /* times the last op carried it */
};

#endif
