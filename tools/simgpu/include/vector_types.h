/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in vector types, of the documented sizes and alignments. */
#ifndef SIMGPU_VECTOR_TYPES_H
#define SIMGPU_VECTOR_TYPES_H

#ifdef __cplusplus
#define SIMGPU_ALIGN(n) alignas(n)
#else
#define SIMGPU_ALIGN(n)
#endif
#define SIMGPU_VECTORS(base, type, a2, a4)                                                         \
    struct base##1                                                                                 \
    {                                                                                              \
        type x;                                                                                    \
    };                                                                                             \
    struct SIMGPU_ALIGN(a2) base##2                                                                \
    {                                                                                              \
        type x, y;                                                                                 \
    };                                                                                             \
    struct base##3                                                                                 \
    {                                                                                              \
        type x, y, z;                                                                              \
    };                                                                                             \
    struct SIMGPU_ALIGN(a4) base##4                                                                \
    {                                                                                              \
        type x, y, z, w;                                                                           \
    };                                                                                             \
    typedef struct base##1 base##1;                                                                \
    typedef struct base##2 base##2;                                                                \
    typedef struct base##3 base##3;                                                                \
    typedef struct base##4 base##4;

SIMGPU_VECTORS(char, signed char, 2, 4)
SIMGPU_VECTORS(uchar, unsigned char, 2, 4)
SIMGPU_VECTORS(short, short, 4, 8)
SIMGPU_VECTORS(ushort, unsigned short, 4, 8)
SIMGPU_VECTORS(int, int, 8, 16)
SIMGPU_VECTORS(uint, unsigned int, 8, 16)
SIMGPU_VECTORS(long, long, 16, 16)
SIMGPU_VECTORS(ulong, unsigned long, 16, 16)
SIMGPU_VECTORS(longlong, long long, 16, 16)
SIMGPU_VECTORS(ulonglong, unsigned long long, 16, 16)
SIMGPU_VECTORS(float, float, 8, 16)
SIMGPU_VECTORS(double, double, 16, 16)
#undef SIMGPU_VECTORS

struct dim3 {
    unsigned int x, y, z;
#ifdef __cplusplus
#ifdef __CUDA__
    __attribute__((host)) __attribute__((device))
#endif
    constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
        : x(vx), y(vy), z(vz)
    {
    }
#ifdef __CUDA__
    __attribute__((host)) __attribute__((device))
#endif
    constexpr dim3(uint3 v)
        : x(v.x), y(v.y), z(v.z)
    {
    }
#ifdef __CUDA__
    __attribute__((host)) __attribute__((device))
#endif
    constexpr
    operator uint3() const
    {
        return uint3{x, y, z};
    }
#endif
};
typedef struct dim3 dim3;

#endif
