/* SPDX-License-Identifier: Apache-2.0 */
/* HAMi#2641: a hook that holds a lock across a driver call that waits. Here a copy waits for the
 * work before it, which waits for another thread (a host function may), which has a call to make
 * first. */
#include "tests/hooks/life/life.h"

#include <pthread.h>
#include <unistd.h>

static int waiting, launched;

/* The driver: whatever waits for the stream waits for the other thread's call. */
static void driver_call(const char *name)
{
    if (strcmp(name, "cuMemsetD8Async") == 0)
        __atomic_store_n(&launched, 1, __ATOMIC_RELEASE);
    if (strcmp(name, "cuStreamSynchronize") != 0 && strcmp(name, "cuMemcpyDtoH_v2") != 0)
        return;
    __atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&launched, __ATOMIC_ACQUIRE))
        usleep(1000);
}

static void *other(void *driver)
{
    PFN_cuMemsetD8Async_v3020 set = (PFN_cuMemsetD8Async_v3020)dlsym(driver, "cuMemsetD8Async");
    while (!__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))
        usleep(1000);
    CHECK(set(0x1000, 0, 16, NULL) == CUDA_SUCCESS);
    return NULL;
}

int main(void)
{
    char host[16];
    pthread_t thread;
    void *driver = life_driver();
    PFN_cuMemcpyDtoH_v3020 copy = (PFN_cuMemcpyDtoH_v3020)dlsym(driver, "cuMemcpyDtoH_v2");
    *(void (**)(const char *))dlsym(driver, "fake_hook") = driver_call;
    CHECK(pthread_create(&thread, NULL, other, driver) == 0);
    CHECK(copy(host, 0x1000, sizeof(host)) == CUDA_SUCCESS);
    pthread_join(thread, NULL);
    return 0;
}
