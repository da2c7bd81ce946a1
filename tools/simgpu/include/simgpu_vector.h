/* SPDX-License-Identifier: Apache-2.0 */
/* make_float4 and kin. */
#ifndef SIMGPU_VECTOR_H
#define SIMGPU_VECTOR_H

#define SIMGPU_MAKE(base, type)                                                                    \
    SIMGPU_HD base##1 make_##base##1(type x)                                                       \
    {                                                                                              \
        return base##1 {x};                                                                        \
    }                                                                                              \
    SIMGPU_HD base##2 make_##base##2(type x, type y)                                               \
    {                                                                                              \
        return base##2 {x, y};                                                                     \
    }                                                                                              \
    SIMGPU_HD base##3 make_##base##3(type x, type y, type z)                                       \
    {                                                                                              \
        return base##3 {x, y, z};                                                                  \
    }                                                                                              \
    SIMGPU_HD base##4 make_##base##4(type x, type y, type z, type w)                               \
    {                                                                                              \
        return base##4 {x, y, z, w};                                                               \
    }
SIMGPU_MAKE(char, signed char)
SIMGPU_MAKE(uchar, unsigned char)
SIMGPU_MAKE(short, short)
SIMGPU_MAKE(ushort, unsigned short)
SIMGPU_MAKE(int, int)
SIMGPU_MAKE(uint, unsigned int)
SIMGPU_MAKE(long, long)
SIMGPU_MAKE(ulong, unsigned long)
SIMGPU_MAKE(longlong, long long)
SIMGPU_MAKE(ulonglong, unsigned long long)
SIMGPU_MAKE(float, float)
SIMGPU_MAKE(double, double)
#undef SIMGPU_MAKE

#endif
