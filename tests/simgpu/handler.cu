// SPDX-License-Identifier: Apache-2.0
// The program's own SIGSEGV handler, set before or after the first use of the device, gets the
// program's faults; the device's faults stay the device's.
#include "simtest.h"
#include <csetjmp>
#include <csignal>

__global__ void set_to(int *p, int v)
{
    *p = v;
}

static sigjmp_buf escape;
static void own_handler(int)
{
    siglongjmp(escape, 1);
}

static int device_works()
{
    int *p, v = 0;
    OK(cudaMalloc(&p, 8 << 20));
    set_to<<<1, 1>>>(p + 1000000, 5);
    OK(cudaMemcpy(&v, p + 1000000, 4, cudaMemcpyDeviceToHost));
    return v;
}

static bool host_fault_is_caught()
{
    volatile int *nowhere = (int *)16;
    if (sigsetjmp(escape, 1) == 0) {
        *nowhere = 1;
        return false;
    }
    return true;
}

CASE(handler_set_before)
{
    signal(SIGSEGV, own_handler);
    EQUAL(device_works(), 5);
    for (int i = 0; i < 3; i++)
        CHECK(host_fault_is_caught());
    EQUAL(device_works(), 5);
}
CASE(handler_set_after)
{
    EQUAL(device_works(), 5);
    signal(SIGSEGV, own_handler);
    CHECK(host_fault_is_caught());
    EQUAL(device_works(), 5);
    CHECK(host_fault_is_caught());
}
CASE(a_device_fault_does_not_reach_it)
{
    signal(SIGSEGV, own_handler);
    if (sigsetjmp(escape, 1) != 0) {
        CHECK(!"the program's handler was called");
        return;
    }
    set_to<<<1, 1>>>(nullptr, 5);
    GIVES(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}
