/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/problem.h"

#define COPY_MOST (UINT64_C(1) << 56)

__extension__ typedef unsigned __int128 wide_t;

uint64_t spill_link_ns(const struct spill_link *link, uint64_t bytes)
{
    wide_t ns = ((wide_t)bytes * 1000000000u + link->bytes_per_s - 1) / link->bytes_per_s;

    ns += link->latency_ns;
    return ns > COPY_MOST ? COPY_MOST : (uint64_t)ns;
}
