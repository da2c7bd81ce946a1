// SPDX-License-Identifier: Apache-2.0
// The device language, as the programming guide describes it.
#include "simtest.h"
#include <cassert>
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

template <class T> struct Out {
    T *p;
    size_t n;
    explicit Out(size_t count) : p(nullptr), n(count)
    {
        OK(cudaMalloc(&p, n * sizeof(T)));
        OK(cudaMemset(p, 0, n * sizeof(T)));
    }
    T operator[](size_t i)
    {
        T v = T();
        OK(cudaMemcpy(&v, p + i, sizeof v, cudaMemcpyDeviceToHost));
        return v;
    }
};

__global__ void indices(int *out)
{
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}
CASE(three_dimensional_indices)
{
    Out<int> out(24 * 24);
    indices<<<dim3(2, 3, 4), dim3(4, 3, 2)>>>(out.p);
    OK(cudaDeviceSynchronize());
    for (int b = 0; b < 24; b += 5)
        for (int t = 0; t < 24; t += 5)
            EQUAL(out[b * 24 + t], b * 1000 + t);
}

__global__ void reverse(int *out)
{
    __shared__ int s[256];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
CASE(shared_memory_and_barrier)
{
    Out<int> out(256);
    reverse<<<1, 256>>>(out.p);
    EQUAL(out[0], 255);
    EQUAL(out[255], 0);
}

extern __shared__ float dynamic[];
__global__ void reverse_dynamic(float *out)
{
    dynamic[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x];
}
CASE(dynamic_shared_memory)
{
    Out<float> out(64);
    reverse_dynamic<<<1, 64, 64 * sizeof(float)>>>(out.p);
    EQUAL(out[0], 63);
}
CASE(dynamic_shared_memory_beyond_48k_needs_the_attribute)
{
    Out<float> out(64);
    reverse_dynamic<<<1, 64, 60 << 10>>>(out.p);
    GIVES(cudaGetLastError(), cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute(reverse_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize,
                            60 << 10));
    reverse_dynamic<<<1, 64, 60 << 10>>>(out.p);
    OK(cudaGetLastError());
    EQUAL(out[1], 62);
}

__global__ void repeated_barriers(int *out)
{
    __shared__ int s[128];
    s[threadIdx.x] = 1;
    for (int d = 1; d < 128; d *= 2) {
        __syncthreads();
        int other = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
        __syncthreads();
        s[threadIdx.x] += other;
    }
    out[threadIdx.x] = s[threadIdx.x];
}
CASE(prefix_sum_with_barriers)
{
    Out<int> out(128);
    repeated_barriers<<<1, 128>>>(out.p);
    EQUAL(out[0], 1);
    EQUAL(out[77], 78);
    EQUAL(out[127], 128);
}

__global__ void barrier_votes(int *out)
{
    int c = __syncthreads_count(threadIdx.x % 3 == 0);
    int a = __syncthreads_and(threadIdx.x < 1000);
    int o = __syncthreads_or(threadIdx.x == 99);
    int n = __syncthreads_or(threadIdx.x == 100);
    if (threadIdx.x == 42) {
        out[0] = c;
        out[1] = a != 0;
        out[2] = o != 0;
        out[3] = n != 0;
    }
}
CASE(barrier_votes_of_a_block)
{
    Out<int> out(4);
    barrier_votes<<<1, 100>>>(out.p);
    EQUAL(out[0], 34);
    EQUAL(out[1], 1);
    EQUAL(out[2], 1);
    EQUAL(out[3], 0);
}

__global__ void shuffles(int *out)
{
    int lane = threadIdx.x;
    out[lane] = __shfl_sync(0xffffffffu, lane * 10, 7);
    out[32 + lane] = __shfl_up_sync(0xffffffffu, lane, 3);
    out[64 + lane] = __shfl_down_sync(0xffffffffu, lane, 3);
    out[96 + lane] = __shfl_xor_sync(0xffffffffu, lane, 5);
    out[128 + lane] = __shfl_sync(0xffffffffu, lane, 1, 8);
    out[160 + lane] = __shfl_down_sync(0xffffffffu, lane, 2, 8);
}
CASE(shuffle)
{
    Out<int> out(192);
    shuffles<<<1, 32>>>(out.p);
    EQUAL(out[20], 70);
}
CASE(shuffle_up_keeps_low_lanes)
{
    Out<int> out(192);
    shuffles<<<1, 32>>>(out.p);
    EQUAL(out[32 + 2], 2);
    EQUAL(out[32 + 20], 17);
}
CASE(shuffle_down_keeps_high_lanes)
{
    Out<int> out(192);
    shuffles<<<1, 32>>>(out.p);
    EQUAL(out[64 + 20], 23);
    EQUAL(out[64 + 30], 30);
}
CASE(shuffle_xor)
{
    Out<int> out(192);
    shuffles<<<1, 32>>>(out.p);
    EQUAL(out[96 + 9], 12);
}
CASE(shuffle_within_a_width)
{
    Out<int> out(192);
    shuffles<<<1, 32>>>(out.p);
    EQUAL(out[128 + 20], 17);
    EQUAL(out[160 + 9], 11);
    EQUAL(out[160 + 15], 15);
}

__global__ void shuffle_types(double *d, long long *l, float *f)
{
    d[threadIdx.x] = __shfl_sync(0xffffffffu, threadIdx.x + 0.5, 31);
    l[threadIdx.x] = __shfl_sync(0xffffffffu, (long long)threadIdx.x << 40, 30);
    f[threadIdx.x] = __shfl_sync(0xffffffffu, threadIdx.x + 0.25f, 29);
}
CASE(shuffle_of_wider_types)
{
    Out<double> d(32);
    Out<long long> l(32);
    Out<float> f(32);
    shuffle_types<<<1, 32>>>(d.p, l.p, f.p);
    EQUAL(d[0], 31.5);
    CHECK(l[0] == 30ll << 40);
    EQUAL(f[0], 29.25f);
}

__global__ void votes(unsigned int *out)
{
    unsigned int b = __ballot_sync(0xffffffffu, threadIdx.x & 1);
    int all = __all_sync(0xffffffffu, threadIdx.x < 32),
        none = __all_sync(0xffffffffu, threadIdx.x < 31);
    int any = __any_sync(0xffffffffu, threadIdx.x == 31), never = __any_sync(0xffffffffu, 0);
    if (threadIdx.x == 0) {
        out[0] = b;
        out[1] = all != 0;
        out[2] = none != 0;
        out[3] = any != 0;
        out[4] = never != 0;
    }
}
CASE(warp_votes)
{
    Out<unsigned int> out(5);
    votes<<<1, 32>>>(out.p);
    EQUAL(out[0], 0xaaaaaaaau);
    EQUAL(out[1], 1);
    EQUAL(out[2], 0);
    EQUAL(out[3], 1);
    EQUAL(out[4], 0);
}

__global__ void half_warps(int *out)
{
    unsigned int mask = threadIdx.x < 16 ? 0xffffu : 0xffff0000u;
    int v = threadIdx.x;
    if (threadIdx.x < 16)
        v = __shfl_sync(mask, v, 3) + 100;
    else
        v = __shfl_sync(mask, v, 20) + 200;
    out[threadIdx.x] = v;
}
CASE(two_masks_in_one_warp)
{
    Out<int> out(32);
    half_warps<<<1, 32>>>(out.p);
    EQUAL(out[0], 103);
    EQUAL(out[31], 220);
}

__global__ void matches(unsigned int *out)
{
    unsigned int m = __match_any_sync(0xffffffffu, threadIdx.x / 8);
    if (threadIdx.x == 9)
        out[0] = m;
}
CASE(match_any)
{
    Out<unsigned int> out(1);
    matches<<<1, 32>>>(out.p);
    EQUAL(out[0], 0xff00u);
}

__global__ void warp_exits(int *out)
{
    if (threadIdx.x >= 20)
        return;
    __syncthreads();
    out[threadIdx.x] = 1;
}
CASE(returned_threads_do_not_hold_a_barrier)
{
    Out<int> out(64);
    warp_exits<<<1, 64>>>(out.p);
    OK(cudaDeviceSynchronize());
    EQUAL(out[19], 1);
    EQUAL(out[20], 0);
}

__global__ void atomics(int *i, unsigned int *u, unsigned long long *l, float *f, double *d)
{
    atomicAdd(i, 2);
    atomicSub(i + 1, 1);
    atomicMax(i + 2, (int)threadIdx.x);
    atomicMin(i + 3, -(int)threadIdx.x);
    atomicOr(u, 1u << (threadIdx.x & 31));
    atomicAnd(u + 1, ~(1u << (threadIdx.x & 15)));
    atomicXor(u + 2, 1u);
    atomicInc(u + 3, 9);
    atomicAdd(l, 1ull << 33);
    atomicAdd(f, 0.5f);
    atomicAdd(d, 0.25);
}
CASE(atomic_operations)
{
    Out<int> i(4);
    Out<unsigned int> u(4);
    Out<unsigned long long> l(1);
    Out<float> f(1);
    Out<double> d(1);
    OK(cudaMemset(u.p + 1, 0xff, 4));
    atomics<<<2, 64>>>(i.p, u.p, l.p, f.p, d.p);
    EQUAL(i[0], 256);
    EQUAL(i[1], -128);
    EQUAL(i[2], 63);
    EQUAL(i[3], -63);
    EQUAL(u[0], 0xffffffffu);
    EQUAL(u[1], 0xffff0000u);
    EQUAL(u[2], 0);
    EQUAL(u[3], 8);
    CHECK(l[0] == 128ull << 33);
    EQUAL(f[0], 64);
    EQUAL(d[0], 32);
}

__global__ void cas(int *lock, int *count)
{
    int old = atomicCAS(lock, 0, 7);
    if (old == 0)
        atomicAdd(count, 1);
    atomicExch(lock + 1, 5);
}
CASE(compare_and_swap_succeeds_once)
{
    Out<int> lock(2), count(1);
    cas<<<4, 32>>>(lock.p, count.p);
    EQUAL(count[0], 1);
    EQUAL(lock[0], 7);
    EQUAL(lock[1], 5);
}

__global__ void mathematics(float *f, double *d)
{
    f[0] = sqrtf(2.25f);
    f[1] = rsqrtf(0.25f);
    f[2] = fmaxf(-1.0f, 2.0f);
    f[3] = fminf(-1.0f, 2.0f);
    f[4] = fabsf(-3.5f);
    f[5] = floorf(-1.5f);
    f[6] = ceilf(1.25f);
    f[7] = powf(2.0f, 10.0f);
    f[8] = fmaf(2.0f, 3.0f, 4.0f);
    f[9] = expf(0.0f);
    f[10] = tanhf(0.0f);
    f[11] = roundf(2.5f);
    f[12] = rintf(2.5f);
    f[13] = copysignf(2.0f, -0.0f);
    f[14] = erff(0.0f);
    f[15] = min(3, 5) + max(3u, 5u) + max(1.5f, 0.5f);
    d[0] = sqrt(2.25);
    d[1] = exp(1.0);
    d[2] = log(10.0);
    d[3] = sin(1.0);
    d[4] = fmod(7.5, 2.0);
    d[5] = rsqrt(16.0);
}
CASE(mathematical_functions)
{
    Out<float> f(16);
    Out<double> d(6);
    mathematics<<<1, 1>>>(f.p, d.p);
    const float want[] = {1.5f, 2, 2, -1, 3.5f, -2, 2, 1024, 10, 1, 0, 3, 2, -2, 0, 9.5f};
    for (int i = 0; i < 16; i++)
        CHECK(fabsf(f[i] - want[i]) < 1e-6f);
    EQUAL(d[0], 1.5);
    CHECK(fabs(d[1] - 2.718281828459045) < 1e-14);
    CHECK(fabs(d[2] - 2.302585092994046) < 1e-14);
    CHECK(fabs(d[3] - 0.8414709848078965) < 1e-14);
    EQUAL(d[4], 1.5);
    EQUAL(d[5], 0.25);
}

__global__ void bits(int *out)
{
    out[0] = __popc(0xf0f0u);
    out[1] = __clz(1);
    out[2] = __ffs(8);
    out[3] = (int)__brev(1u);
    out[4] = __float_as_int(1.0f);
    out[5] = (int)__int_as_float(0x40000000);
    out[6] = (int)__umulhi(0x80000000u, 6u);
    out[7] = __popcll(0xffffffffffull);
}
CASE(bit_functions)
{
    Out<int> out(8);
    bits<<<1, 1>>>(out.p);
    EQUAL(out[0], 8);
    EQUAL(out[1], 31);
    EQUAL(out[2], 4);
    EQUAL(out[3], (int)0x80000000);
    EQUAL(out[4], 0x3f800000);
    EQUAL(out[5], 2);
    EQUAL(out[6], 3);
    EQUAL(out[7], 40);
}

__constant__ int table[4];
__device__ int total = 5;
__global__ void globals()
{
    total += table[threadIdx.x];
}
CASE(constant_and_device_variables)
{
    int values[4] = {1, 10, 100, 1000}, got = 0;
    OK(cudaMemcpyToSymbol(table, values, sizeof values));
    globals<<<1, 1>>>();
    OK(cudaMemcpyFromSymbol(&got, total, sizeof got));
    EQUAL(got, 6);
    int *address;
    size_t bytes;
    OK(cudaGetSymbolAddress((void **)&address, total));
    OK(cudaGetSymbolSize(&bytes, table));
    EQUAL(bytes, 16);
    OK(cudaMemcpy(&got, address, 4, cudaMemcpyDeviceToHost));
    EQUAL(got, 6);
}
CASE(part_of_a_symbol)
{
    int v = 77, got[4] = {};
    OK(cudaMemcpyToSymbol(table, &v, 4, 8));
    OK(cudaMemcpyFromSymbol(got, table, 16));
    EQUAL(got[2], 77);
    GIVES(cudaMemcpyToSymbol(table, &v, 4, 16), cudaErrorInvalidValue);
}

struct Big {
    float *list[40];
    int n;
    double scale;
    char tail[3];
};
__global__ void by_value(Big b, char c, double d, short s, float4 v, Big *echo)
{
    *echo = b;
    echo->list[39][0] = (float)(b.scale * d) + c + s + v.x + v.y + v.z + v.w + b.tail[2];
}
CASE(parameters_by_value)
{
    Out<float> out(1);
    Out<Big> echo(1);
    Big b = {};
    b.list[39] = out.p;
    b.n = 3;
    b.scale = 2;
    b.tail[2] = 9;
    by_value<<<1, 1>>>(b, 1, 1.5, -2, make_float4(1, 2, 3, 4), echo.p);
    EQUAL(out[0], 21);
    Big e = echo[0];
    EQUAL(e.n, 3);
}

__global__ void many(int a, int b, int c, int d, int e, int f, int g, int h, float i, float j,
                     float k, float l, float m, float n, float o, float p, float q, double r,
                     int *out)
{
    *out = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h +
           (int)(i + j + k + l + m + n + o + p + q + r);
}
CASE(more_parameters_than_registers)
{
    Out<int> out(1);
    many<<<1, 1>>>(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10.0, out.p);
    EQUAL(out[0], 36 + 19);
}

__global__ void halves(__half h, __nv_bfloat16 b, float *out)
{
    out[0] = __half2float(h);
    out[1] = __bfloat162float(b);
    out[2] = __half2float(__hadd(h, __float2half(1.0f)));
    out[3] = __half2float(__float2half(65504.0f));
    out[4] = __half2float(__float2half(1.0f + 1.0f / 4096)); // halfway below: to even
    out[5] = __half2float(__float2half(5.9604645e-8f));      // the smallest subnormal
    out[6] = __bfloat162float(__float2bfloat16(1.0f + 1.0f / 512));
}
CASE(half_and_bfloat16)
{
    Out<float> out(7);
    halves<<<1, 1>>>(__float2half(0.5f), __float2bfloat16(-3.0f), out.p);
    EQUAL(out[0], 0.5f);
    EQUAL(out[1], -3.0f);
    EQUAL(out[2], 1.5f);
    EQUAL(out[3], 65504.0f);
    EQUAL(out[4], 1.0f);
    EQUAL(out[5], 5.9604645e-8f);
    EQUAL(out[6], 1.0f);
}

__global__ void tiles(int *out)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int v = (int)block.thread_rank();
    for (int d = tile.size() / 2; d > 0; d /= 2)
        v += tile.shfl_down(v, d);
    if (tile.thread_rank() == 0)
        out[tile.meta_group_rank()] = v;
    block.sync();
    if (block.thread_rank() == 0)
        out[8] = (int)block.size();
}
CASE(cooperative_groups_tiles)
{
    Out<int> out(9);
    tiles<<<1, 64>>>(out.p);
    EQUAL(out[0], 28);
    EQUAL(out[7], 28 + 56 * 8);
    EQUAL(out[8], 64);
}

