/* SPDX-License-Identifier: Apache-2.0 */
/* Cooperative groups: thread block, tiles of a warp, coalesced threads, grid. */
#ifndef SIMGPU_COOPERATIVE_GROUPS_H
#define SIMGPU_COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"

namespace cooperative_groups
{

class thread_group
{
  public:
    __device__ __forceinline__ unsigned long long size() const
    {
        return count_;
    }
    __device__ __forceinline__ unsigned long long num_threads() const
    {
        return count_;
    }
    __device__ __forceinline__ unsigned long long thread_rank() const
    {
        return rank_;
    }
    __device__ __forceinline__ void sync() const
    {
        if (mask_ != 0)
            __syncwarp(mask_);
        else
            __syncthreads();
    }

  protected:
    __device__ __forceinline__ thread_group(unsigned int mask, unsigned int count,
                                            unsigned int rank)
        : mask_(mask), count_(count), rank_(rank)
    {
    }
    unsigned int mask_; /* lanes of the warp; 0: the whole block */
    unsigned int count_, rank_;
    friend class thread_block;
};

class thread_block : public thread_group
{
  public:
    __device__ __forceinline__ thread_block()
        : thread_group(0, blockDim.x * blockDim.y * blockDim.z,
                       threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z))
    {
    }
    static __device__ __forceinline__ void sync()
    {
        __syncthreads();
    }
    static __device__ __forceinline__ dim3 group_index()
    {
        return dim3(blockIdx);
    }
    static __device__ __forceinline__ dim3 thread_index()
    {
        return dim3(threadIdx);
    }
    static __device__ __forceinline__ dim3 group_dim()
    {
        return blockDim;
    }
    static __device__ __forceinline__ dim3 dim_threads()
    {
        return blockDim;
    }
};

class coalesced_group : public thread_group
{
  public:
    __device__ __forceinline__ explicit coalesced_group(unsigned int mask)
        : thread_group(mask, (unsigned int)__popc(mask),
                       (unsigned int)__popc(mask & ((1u << __simgpu_lane()) - 1)))
    {
    }
    template <class T> __device__ __forceinline__ T shfl(T v, int rank) const
    {
        return __shfl_sync(mask_, v, lane_of((unsigned int)rank));
    }
    template <class T> __device__ __forceinline__ T shfl_down(T v, unsigned int delta) const
    {
        unsigned int to = rank_ + delta < count_ ? rank_ + delta : rank_;
        return __shfl_sync(mask_, v, lane_of(to));
    }
    template <class T> __device__ __forceinline__ T shfl_up(T v, unsigned int delta) const
    {
        unsigned int to = rank_ >= delta ? rank_ - delta : rank_;
        return __shfl_sync(mask_, v, lane_of(to));
    }
    __device__ __forceinline__ int any(int predicate) const
    {
        return __any_sync(mask_, predicate);
    }
    __device__ __forceinline__ int all(int predicate) const
    {
        return __all_sync(mask_, predicate);
    }
    __device__ __forceinline__ unsigned int mask() const
    {
        return mask_;
    }

  private:
    __device__ __forceinline__ int lane_of(unsigned int rank) const
    {
        unsigned int left = mask_;
        for (; rank > 0; rank--)
            left &= left - 1;
        return __ffs((int)left) - 1;
    }
};

