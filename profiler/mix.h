/* SPDX-License-Identifier: Apache-2.0 */
/* A 64-bit mixer for event signatures (the finaliser of SplitMix64, Steele et al., OOPSLA 2014). */
#ifndef SPILL_MIX_H
#define SPILL_MIX_H

#include <stdint.h>

static inline uint64_t spill_mix(uint64_t hash, uint64_t value)
{
    uint64_t z = hash * UINT64_C(0x9e3779b97f4a7c15) + value + UINT64_C(0x632be59bd9b4e019);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

#endif
