/* SPDX-License-Identifier: Apache-2.0 */
/* Device mathematics, by way of the host's libm. */
#ifndef SIMGPU_MATH_H
#define SIMGPU_MATH_H

#define SIMGPU_M1(name)                                                                            \
    SIMGPU_D double name(double x)                                                                 \
    {                                                                                              \
        return __builtin_##name(x);                                                                \
    }                                                                                              \
    SIMGPU_D float name##f(float x)                                                                \
    {                                                                                              \
        return __builtin_##name##f(x);                                                             \
    }                                                                                              \
    SIMGPU_D float name(float x)                                                                   \
    {                                                                                              \
        return __builtin_##name##f(x);                                                             \
    }
#define SIMGPU_M2(name)                                                                            \
    SIMGPU_D double name(double x, double y)                                                       \
    {                                                                                              \
        return __builtin_##name(x, y);                                                             \
    }                                                                                              \
    SIMGPU_D float name##f(float x, float y)                                                       \
    {                                                                                              \
        return __builtin_##name##f(x, y);                                                          \
    }                                                                                              \
    SIMGPU_D float name(float x, float y)                                                          \
    {                                                                                              \
        return __builtin_##name##f(x, y);                                                          \
    }
SIMGPU_M1(acos)
SIMGPU_M1(acosh)
SIMGPU_M1(asin)
SIMGPU_M1(asinh)
SIMGPU_M1(atan)
SIMGPU_M1(atanh)
SIMGPU_M1(cbrt)
SIMGPU_M1(ceil)
SIMGPU_M1(cos)
SIMGPU_M1(cosh)
SIMGPU_M1(erf)
SIMGPU_M1(erfc)
SIMGPU_M1(exp)
SIMGPU_M1(exp2)
SIMGPU_M1(expm1)
SIMGPU_M1(fabs)
SIMGPU_M1(floor)
SIMGPU_M1(lgamma)
SIMGPU_M1(log)
SIMGPU_M1(log10)
SIMGPU_M1(log1p)
SIMGPU_M1(log2)
SIMGPU_M1(logb)
SIMGPU_M1(nearbyint)
SIMGPU_M1(rint)
SIMGPU_M1(round)
SIMGPU_M1(sin)
SIMGPU_M1(sinh)
SIMGPU_M1(sqrt)
SIMGPU_M1(tan)
SIMGPU_M1(tanh)
SIMGPU_M1(tgamma)
SIMGPU_M1(trunc)
SIMGPU_M2(atan2)
SIMGPU_M2(copysign)
SIMGPU_M2(fdim)
SIMGPU_M2(fmax)
SIMGPU_M2(fmin)
SIMGPU_M2(fmod)
SIMGPU_M2(hypot)
SIMGPU_M2(pow)
SIMGPU_M2(remainder)
#undef SIMGPU_M1
#undef SIMGPU_M2

SIMGPU_D double fma(double x, double y, double z)
{
    return __builtin_fma(x, y, z);
}
SIMGPU_D float fmaf(float x, float y, float z)
{
    return __builtin_fmaf(x, y, z);
}
SIMGPU_D float fma(float x, float y, float z)
{
    return __builtin_fmaf(x, y, z);
}
SIMGPU_D float rsqrtf(float x)
{
    return 1.0f / __builtin_sqrtf(x);
}
SIMGPU_D float rsqrt(float x)
{
    return 1.0f / __builtin_sqrtf(x);
}
SIMGPU_D double rsqrt(double x)
{
    return 1.0 / __builtin_sqrt(x);
}
SIMGPU_D float exp10f(float x)
{
    return __builtin_powf(10.0f, x);
}
SIMGPU_D double exp10(double x)
{
    return __builtin_pow(10.0, x);
}
SIMGPU_D float pow(float x, int y)
{
    return __builtin_powf(x, (float)y);
}
SIMGPU_D double pow(double x, int y)
{
    return __builtin_pow(x, (double)y);
}
SIMGPU_D float normcdff(float x)
{
    return 0.5f * __builtin_erfcf(-x * 0.70710678118654752440f);
}
SIMGPU_D void sincosf(float x, float *s, float *c)
{
    *s = __builtin_sinf(x);
    *c = __builtin_cosf(x);
}
SIMGPU_D void sincos(double x, double *s, double *c)
{
    *s = __builtin_sin(x);
    *c = __builtin_cos(x);
}
SIMGPU_D float ldexpf(float x, int e)
{
    return __builtin_ldexpf(x, e);
}
SIMGPU_D double ldexp(double x, int e)
{
    return __builtin_ldexp(x, e);
}
SIMGPU_D int abs(int x)
{
    return x < 0 ? -x : x;
}
SIMGPU_D long abs(long x)
{
    return x < 0 ? -x : x;
}
SIMGPU_D long long abs(long long x)
{
    return x < 0 ? -x : x;
}
SIMGPU_D float abs(float x)
{
    return __builtin_fabsf(x);
}
SIMGPU_D double abs(double x)
{
    return __builtin_fabs(x);
}

