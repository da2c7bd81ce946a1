/* SPDX-License-Identifier: Apache-2.0 */
/* A step whose kernel reaches some buffers through a table of their addresses alone, in a
 * __device__ variable, which came there by one kind of copy; other buffers are named. Each step
 * changes all of them and prints a sum. tables HOW [STEPS] HOW: plain, async (from pinned memory),
 * default (the direction left to be found), plane, cube (2D and 3D, from rows with gaps), batch
 * (two pieces of one call), symbol (by the variable's name). */

#include <dlfcn.h>

#include "victim.h"

enum { HIDDEN = 4, NAMED = 8, WORDS = 1 << 20, THREADS = 64, SPARSE = 61, GAP = 8 };

__device__ float *symbol_table[HIDDEN];

__device__ void change(float *w, int words, float by)
{
    int stride = SPARSE * gridDim.x * blockDim.x;
    for (int i = SPARSE * (blockIdx.x * blockDim.x + threadIdx.x); i < words; i += stride)
        w[i] = 0.984375f * w[i] + by;
}

__global__ void through_table(float **table, float by)
{
    for (int t = 0; t < HIDDEN; t++)
        change(table[t], WORDS, by);
}

__global__ void named_kernel(float *w, float by)
{
    change(w, WORDS, by);
}

/* One thread, in a fixed order. */
__global__ void sum(const float *w, float *out)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        for (int i = 0; i < WORDS; i += SPARSE)
            *out += w[i] * (float)(1 + i % 13);
}

static float *hidden[HIDDEN], *named[NAMED];

/* Rows with gaps: entry I of the table lies in gaps[I / 2][0][I % 2]. */
static float *gaps[2][3][GAP];

static void by_batch(float **table)
{
    typedef int batch_fn(unsigned long long *to, unsigned long long *from, size_t *sizes,
                         size_t count, void *attributes, size_t *indices, size_t attribute_count,
                         void *stream);
    batch_fn *batch = (batch_fn *)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemcpyBatchAsync_v2");
    unsigned attributes[64] = {1}; /* sources are read in stream order */
    unsigned long long to[2] = {(unsigned long long)table, (unsigned long long)(table + 1)};
    unsigned long long from[2] = {(unsigned long long)hidden, (unsigned long long)(hidden + 1)};
    size_t sizes[2] = {sizeof(float *), sizeof(float *) * (HIDDEN - 1)}, index = 0;
    cudaStream_t stream;
    if (batch == NULL)
        exit(77); /* of a driver before 13.0 */
    CHECK_ANY(cudaStreamCreate(&stream));
    CHECK_ANY(batch(to, from, sizes, 2, attributes, &index, 1, stream));
    CHECK_ANY(cudaStreamSynchronize(stream));
}

static void upload(const char *how, float **table)
{
    size_t bytes = sizeof(hidden);
    if (strcmp(how, "plain") == 0) {
        CHECK_ANY(cudaMemcpy(table, hidden, bytes, cudaMemcpyHostToDevice));
    } else if (strcmp(how, "default") == 0) {
        CHECK_ANY(cudaMemcpy(table, hidden, bytes, cudaMemcpyDefault));
    } else if (strcmp(how, "async") == 0) {
        float **pinned;
        CHECK_ANY(cudaMallocHost((void **)&pinned, bytes));
        memcpy(pinned, hidden, bytes);
        CHECK_ANY(cudaMemcpyAsync(table, pinned, bytes, cudaMemcpyDefault, 0));
    } else if (strcmp(how, "plane") == 0) {
        CHECK_ANY(cudaMemcpy2D(table, bytes / 2, gaps, sizeof(gaps[0]), bytes / 2, 2,
                               cudaMemcpyHostToDevice));
    } else if (strcmp(how, "cube") == 0) {
        cudaMemcpy3DParms copy;
        memset(&copy, 0, sizeof(copy));
        copy.srcPtr = make_cudaPitchedPtr(gaps, sizeof(gaps[0][0]), GAP, 3);
        copy.dstPtr = make_cudaPitchedPtr(table, bytes / 2, 2, 1);
        copy.extent = make_cudaExtent(bytes / 2, 1, 2);
        copy.kind = cudaMemcpyHostToDevice;
        CHECK_ANY(cudaMemcpy3D(&copy));
    } else if (strcmp(how, "symbol") == 0) {
        CHECK_ANY(cudaMemcpyToSymbol(symbol_table, hidden, bytes));
    } else if (strcmp(how, "batch") == 0) {
        by_batch(table);
    } else {
        exit(64);
    }
}

static float *make_buffer(int value)
{
    float *w;
    CHECK_ANY(cudaMalloc((void **)&w, sizeof(float) * WORDS));
    CHECK_ANY(cudaMemset(w, value, sizeof(float) * WORDS));
    return w;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 64;
    int steps = argc > 2 ? atoi(argv[2]) : 12;
    float *out, **table, total;
    CHECK_ANY(cudaMalloc((void **)&out, sizeof(float)));
    CHECK_ANY(cudaGetSymbolAddress((void **)&table, symbol_table));
    for (int i = 0; i < HIDDEN; i++)
        hidden[i] = gaps[i / 2][0][i % 2] = make_buffer(i);
    for (int i = 0; i < NAMED; i++)
        named[i] = make_buffer(i);
    upload(argv[1], table);
    for (int s = 1; s <= steps; s++) {
        for (int i = 0; i < NAMED; i++)
            named_kernel<<<2, THREADS>>>(named[i], 0.25f * (float)s);
        through_table<<<2, THREADS>>>(table, 0.5f);
        CHECK_ANY(cudaMemset(out, 0, sizeof(float)));
        sum<<<1, 32>>>(hidden[HIDDEN - 1], out);
        sum<<<1, 32>>>(named[0], out);
        CHECK_ANY(cudaGetLastError());
        CHECK_ANY(cudaMemcpy(&total, out, sizeof(total), cudaMemcpyDeviceToHost));
        printf("step %d sum %.9g\n", s, total);
    }
    return 0;
}
