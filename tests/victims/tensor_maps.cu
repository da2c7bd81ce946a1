/* SPDX-License-Identifier: Apache-2.0 */
/* A step whose kernels reach weights through tensor maps alone, on the simulated GPU, where a
 * kernel can find the address that a map holds. Each step reads and changes all of them and prints
 * a sum. tensor_maps WHERE [STEPS] WHERE the maps lie: parameter (each is a kernel's parameter),
 * inside (in the middle of a struct that is one), again (a parameter, encoded anew before each
 * launch), replaced (one map, its address replaced before each launch), constant (uploaded once),
 * host (in host memory that the device reads). */

#include <dlfcn.h>

#include "victim.h"

enum { LAYERS = 12, WORDS = 1 << 19, THREADS = 64, SPARSE = 61 };

/* Lies at multiples of 64 bytes, though the type does not say so: the simulator passes no such
 * types. */
struct map {
    unsigned long long opaque[16];
};

/* Of the driver, found as Triton finds them. */
typedef int encode_fn(struct map *, int type, unsigned rank, void *address,
                      const unsigned long long *shape, const unsigned long long *strides,
                      const unsigned *box, const unsigned *element_strides, int, int, int, int);
typedef int replace_fn(struct map *, void *address);
static encode_fn *encode_tiled;
static replace_fn *replace_address;

struct job {
    int scale, unused[15];
    struct map map;
    float *x;
};

__constant__ struct map constant_maps[LAYERS];

__device__ void change(const struct map *map, float *x, int scale)
{
    float *w = (float *)~map->opaque[3];
    int stride = SPARSE * gridDim.x * blockDim.x;
    for (int i = SPARSE * (blockIdx.x * blockDim.x + threadIdx.x); i < WORDS; i += stride) {
        w[i] = 0.984375f * w[i] + 0.0078125f * x[i];
        x[i] = 0.96875f * x[i] + 0.015625f * (w[i] + (float)scale);
    }
}

__global__ void by_parameter(struct map map, float *x, int scale)
{
    change(&map, x, scale);
}

__global__ void by_struct(struct job job)
{
    change(&job.map, job.x, job.scale);
}

__global__ void by_constant(int layer, float *x, int scale)
{
    change(&constant_maps[layer], x, scale);
}

__global__ void by_pointer(const struct map *map, float *x, int scale)
{
    change(map, x, scale);
}

/* One thread, in a fixed order. */
__global__ void sum(const float *w, int words, float *out)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        for (int i = 0; i < words; i += SPARSE)
            *out += w[i] * (float)(1 + i % 13);
}

static float *weights[LAYERS], *activations[LAYERS];
static struct map maps[LAYERS] __attribute__((aligned(64))), *host_maps;

static void encode(struct map *map, float *address)
{
    unsigned long long shape[2] = {1024, WORDS / 1024}, strides[1] = {4096};
    unsigned box[2] = {32, 32}, ones[2] = {1, 1};
    CHECK_ANY(
        encode_tiled(map, 7 /* FLOAT32 */, 2, address, shape, strides, box, ones, 0, 0, 0, 0));
}

static void launch(const char *where, int l, int step)
{
    struct job job __attribute__((aligned(64)));
    memset(&job, 0, sizeof(job));
    job.scale = step;
    job.x = activations[l];
    job.map = maps[l];
    if (strcmp(where, "again") == 0)
        encode(&job.map, weights[l]);
    if (strcmp(where, "replaced") == 0)
        CHECK_ANY(replace_address(&job.map, weights[l]));
    if (strcmp(where, "inside") == 0)
        by_struct<<<2, THREADS>>>(job);
    else if (strcmp(where, "constant") == 0)
        by_constant<<<2, THREADS>>>(l, activations[l], step);
    else if (strcmp(where, "host") == 0)
        by_pointer<<<2, THREADS>>>(&host_maps[l], activations[l], step);
    else
        by_parameter<<<2, THREADS>>>(job.map, activations[l], step);
    CHECK_ANY(cudaGetLastError());
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 64;
    int steps = argc > 2 ? atoi(argv[2]) : 12;
    float *out, total;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    encode_tiled = (encode_fn *)dlsym(driver, "cuTensorMapEncodeTiled");
    replace_address = (replace_fn *)dlsym(driver, "cuTensorMapReplaceAddress");
    if (encode_tiled == NULL || replace_address == NULL)
        return 1;
    CHECK_ANY(cudaMalloc((void **)&out, sizeof(float)));
    for (int l = 0; l < LAYERS; l++) {
        CHECK_ANY(cudaMalloc((void **)&weights[l], sizeof(float) * WORDS));
        CHECK_ANY(cudaMalloc((void **)&activations[l], sizeof(float) * WORDS));
        CHECK_ANY(cudaMemset(weights[l], l, sizeof(float) * WORDS));
        CHECK_ANY(cudaMemset(activations[l], l, sizeof(float) * WORDS));
        encode(&maps[l], weights[strcmp(argv[1], "replaced") == 0 ? 0 : l]);
    }
    if (strcmp(argv[1], "constant") == 0)
        CHECK_ANY(cudaMemcpyToSymbol(constant_maps, maps, sizeof(maps)));
    if (strcmp(argv[1], "host") == 0) {
        CHECK_ANY(cudaMallocHost((void **)&host_maps, sizeof(maps)));
        memcpy(host_maps, maps, sizeof(maps));
    }
    for (int s = 1; s <= steps; s++) {
        for (int l = 0; l < LAYERS; l++)
            launch(argv[1], l, s);
        for (int l = LAYERS - 1; l >= 0; l--)
            launch(argv[1], l, -s);
        CHECK_ANY(cudaMemset(out, 0, sizeof(float)));
        sum<<<1, 32>>>(weights[LAYERS / 2], WORDS, out);
        sum<<<1, 32>>>(activations[LAYERS / 2], WORDS, out);
        CHECK_ANY(cudaGetLastError());
        CHECK_ANY(cudaMemcpy(&total, out, sizeof(total), cudaMemcpyDeviceToHost));
        printf("step %d sum %.9g\n", s, total);
    }
    return 0;
}
