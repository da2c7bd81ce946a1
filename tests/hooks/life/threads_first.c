/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that were there before the first call all make it at once: each call is seen once. */
#include "tests/hooks/life/life.h"

#include <pthread.h>

enum { THREADS = 8, CALLS = 2000 };
static pthread_barrier_t start;

static void *work(void *driver)
{
    pthread_barrier_wait(&start);
    PFN_cuMemsetD8_v3020 set = (PFN_cuMemsetD8_v3020)dlsym(driver, "cuMemsetD8_v2");
    for (int i = 0; i < CALLS; i++)
        CHECK(set(0x1000, 0, 16) == CUDA_SUCCESS);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    void *driver = life_driver();
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, driver) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(life_counts()->before == THREADS * CALLS && life_counts()->after == THREADS * CALLS);
    return 0;
}
