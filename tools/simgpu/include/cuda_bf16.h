/* SPDX-License-Identifier: Apache-2.0 */
/* bfloat16: a storage type of two bytes. Arithmetic is done in float and rounded to nearest even
 * after each operation, as the documented intrinsics do. */
#ifndef SIMGPU_CUDA_BF16_H
#define SIMGPU_CUDA_BF16_H

#include "cuda_runtime.h"

struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __host__ __device__ __forceinline__ __nv_bfloat16(float x) : bits(round(x))
    {
    }
    __host__ __device__ __forceinline__ __nv_bfloat16(double x) : bits(round((float)x))
    {
    }
    __host__ __device__ __forceinline__ __nv_bfloat16(int x) : bits(round((float)x))
    {
    }
    __host__ __device__ __forceinline__ operator float() const
    {
        return widen(bits);
    }

    static __host__ __device__ __forceinline__ unsigned short round(float f)
    {
        unsigned int u = __builtin_bit_cast(unsigned int, f);
        if ((u & 0x7fffffff) > 0x7f800000)
            return (unsigned short)0x7fff;
        return (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);
    }
    static __host__ __device__ __forceinline__ float widen(unsigned short h)
    {
        return __builtin_bit_cast(float, (unsigned int)h << 16);
    }
};

struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};

#define SIMGPU_HALF_OP(op)                                                                         \
    SIMGPU_HD __nv_bfloat16 operator op(__nv_bfloat16 a, __nv_bfloat16 b)                          \
    {                                                                                              \
        return __nv_bfloat16((float)a op(float) b);                                                \
    }                                                                                              \
    SIMGPU_HD __nv_bfloat16 &operator op##=(__nv_bfloat16 &a, __nv_bfloat16 b)                     \
    {                                                                                              \
        return a = __nv_bfloat16((float)a op(float) b);                                            \
    }
SIMGPU_HALF_OP(+)
SIMGPU_HALF_OP(-)
SIMGPU_HALF_OP(*)
SIMGPU_HALF_OP(/)
#undef SIMGPU_HALF_OP
#define SIMGPU_HALF_CMP(op, name)                                                                  \
    SIMGPU_HD bool operator op(__nv_bfloat16 a, __nv_bfloat16 b)                                   \
    {                                                                                              \
        return (float)a op(float) b;                                                               \
    }                                                                                              \
    SIMGPU_HD bool name(__nv_bfloat16 a, __nv_bfloat16 b)                                          \
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
SIMGPU_HD __nv_bfloat16 operator-(__nv_bfloat16 a)
{
    return __nv_bfloat16(-(float)a);
}
SIMGPU_HD __nv_bfloat16 __float2bfloat16(float x)
{
    return __nv_bfloat16(x);
}
SIMGPU_HD __nv_bfloat16 __float2bfloat16_rn(float x)
{
    return __nv_bfloat16(x);
}
SIMGPU_HD float __bfloat162float(__nv_bfloat16 x)
{
    return (float)x;
}
SIMGPU_HD __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return a + b;
}
SIMGPU_HD __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return a - b;
}
SIMGPU_HD __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return a * b;
}
SIMGPU_HD __nv_bfloat16 __hdiv(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return a / b;
}
SIMGPU_D __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c)
{
    return __nv_bfloat16(__builtin_fmaf((float)a, (float)b, (float)c));
}
SIMGPU_D __nv_bfloat16 atomicAdd(__nv_bfloat16 *address, __nv_bfloat16 value)
{
    __nv_bfloat16 old = *address;
    *address = old + value;
    return old;
}

SIMGPU_HD __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y)
{
    __nv_bfloat162 v;
    v.x = x;
    v.y = y;
    return v;
}
SIMGPU_HD __nv_bfloat162 __floats2bfloat162_rn(float x, float y)
{
    return __halves2bfloat162(__nv_bfloat16(x), __nv_bfloat16(y));
}
SIMGPU_HD float2 __bfloat1622float2(__nv_bfloat162 v)
{
    return float2{(float)v.x, (float)v.y};
}

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#endif
