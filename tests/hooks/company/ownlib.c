/* SPDX-License-Identifier: Apache-2.0 */
/* A library that has, by chance, functions named like the driver's: one alike, others with
 * arguments and results of their own. */
#include "tests/hooks/company/ownlib.h"

unsigned own_calls;

int own_set(unsigned long long dst, unsigned short value, unsigned long count)
{
    own_calls++;
    return (int)(dst + value + count);
}

int own_set_inside(void)
{
    return own_set(1, 2, 3);
}

double own_blend(double a, double b, double c, double d, double e, double f, double g, double h,
                 double on_stack, int i, int j, int k, int l, int m, int n, int o)
{
    own_calls++;
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * on_stack + 10 * i +
           11 * j + 12 * k + 13 * l + 14 * m + 15 * n + 16 * o;
}

struct own_pair own_swap(struct own_pair pair)
{
    own_calls++;
    return (struct own_pair){pair.b, pair.a, pair.c + 1};
}

int own_sum(const char *kinds, ...)
{
    va_list args;
    double sum = 0;
    own_calls++;
    va_start(args, kinds);
    for (; *kinds != '\0'; kinds++)
        sum += *kinds == 'd' ? va_arg(args, double) : va_arg(args, int);
    va_end(args);
    return (int)sum;
}