/* The fast forms: same values, since there is nothing faster here. */
SIMGPU_D float __expf(float x)
{
    return __builtin_expf(x);
}
SIMGPU_D float __exp10f(float x)
{
    return __builtin_powf(10.0f, x);
}
SIMGPU_D float __logf(float x)
{
    return __builtin_logf(x);
}
SIMGPU_D float __log2f(float x)
{
    return __builtin_log2f(x);
}
SIMGPU_D float __log10f(float x)
{
    return __builtin_log10f(x);
}
SIMGPU_D float __sinf(float x)
{
    return __builtin_sinf(x);
}
SIMGPU_D float __cosf(float x)
{
    return __builtin_cosf(x);
}
SIMGPU_D float __tanf(float x)
{
    return __builtin_tanf(x);
}
SIMGPU_D float __powf(float x, float y)
{
    return __builtin_powf(x, y);
}
SIMGPU_D float __fdividef(float x, float y)
{
    return x / y;
}
SIMGPU_D float __saturatef(float x)
{
    return x >= 0 ? (x <= 1 ? x : 1) : 0;
}
SIMGPU_D float __fmul_rn(float x, float y)
{
    return x * y;
}
SIMGPU_D float __fadd_rn(float x, float y)
{
    return x + y;
}
SIMGPU_D float __fdiv_rn(float x, float y)
{
    return x / y;
}
SIMGPU_D float __fsqrt_rn(float x)
{
    return __builtin_sqrtf(x);
}
SIMGPU_D float __frcp_rn(float x)
{
    return 1.0f / x;
}

/* Bits. */
SIMGPU_D int __popc(unsigned int x)
{
    return __builtin_popcount(x);
}
SIMGPU_D int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
SIMGPU_D int __clz(int x)
{
    return x != 0 ? __builtin_clz((unsigned int)x) : 32;
}
SIMGPU_D int __clzll(long long x)
{
    return x != 0 ? __builtin_clzll((unsigned long long)x) : 64;
}
SIMGPU_D int __ffs(int x)
{
    return __builtin_ffs(x);
}
SIMGPU_D int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
SIMGPU_D unsigned int __brev(unsigned int x)
{
    return __builtin_bitreverse32(x);
}
SIMGPU_D unsigned long long __brevll(unsigned long long x)
{
    return __builtin_bitreverse64(x);
}
SIMGPU_D int __mulhi(int x, int y)
{
    return (int)(((long long)x * y) >> 32);
}
SIMGPU_D unsigned int __umulhi(unsigned int x, unsigned int y)
{
    return (unsigned int)(((unsigned long long)x * y) >> 32);
}
SIMGPU_D unsigned long long __umul64hi(unsigned long long x, unsigned long long y)
{
    return (unsigned long long)(((unsigned __int128)x * y) >> 64);
}
SIMGPU_D int __float_as_int(float x)
{
    return __builtin_bit_cast(int, x);
}
SIMGPU_D unsigned int __float_as_uint(float x)
{
    return __builtin_bit_cast(unsigned int, x);
}
SIMGPU_D float __int_as_float(int x)
{
    return __builtin_bit_cast(float, x);
}
SIMGPU_D float __uint_as_float(unsigned int x)
{
    return __builtin_bit_cast(float, x);
}
SIMGPU_D long long __double_as_longlong(double x)
{
    return __builtin_bit_cast(long long, x);
}
SIMGPU_D double __longlong_as_double(long long x)
{
    return __builtin_bit_cast(double, x);
}
SIMGPU_D int __float2int_rn(float x)
{
    return (int)__builtin_rintf(x);
}
SIMGPU_D int __float2int_rz(float x)
{
    return (int)x;
}
SIMGPU_D int __float2int_rd(float x)
{
    return (int)__builtin_floorf(x);
}
SIMGPU_D float __int2float_rn(int x)
{
    return (float)x;
}

/* min and max of every pair of types that the toolkit knows. */
#define SIMGPU_MINMAX(type)                                                                        \
    SIMGPU_HD type min(type a, type b)                                                             \
    {                                                                                              \
        return b < a ? b : a;                                                                      \
    }                                                                                              \
    SIMGPU_HD type max(type a, type b)                                                             \
    {                                                                                              \
        return a < b ? b : a;                                                                      \
    }
SIMGPU_MINMAX(int)
SIMGPU_MINMAX(unsigned int)
SIMGPU_MINMAX(long)
SIMGPU_MINMAX(unsigned long)
SIMGPU_MINMAX(long long)
SIMGPU_MINMAX(unsigned long long)
#undef SIMGPU_MINMAX
#define SIMGPU_FMINMAX(type, suffix)                                                               \
    SIMGPU_HD type min(type a, type b)                                                             \
    {                                                                                              \
        return __builtin_fmin##suffix(a, b);                                                       \
    }                                                                                              \
    SIMGPU_HD type max(type a, type b)                                                             \
    {                                                                                              \
        return __builtin_fmax##suffix(a, b);                                                       \
    }
SIMGPU_FMINMAX(float, f)
SIMGPU_FMINMAX(double, )
#undef SIMGPU_FMINMAX
SIMGPU_HD double min(float a, double b)
{
    return __builtin_fmin(a, b);
}
SIMGPU_HD double min(double a, float b)
{
    return __builtin_fmin(a, b);
}
SIMGPU_HD double max(float a, double b)
{
    return __builtin_fmax(a, b);
}
SIMGPU_HD double max(double a, float b)
{
    return __builtin_fmax(a, b);
}

#endif
