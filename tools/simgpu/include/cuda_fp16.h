/* SPDX-License-Identifier: Apache-2.0 */
/* half: a storage type of two bytes. Arithmetic is done in float and rounded to nearest even after
 * each operation, as the documented intrinsics do. */
#ifndef SIMGPU_CUDA_FP16_H
#define SIMGPU_CUDA_FP16_H

#include "cuda_runtime.h"

struct __half {
    unsigned short bits;
    __half() = default;
    __host__ __device__ __forceinline__ __half(float x) : bits(round(x))
    {
    }
    __host__ __device__ __forceinline__ __half(double x) : bits(round((float)x))
    {
    }
    __host__ __device__ __forceinline__ __half(int x) : bits(round((float)x))
    {
    }
    __host__ __device__ __forceinline__ operator float() const
    {
        return widen(bits);
    }

    static __host__ __device__ __forceinline__ unsigned short round(float f)
    {
        unsigned int u = __builtin_bit_cast(unsigned int, f), sign = u >> 16 & 0x8000,
                     m = u & 0x7fffffff;
        if (m > 0x7f800000)
            return (unsigned short)0x7fff;
        if (m >= 0x47800000) /* 65536 and above, infinity included */
            return (unsigned short)(sign | 0x7c00);
        if (m < 0x38800000) { /* becomes subnormal or zero: let the float unit round at 2^-24 */
            float magic = __builtin_bit_cast(float, 0x3f000000u), a = __builtin_bit_cast(float, m);
            return (unsigned short)(sign |
                                    (__builtin_bit_cast(unsigned int, a + magic) - 0x3f000000u));
        }
        m += 0xfff + (m >> 13 & 1); /* to nearest even; may carry into the exponent, rightly */
        return (unsigned short)(sign | ((m - 0x38000000) >> 13));
    }
    static __host__ __device__ __forceinline__ float widen(unsigned short h)
    {
        unsigned int sign = (unsigned int)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
        if (e == 31)
            return __builtin_bit_cast(float, sign | 0x7f800000 | m << 13);
        if (e != 0)
            return __builtin_bit_cast(float, sign | (e + 112) << 23 | m << 13);
        float a = (float)m * __builtin_bit_cast(float, 0x33800000u); /* 2^-24 */
        return sign != 0 ? -a : a;
    }
};

struct alignas(4) __half2 {
    __half x, y;
};

#define SIMGPU_HALF_OP(op)                                                                         \
    SIMGPU_HD __half operator op(__half a, __half b)                                               \
    {                                                                                              \
        return __half((float)a op(float) b);                                                       \
    }                                                                                              \
    SIMGPU_HD __half &operator op##=(__half &a, __half b)                                          \
    {                                                                                              \
        return a = __half((float)a op(float) b);                                                   \
    }
SIMGPU_HALF_OP(+)
SIMGPU_HALF_OP(-)
SIMGPU_HALF_OP(*)
SIMGPU_HALF_OP(/)
#undef SIMGPU_HALF_OP
#define SIMGPU_HALF_CMP(op, name)                                                                  \
    SIMGPU_HD bool operator op(__half a, __half b)                                                 \
    {                                                                                              \
        return (float)a op(float) b;                                                               \
    }                                                                                              \
    SIMGPU_HD bool name(__half a, __half b)                                                        \
    {                                                                                              \
        return (float)a op(float) b;                                                               \
    }
SIMGPU_HALF_CMP(<, __hlt)
SIMGPU_HALF_CMP(>, __hgt)
SIMGPU_HALF_CMP(<=, __hle)
SIMGPU_HALF_CMP(>=, __hge)
SIMGPU_HALF_CMP(==, __heq)
SIMGPU_HALF_CMP(!=, __hne)
#undef SIMGPU_HALF_CMP
SIMGPU_HD __half operator-(__half a)
{
    return __half(-(float)a);
}
SIMGPU_HD __half __float2half(float x)
{
    return __half(x);
}
SIMGPU_HD __half __float2half_rn(float x)
{
    return __half(x);
}
SIMGPU_HD float __half2float(__half x)
{
    return (float)x;
}
SIMGPU_HD __half __hadd(__half a, __half b)
{
    return a + b;
}
SIMGPU_HD __half __hsub(__half a, __half b)
{
    return a - b;
}
SIMGPU_HD __half __hmul(__half a, __half b)
{
    return a * b;
}
SIMGPU_HD __half __hdiv(__half a, __half b)
{
    return a / b;
}
SIMGPU_D __half __hfma(__half a, __half b, __half c)
{
    return __half(__builtin_fmaf((float)a, (float)b, (float)c));
}
SIMGPU_D __half atomicAdd(__half *address, __half value)
{
    __half old = *address;
    *address = old + value;
    return old;
}

SIMGPU_HD __half2 __halves2half2(__half x, __half y)
{
    __half2 v;
    v.x = x;
    v.y = y;
    return v;
}
SIMGPU_HD __half2 __floats2half2_rn(float x, float y)
{
    return __halves2half2(__half(x), __half(y));
}
SIMGPU_HD float2 __half22float2(__half2 v)
{
    return float2{(float)v.x, (float)v.y};
}

typedef __half half;
typedef __half2 half2;

#endif