template <unsigned int N, class Parent = void> class thread_block_tile : public thread_group
{
    static_assert(N != 0 && (N & (N - 1)) == 0 && N <= 32, "tiles of 1 to 32 threads");

  public:
    __device__ __forceinline__ thread_block_tile()
        : thread_group((N == 32 ? 0xffffffffu : ((1u << (N & 31)) - 1))
                           << (__simgpu_lane() & ~(N - 1)),
                       N, __simgpu_lane() & (N - 1))
    {
        /* The last warp of a block may be short. */
        unsigned int threads = blockDim.x * blockDim.y * blockDim.z;
        unsigned int self = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        unsigned int left = threads - (self & ~31u);
        if (left < 32)
            mask_ &= (1u << left) - 1;
        meta_rank_ = self / N;
        meta_size_ = (threads + N - 1) / N;
    }
    __device__ __forceinline__ unsigned int meta_group_rank() const
    {
        return meta_rank_;
    }
    __device__ __forceinline__ unsigned int meta_group_size() const
    {
        return meta_size_;
    }
    template <class T> __device__ __forceinline__ T shfl(T v, int rank) const
    {
        return __shfl_sync(mask_, v, rank, N);
    }
    template <class T> __device__ __forceinline__ T shfl_down(T v, unsigned int delta) const
    {
        return __shfl_down_sync(mask_, v, delta, N);
    }
    template <class T> __device__ __forceinline__ T shfl_up(T v, unsigned int delta) const
    {
        return __shfl_up_sync(mask_, v, delta, N);
    }
    template <class T> __device__ __forceinline__ T shfl_xor(T v, unsigned int lanes) const
    {
        return __shfl_xor_sync(mask_, v, (int)lanes, N);
    }
    __device__ __forceinline__ int any(int predicate) const
    {
        return __any_sync(mask_, predicate);
    }
    __device__ __forceinline__ int all(int predicate) const
    {
        return __all_sync(mask_, predicate);
    }
    __device__ __forceinline__ unsigned int ballot(int predicate) const
    {
        return __ballot_sync(mask_, predicate) >> (__simgpu_lane() & ~(N - 1));
    }
    template <class T> __device__ __forceinline__ unsigned int match_any(T v) const
    {
        return __match_any_sync(mask_, v) >> (__simgpu_lane() & ~(N - 1));
    }

  private:
    unsigned int meta_rank_, meta_size_;
};

/* Needs a cooperative launch, as on a real device. */
class grid_group
{
  public:
    __device__ __forceinline__ bool is_valid() const
    {
        return true;
    }
    __device__ __forceinline__ void sync() const
    {
        __simgpu_grid_barrier();
    }
    __device__ __forceinline__ unsigned long long size() const
    {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z * blockDim.x * blockDim.y *
               blockDim.z;
    }
    __device__ __forceinline__ unsigned long long num_threads() const
    {
        return size();
    }
    __device__ __forceinline__ unsigned long long num_blocks() const
    {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    __device__ __forceinline__ unsigned long long block_rank() const
    {
        return blockIdx.x + (unsigned long long)gridDim.x *
                                (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    }
    __device__ __forceinline__ unsigned long long thread_rank() const
    {
        return block_rank() * (blockDim.x * blockDim.y * blockDim.z) + thread_block().thread_rank();
    }
    __device__ __forceinline__ dim3 group_dim() const
    {
        return gridDim;
    }
};

SIMGPU_D thread_block this_thread_block()
{
    return thread_block();
}

SIMGPU_D grid_group this_grid()
{
    return grid_group();
}

SIMGPU_D coalesced_group coalesced_threads()
{
    return coalesced_group(__activemask());
}

template <unsigned int N, class Parent>
SIMGPU_D thread_block_tile<N, Parent> tiled_partition(const Parent &)
{
    return thread_block_tile<N, Parent>();
}

template <class Group> SIMGPU_D void sync(const Group &group)
{
    group.sync();
}

template <class T> struct plus {
    __device__ __forceinline__ T operator()(T a, T b) const
    {
        return a + b;
    }
};
template <class T> struct less {
    __device__ __forceinline__ T operator()(T a, T b) const
    {
        return b < a ? b : a;
    }
};
template <class T> struct greater {
    __device__ __forceinline__ T operator()(T a, T b) const
    {
        return a < b ? b : a;
    }
};

template <unsigned int N, class P, class T, class Op>
SIMGPU_D T reduce(const thread_block_tile<N, P> &tile, T v, Op op)
{
    for (unsigned int d = N / 2; d > 0; d /= 2)
        v = op(v, tile.shfl_xor(v, d));
    return v;
}

} // namespace cooperative_groups

#endif
