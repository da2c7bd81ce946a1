/* SPDX-License-Identifier: Apache-2.0 */
/* link: cuda
 * A thread that is started before main, and makes its first call while the main thread makes its
 * own, while the library reads its settings and looks for the driver. */
#include "tests/hooks/life/life.h"

#include <pthread.h>

static pthread_t thread;
static int go;

static void *early(void *unused)
{
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
        ;
    for (int i = 0; i < 100; i++)
        CHECK(cuMemsetD8_v2(0x1000, 0, 16) == CUDA_SUCCESS);
    return unused;
}

__attribute__((constructor)) static void before_main(void)
{
    CHECK(pthread_create(&thread, NULL, early, NULL) == 0);
}

int main(void)
{
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 100; i++)
        CHECK(cuMemsetD8_v2(0x1000, 0, 16) == CUDA_SUCCESS);
    pthread_join(thread, NULL);
    CHECK(life_counts()->before == 200 && life_counts()->after == 200);
    return 0;
}
