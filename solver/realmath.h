/* SPDX-License-Identifier: Apache-2.0 */
/* The little arithmetic on doubles that the solver needs. libm would be one more library that a
 * preloaded object drags into its host. */
#ifndef SPILL_REALMATH_H
#define SPILL_REALMATH_H

#include <emmintrin.h>
#include <stdint.h>

static inline double spill_real_min(double a, double b)
{
    return a < b ? a : b;
}

static inline double spill_real_max(double a, double b)
{
    return a > b ? a : b;
}

/* Least integer not below VALUE, which must be within the range of int64_t. */
static inline int64_t spill_real_up(double value)
{
    int64_t whole = (int64_t)value;

    return whole + ((double)whole < value);
}

/* Square root, correctly rounded. */
static inline double spill_real_root(double value)
{
    __m128d v = _mm_set_sd(value);

    return _mm_cvtsd_f64(_mm_sqrt_sd(v, v));
}

#endif