__global__ void grid_wide(int *data, int *out)
{
    cg::grid_group grid = cg::this_grid();
    __shared__ int mine;
    int rank = (int)grid.thread_rank(), n = (int)grid.size();
    if (threadIdx.x == 0)
        mine = blockIdx.x * 7;
    data[rank] = rank;
    grid.sync();
    int sum = data[n - 1 - rank];
    grid.sync();
    out[rank] = sum + mine;
}
CASE(grid_barrier_of_a_cooperative_launch)
{
    Out<int> data(256), out(256);
    void *args[] = {&data.p, &out.p};
    OK(cudaLaunchCooperativeKernel((void *)grid_wide, dim3(4), dim3(64), args, 0, 0));
    OK(cudaDeviceSynchronize());
    EQUAL(out[0], 255);
    EQUAL(out[255], 21);
}

__global__ void failing(int x)
{
    assert(x == 1);
}
CASE(assert_breaks_the_context)
{
    failing<<<1, 1>>>(1);
    OK(cudaDeviceSynchronize());
    failing<<<1, 1>>>(2);
    GIVES(cudaDeviceSynchronize(), cudaErrorAssert);
    GIVES(cudaDeviceSynchronize(), cudaErrorAssert);
}

__global__ void trapping()
{
    __trap();
}
CASE(trap_breaks_the_context)
{
    trapping<<<1, 1>>>();
    GIVES(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
}

__global__ void says(int x)
{
    printf("thread %d says %d %s %.2f\n", (int)threadIdx.x, x, "text", 1.5);
}
CASE(printf_from_the_device)
{
    fflush(stdout);
    int keep = dup(1), ends[2];
    OK(pipe(ends));
    dup2(ends[1], 1);
    says<<<1, 2>>>(5);
    OK(cudaDeviceSynchronize());
    fflush(stdout);
    dup2(keep, 1);
    char text[200] = {};
    CHECK(read(ends[0], text, sizeof text - 1) > 0);
    CHECK(strcmp(text, "thread 0 says 5 text 1.50\nthread 1 says 5 text 1.50\n") == 0);
}
