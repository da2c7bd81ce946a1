/* SPDX-License-Identifier: Apache-2.0 */
/* A step whose kernels read weights through tensor maps alone (TMA, compute capability 9.0 and up):
 * no other parameter shows where the weights lie.
 *
 *   tensor_map parameter   each map is a kernel parameter
 *   tensor_map constant    the maps lie in constant memory, where no launch shows them
 *
 * Prints "step N loss X". Status 77: this card has no TMA. */
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

enum { LAYERS = 12, SIDE = 1024, BOX = 32, TILES = SIDE / BOX, STEPS = 16 };

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int error_ = (int)(call);                                                                  \
        if (error_ != 0) {                                                                         \
            fprintf(stderr, "%s: error %d\n", #call, error_);                                      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

__constant__ CUtensorMap constant_maps[LAYERS];

/* One thread of the block asks for the tile; all wait for its bytes. */
__device__ void tile_read(float *tile, const CUtensorMap *map, uint64_t *barrier)
{
#if __CUDA_ARCH__ >= 900
    uint32_t arrived = (uint32_t)__cvta_generic_to_shared(barrier), done = 0;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(arrived) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrived),
                     "r"((uint32_t)(BOX * BOX * sizeof(float)))
                     : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];" ::"r"((uint32_t)__cvta_generic_to_shared(tile)),
                     "l"(map), "r"((int)blockIdx.x * BOX), "r"((int)blockIdx.y * BOX), "r"(arrived)
                     : "memory");
    }
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(arrived)
                     : "memory");
#else
    (void)tile, (void)map, (void)barrier;
#endif
}

__device__ void tile_sum(const CUtensorMap *map, float *sums)
{
    __shared__ alignas(128) float tile[BOX * BOX];
    __shared__ alignas(8) uint64_t barrier;
    tile_read(tile, map, &barrier);
    if (threadIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < BOX * BOX; i++)
            sum += tile[i];
        sums[blockIdx.y * TILES + blockIdx.x] += sum;
    }
}

__global__ void sum_by_parameter(const __grid_constant__ CUtensorMap map, float *sums)
{
    tile_sum(&map, sums);
}

__global__ void sum_by_constant(int layer, float *sums)
{
    tile_sum(&constant_maps[layer], sums);
}

__global__ void update(float *weights, const float *sums, int layer)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    weights[i] = 0.75f * weights[i] + 1e-4f * sums[(i + layer) % (TILES * TILES)];
}

__global__ void fill(float *weights, int layer)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    weights[i] = (float)((i * 7 + layer * 13) % 101) / 101.0f;
}

static CUtensorMap map_of(float *weights)
{
    CUtensorMap map;
    cuuint64_t size[2] = {SIDE, SIDE}, stride[1] = {SIDE * sizeof(float)};
    cuuint32_t box[2] = {BOX, BOX}, step[2] = {1, 1};
    CHECK(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, weights, size, stride,
                                 box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}

int main(int argc, char **argv)
{
    bool by_parameter = argc == 2 && strcmp(argv[1], "parameter") == 0;
    if (argc != 2 || (!by_parameter && strcmp(argv[1], "constant") != 0)) {
        fprintf(stderr, "usage: tensor_map parameter|constant\n");
        return 64;
    }
    int major = 0;
    CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major < 9) {
        fprintf(stderr, "compute capability %d.x has no TMA\n", major);
        return 77;
    }
    const dim3 tiles(TILES, TILES);
    float *weights[LAYERS], *sums, host[TILES * TILES];
    CUtensorMap maps[LAYERS];
    CHECK(cudaMalloc((void **)&sums, sizeof(host)));
    CHECK(cudaMemset(sums, 0, sizeof(host)));
    for (int i = 0; i < LAYERS; i++) {
        CHECK(cudaMalloc((void **)&weights[i], sizeof(float) * SIDE * SIDE));
        fill<<<SIDE * SIDE / 256, 256>>>(weights[i], i);
        maps[i] = map_of(weights[i]);
    }
    CHECK(cudaMemcpyToSymbol(constant_maps, maps, sizeof(maps)));
    for (int step = 1; step <= STEPS; step++) {
        for (int i = 0; i < LAYERS; i++) {
            if (by_parameter)
                sum_by_parameter<<<tiles, 64>>>(maps[i], sums);
            else
                sum_by_constant<<<tiles, 64>>>(i, sums);
        }
        for (int i = LAYERS - 1; i >= 0; i--)
            update<<<SIDE * SIDE / 256, 256>>>(weights[i], sums, i);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(host, sums, sizeof(host), cudaMemcpyDeviceToHost));
        float loss = 0;
        for (float sum : host)
            loss += sum;
        printf("step %d loss %.9g\n", step, loss);
        fflush(stdout);
    }
    for (float *w : weights)
        CHECK(cudaFree(w));
    CHECK(cudaFree(sums));
    return 0;
}
