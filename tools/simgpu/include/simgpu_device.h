/* SPDX-License-Identifier: Apache-2.0 */
/* The device language. The built-in variables live in each device image (devrt.c); they are const
 * here because they never change during one thread's run, which lets the compiler keep them in
 * registers. */
#ifndef SIMGPU_DEVICE_H
#define SIMGPU_DEVICE_H

#define SIMGPU_HIDDEN __attribute__((visibility("hidden")))
#define SIMGPU_D      static __inline__ __attribute__((device, always_inline))
#define SIMGPU_HD     static __inline__ __attribute__((host, device, always_inline))

extern "C" {
extern SIMGPU_HIDDEN __device__ const uint3 threadIdx, blockIdx;
extern SIMGPU_HIDDEN __device__ const dim3 blockDim, gridDim;
/* Not inline: clang's host half knows this name as a builtin of the other target. */
SIMGPU_HIDDEN __device__ void __syncthreads(void);
SIMGPU_HIDDEN __device__ int __syncthreads_count(int predicate);
SIMGPU_HIDDEN __device__ int __syncthreads_and(int predicate);
SIMGPU_HIDDEN __device__ int __syncthreads_or(int predicate);
SIMGPU_HIDDEN __device__ unsigned int __activemask(void);
SIMGPU_HIDDEN __device__ void __simgpu_grid_barrier(void);
SIMGPU_HIDDEN __device__ __attribute__((noreturn)) void __simgpu_stop(int error);
SIMGPU_HIDDEN __device__ unsigned long long __simgpu_clock(void);
SIMGPU_HIDDEN __device__ __attribute__((noreturn)) void
__assert_fail(const char *text, const char *file, unsigned int line, const char *function);
__device__ int printf(const char *format, ...);
}
static const int warpSize = 32;

SIMGPU_D void __threadfence()
{
}
SIMGPU_D void __threadfence_block()
{
}
SIMGPU_D void __threadfence_system()
{
}
SIMGPU_D void __trap()
{
    __simgpu_stop(719);
}

/* Threads run one at a time, so an atomic is the plain operation. */
#define SIMGPU_ATOMIC(name, type, expression)                                                      \
    SIMGPU_D type name(type *address, type value)                                                  \
    {                                                                                              \
        type old = *address;                                                                       \
        *address = (expression);                                                                   \
        return old;                                                                                \
    }
#define SIMGPU_ATOMIC_INTEGERS(name, expression)                                                   \
    SIMGPU_ATOMIC(name, int, expression)                                                           \
    SIMGPU_ATOMIC(name, unsigned int, expression)                                                  \
    SIMGPU_ATOMIC(name, unsigned long long, expression)
SIMGPU_ATOMIC_INTEGERS(atomicAdd, old + value)
SIMGPU_ATOMIC(atomicAdd, float, old + value)
SIMGPU_ATOMIC(atomicAdd, double, old + value)
SIMGPU_ATOMIC(atomicSub, int, old - value)
SIMGPU_ATOMIC(atomicSub, unsigned int, old - value)
SIMGPU_ATOMIC_INTEGERS(atomicExch, value)
SIMGPU_ATOMIC(atomicExch, float, value)
SIMGPU_ATOMIC_INTEGERS(atomicMin, value < old ? value : old)
SIMGPU_ATOMIC(atomicMin, long long, value < old ? value : old)
SIMGPU_ATOMIC_INTEGERS(atomicMax, value > old ? value : old)
SIMGPU_ATOMIC(atomicMax, long long, value > old ? value : old)
SIMGPU_ATOMIC_INTEGERS(atomicAnd, old &value)
SIMGPU_ATOMIC_INTEGERS(atomicOr, old | value)
SIMGPU_ATOMIC_INTEGERS(atomicXor, old ^ value)
SIMGPU_ATOMIC(atomicInc, unsigned int, old >= value ? 0 : old + 1)
SIMGPU_ATOMIC(atomicDec, unsigned int, old == 0 || old > value ? value : old - 1)
#define SIMGPU_ATOMIC_CAS(type)                                                                    \
    SIMGPU_D type atomicCAS(type *address, type compare, type value)                               \
    {                                                                                              \
        type old = *address;                                                                       \
        if (old == compare)                                                                        \
            *address = value;                                                                      \
        return old;                                                                                \
    }
SIMGPU_ATOMIC_CAS(int)
SIMGPU_ATOMIC_CAS(unsigned int)
SIMGPU_ATOMIC_CAS(unsigned long long)
SIMGPU_ATOMIC_CAS(unsigned short)

template <class T> SIMGPU_D T __ldg(const T *p)
{
    return *p;
}
template <class T> SIMGPU_D T __ldcs(const T *p)
{
    return *p;
}
template <class T> SIMGPU_D void __stcs(T *p, T v)
{
    *p = v;
}

SIMGPU_D long long clock64()
{
    return (long long)__simgpu_clock();
}
SIMGPU_D int clock()
{
    return (int)__simgpu_clock();
}
SIMGPU_D unsigned long long __globaltimer()
{
    return __simgpu_clock();
}
SIMGPU_D void __nanosleep(unsigned int)
{
}

#include "simgpu_math.h"
#include "simgpu_vector.h"
#include "simgpu_warp.h"

#endif
