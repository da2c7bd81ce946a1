/* SPDX-License-Identifier: Apache-2.0 */
/* Turns "type, name, type, name" of an api.def row into a parameter list or an argument list, so
 * that a row says each function's signature once. Up to 12 parameters, the most that a driver call
 * has. */
#ifndef SIMGPU_PAIRS_H
#define SIMGPU_PAIRS_H

#define SIMGPU_CAT_(a, b) a##b
#define SIMGPU_CAT(a, b)  SIMGPU_CAT_(a, b)
/* The count of pairs; no pair at all is written as a single "void". */
#define SIMGPU_PICK_(a1, a2, b1, b2, c1, c2, d1, d2, e1, e2, f1, f2, g1, g2, h1, h2, i1, i2, j1,   \
                     j2, k1, k2, l1, l2, n, ...)                                                   \
    n
#define SIMGPU_PAIRS(...)                                                                          \
    SIMGPU_PICK_(__VA_ARGS__, 12, x, 11, x, 10, x, 9, x, 8, x, 7, x, 6, x, 5, x, 4, x, 3, x, 2, x, \
                 1, 0, x, x)

#define SIMGPU_P0(v)          void
#define SIMGPU_P1(t, n)       t n
#define SIMGPU_P2(t, n, ...)  t n, SIMGPU_P1(__VA_ARGS__)
#define SIMGPU_P3(t, n, ...)  t n, SIMGPU_P2(__VA_ARGS__)
#define SIMGPU_P4(t, n, ...)  t n, SIMGPU_P3(__VA_ARGS__)
#define SIMGPU_P5(t, n, ...)  t n, SIMGPU_P4(__VA_ARGS__)
#define SIMGPU_P6(t, n, ...)  t n, SIMGPU_P5(__VA_ARGS__)
#define SIMGPU_P7(t, n, ...)  t n, SIMGPU_P6(__VA_ARGS__)
#define SIMGPU_P8(t, n, ...)  t n, SIMGPU_P7(__VA_ARGS__)
#define SIMGPU_P9(t, n, ...)  t n, SIMGPU_P8(__VA_ARGS__)
#define SIMGPU_P10(t, n, ...) t n, SIMGPU_P9(__VA_ARGS__)
#define SIMGPU_P11(t, n, ...) t n, SIMGPU_P10(__VA_ARGS__)
#define SIMGPU_P12(t, n, ...) t n, SIMGPU_P11(__VA_ARGS__)
#define SIMGPU_A0(v)
#define SIMGPU_A1(t, n)       n
#define SIMGPU_A2(t, n, ...)  n, SIMGPU_A1(__VA_ARGS__)
#define SIMGPU_A3(t, n, ...)  n, SIMGPU_A2(__VA_ARGS__)
#define SIMGPU_A4(t, n, ...)  n, SIMGPU_A3(__VA_ARGS__)
#define SIMGPU_A5(t, n, ...)  n, SIMGPU_A4(__VA_ARGS__)
#define SIMGPU_A6(t, n, ...)  n, SIMGPU_A5(__VA_ARGS__)
#define SIMGPU_A7(t, n, ...)  n, SIMGPU_A6(__VA_ARGS__)
#define SIMGPU_A8(t, n, ...)  n, SIMGPU_A7(__VA_ARGS__)
#define SIMGPU_A9(t, n, ...)  n, SIMGPU_A8(__VA_ARGS__)
#define SIMGPU_A10(t, n, ...) n, SIMGPU_A9(__VA_ARGS__)
#define SIMGPU_A11(t, n, ...) n, SIMGPU_A10(__VA_ARGS__)
#define SIMGPU_A12(t, n, ...) n, SIMGPU_A11(__VA_ARGS__)

#define SIMGPU_PARAMS(...) SIMGPU_CAT(SIMGPU_P, SIMGPU_PAIRS(__VA_ARGS__))(__VA_ARGS__)
#define SIMGPU_ARGS(...)   SIMGPU_CAT(SIMGPU_A, SIMGPU_PAIRS(__VA_ARGS__))(__VA_ARGS__)

#endif
