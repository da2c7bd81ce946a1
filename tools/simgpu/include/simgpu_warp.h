/* SPDX-License-Identifier: Apache-2.0 */
/* Warp functions. All of them are one exchange: each lane of the mask lays down a value, all wait,
 * all see everything. */
#ifndef SIMGPU_WARP_H
#define SIMGPU_WARP_H

struct __simgpu_table {
    unsigned int participants;
    unsigned long long values[32];
};
extern "C" SIMGPU_HIDDEN __device__ const __simgpu_table *
__simgpu_exchange(unsigned int mask, unsigned long long value);

SIMGPU_D unsigned int __simgpu_lane()
{
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31;
}

SIMGPU_D void __syncwarp(unsigned int mask = 0xffffffffu)
{
    __simgpu_exchange(mask, 0);
}

template <class T> SIMGPU_D unsigned long long __simgpu_pack(T v)
{
    static_assert(sizeof(T) <= 8, "a shuffle moves at most eight bytes");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &v, sizeof v);
    return bits;
}

template <class T> SIMGPU_D T __simgpu_unpack(unsigned long long bits)
{
    T v;
    __builtin_memcpy(&v, &bits, sizeof v);
    return v;
}

template <class T> SIMGPU_D T __shfl_sync(unsigned int mask, T v, int source, int width = 32)
{
    unsigned int lane = __simgpu_lane(), base = lane & ~(unsigned int)(width - 1);
    return __simgpu_unpack<T>(
        __simgpu_exchange(mask, __simgpu_pack(v))->values[base + (source & (width - 1))]);
}

template <class T>
SIMGPU_D T __shfl_up_sync(unsigned int mask, T v, unsigned int delta, int width = 32)
{
    unsigned int lane = __simgpu_lane();
    unsigned int from = (lane & (width - 1)) >= delta ? lane - delta : lane;
    return __simgpu_unpack<T>(__simgpu_exchange(mask, __simgpu_pack(v))->values[from]);
}

template <class T>
SIMGPU_D T __shfl_down_sync(unsigned int mask, T v, unsigned int delta, int width = 32)
{
    unsigned int lane = __simgpu_lane();
    unsigned int from = (lane & (width - 1)) + delta < (unsigned int)width ? lane + delta : lane;
    return __simgpu_unpack<T>(__simgpu_exchange(mask, __simgpu_pack(v))->values[from]);
}

template <class T> SIMGPU_D T __shfl_xor_sync(unsigned int mask, T v, int lanes, int width = 32)
{
    unsigned int lane = __simgpu_lane(), from = lane ^ (unsigned int)lanes;
    /* Into a later group of WIDTH lanes is out of range; into an earlier one is allowed. */
    if (from >= ((lane & ~(unsigned int)(width - 1)) + (unsigned int)width))
        from = lane;
    return __simgpu_unpack<T>(__simgpu_exchange(mask, __simgpu_pack(v))->values[from & 31]);
}

SIMGPU_D unsigned int __ballot_sync(unsigned int mask, int predicate)
{
    const __simgpu_table *t = __simgpu_exchange(mask, predicate != 0);
    unsigned int bits = 0;
    for (unsigned int i = 0; i < 32; i++)
        if (t->participants >> i & 1)
            bits |= (unsigned int)t->values[i] << i;
    return bits;
}

SIMGPU_D int __all_sync(unsigned int mask, int predicate)
{
    return __ballot_sync(mask, !predicate) == 0;
}

SIMGPU_D int __any_sync(unsigned int mask, int predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}

SIMGPU_D int __uni_sync(unsigned int mask, int predicate)
{
    const __simgpu_table *t = __simgpu_exchange(mask, predicate != 0);
    for (unsigned int i = 0; i < 32; i++)
        if ((t->participants >> i & 1) && t->values[i] != (unsigned long long)(predicate != 0))
            return 0;
    return 1;
}

template <class T> SIMGPU_D unsigned int __match_any_sync(unsigned int mask, T v)
{
    const __simgpu_table *t = __simgpu_exchange(mask, __simgpu_pack(v));
    unsigned int bits = 0;
    for (unsigned int i = 0; i < 32; i++)
        if ((t->participants >> i & 1) && t->values[i] == __simgpu_pack(v))
            bits |= 1u << i;
    return bits;
}

template <class T> SIMGPU_D unsigned int __match_all_sync(unsigned int mask, T v, int *all)
{
    const __simgpu_table *t = __simgpu_exchange(mask, __simgpu_pack(v));
    *all = 1;
    for (unsigned int i = 0; i < 32; i++)
        if ((t->participants >> i & 1) && t->values[i] != __simgpu_pack(v))
            *all = 0;
    return *all ? t->participants : 0;
}

#define SIMGPU_REDUCE(name, type, expression)                                                      \
    SIMGPU_D type name(unsigned int mask, type v)                                                  \
    {                                                                                              \
        const __simgpu_table *t = __simgpu_exchange(mask, __simgpu_pack(v));                       \
        bool first = true;                                                                         \
        type a = v;                                                                                \
        for (unsigned int i = 0; i < 32; i++) {                                                    \
            if (!(t->participants >> i & 1))                                                       \
                continue;                                                                          \
            type b = __simgpu_unpack<type>(t->values[i]);                                          \
            a = first ? b : (expression);                                                          \
            first = false;                                                                         \
        }                                                                                          \
        return a;                                                                                  \
    }
SIMGPU_REDUCE(__reduce_add_sync, int, a + b)
SIMGPU_REDUCE(__reduce_add_sync, unsigned int, a + b)
SIMGPU_REDUCE(__reduce_min_sync, int, b < a ? b : a)
SIMGPU_REDUCE(__reduce_min_sync, unsigned int, b < a ? b : a)
SIMGPU_REDUCE(__reduce_max_sync, int, b > a ? b : a)
SIMGPU_REDUCE(__reduce_max_sync, unsigned int, b > a ? b : a)
SIMGPU_REDUCE(__reduce_and_sync, unsigned int, a &b)
SIMGPU_REDUCE(__reduce_or_sync, unsigned int, a | b)
SIMGPU_REDUCE(__reduce_xor_sync, unsigned int, a ^ b)
#undef SIMGPU_REDUCE

#endif
