/* SPDX-License-Identifier: Apache-2.0 */
/* cudaFree waits for the device, and programs lean on it: memory freed while another stream used it
 * is given out again, what the other stream wrote is read, with no event in between, the pinned
 * source of a copy is written anew, the pinned target of one is read. Each step does all of it,
 * among buffers large enough that there is something to move; sums show what went wrong. */
#include "victim.h"

enum { LAYERS = 8, LARGE = 1 << 20, SMALL = 1024, THREADS = 128, STEPS = 12 };

/* One thread a value; of a large buffer every 64th. */
__global__ void fill(float *x, int count, float value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        x[i] = value + (float)(i % 7);
}

__global__ void mix(float *x, const float *y, int count, int stride)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * stride;
    if (i < count)
        x[i] = 0.5f * x[i] + 0.25f * y[i % SMALL];
}

__global__ void sum_of(const float *x, int count, int stride, float *sum)
{
    float total = 0.0f;
    for (int i = 0; i < count; i += stride)
        total += x[i];
    *sum = total;
}

static float *device_floats(int count)
{
    void *p = NULL;
    CHECK(cudaMalloc(&p, count * sizeof(float)));
    return (float *)p;
}

/* On the side stream, by way of a small buffer that is freed at once. */
static void use_small(cudaStream_t stream, float *out, float value)
{
    float *scratch = device_floats(SMALL);
    fill<<<SMALL / THREADS, THREADS, 0, stream>>>(scratch, SMALL, value);
    CHECK(cudaGetLastError());
    mix<<<SMALL / THREADS, THREADS, 0, stream>>>(out, scratch, SMALL, 1);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(scratch));
}

/* Pinned memory of the host, which the side stream's copies read and write until the free. */
static float copy_both_ways(cudaStream_t stream, float *device, float *source, float *target,
                            float value)
{
    float *scratch = device_floats(SMALL);
    for (int i = 0; i < SMALL; i++)
        source[i] = value + (float)(i % 5);
    CHECK(cudaMemcpyAsync(device, source, SMALL * sizeof(float), cudaMemcpyHostToDevice, stream));
    CHECK(cudaFree(scratch));
    memset(source, 0, SMALL * sizeof(float));

    scratch = device_floats(SMALL);
    target[SMALL - 1] = -1.0f;
    fill<<<SMALL / THREADS, THREADS, 0, stream>>>(scratch, SMALL, value);
    CHECK(cudaGetLastError());
    mix<<<SMALL / THREADS, THREADS, 0, stream>>>(scratch, device, SMALL, 1);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(target, scratch, SMALL * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFree(scratch));
    return target[SMALL - 1];
}

int main(void)
{
    float *source, *target, *device = device_floats(SMALL);
    CHECK(cudaMallocHost((void **)&source, SMALL * sizeof(float)));
    CHECK(cudaMallocHost((void **)&target, SMALL * sizeof(float)));
    float *layer[LAYERS], *sums = device_floats(2), host[2];
    float *kept = device_floats(SMALL), *side_kept = device_floats(SMALL);
    cudaStream_t side;
    CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    CHECK(cudaMemset(kept, 0, SMALL * sizeof(float)));
    CHECK(cudaMemset(side_kept, 0, SMALL * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    for (int step = 1; step <= STEPS; step++) {
        for (int l = 0; l < LAYERS; l++) {
            layer[l] = device_floats(LARGE);
            CHECK(cudaMemset(layer[l], 0, LARGE * sizeof(float)));
            use_small(side, side_kept, (float)(step + l));
            /* Reads what the side stream wrote and will write again; only the frees before and
             * after order that. */
            mix<<<LARGE / 64 / THREADS, THREADS>>>(layer[l], side_kept, LARGE, 64);
            CHECK(cudaGetLastError());
            use_small(0, kept, (float)(step - l));
        }
        for (int l = LAYERS - 1; l >= 0; l--) {
            mix<<<LARGE / 64 / THREADS, THREADS>>>(layer[l], kept, LARGE, 64);
            CHECK(cudaGetLastError());
            sum_of<<<1, 1>>>(layer[l], LARGE, 64, sums);
            CHECK(cudaGetLastError());
            mix<<<SMALL / THREADS, THREADS>>>(kept, layer[l], SMALL, 1);
            CHECK(cudaGetLastError());
            CHECK(cudaFree(layer[l]));
        }
        sum_of<<<1, 1>>>(kept, SMALL, 1, sums + 1);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(host, sums, sizeof(host), cudaMemcpyDeviceToHost));
        float copied = copy_both_ways(side, device, source, target, (float)step);
        printf("step %d sums %.9g %.9g copied %.9g\n", step, host[0], host[1], copied);
    }
    CHECK(cudaFreeHost(source));
    CHECK(cudaFreeHost(target));
    CHECK(cudaFree(device));
    CHECK(cudaFree(side_kept));
    CHECK(cudaFree(kept));
    CHECK(cudaFree(sums));
    CHECK(cudaStreamDestroy(side));
    return 0;
}
