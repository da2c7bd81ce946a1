/* SPDX-License-Identifier: Apache-2.0 */
/* A few steps on the driver API, in functions with names; built by tests/e2e/callsites.sh. STEPS of
 * 0: until it is killed. Usage: plain_steps STEPS */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BYTES ((size_t)4 << 20)

CUdeviceptr make_weight(void);
CUdeviceptr make_layer(void);
void train_step(CUdeviceptr weight);

static void check(CUresult result)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "CUDA error %d\n", (int)result);
        exit(1);
    }
}

__attribute__((noinline)) CUdeviceptr make_weight(void)
{
    CUdeviceptr at = 0;
    check(cuMemAlloc_v2(&at, BYTES));
    return at;
}

__attribute__((noinline)) CUdeviceptr make_layer(void)
{
    CUdeviceptr at = 0;
    check(cuMemAlloc_v2(&at, BYTES));
    return at;
}

__attribute__((noinline)) void train_step(CUdeviceptr weight)
{
    CUdeviceptr a = make_layer(), b = make_layer();
    check(cuMemsetD8_v2(a, 1, BYTES));
    check(cuMemcpyDtoD_v2(b, a, BYTES));
    check(cuMemcpyDtoD_v2(weight, b, BYTES));
    check(cuMemFree_v2(a));
    check(cuMemFree_v2(b));
}

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    int steps = argc > 1 ? atoi(argv[1]) : 10;
    check(cuInit(0));
    check(cuDeviceGet(&device, 0));
    check(cuCtxCreate_v2(&context, 0, device));
    CUdeviceptr weight = make_weight();
    for (int s = 0; steps == 0 || s < steps; s++) {
        train_step(weight);
        if (steps == 0)
            usleep(1000);
    }
    return 0;
}
