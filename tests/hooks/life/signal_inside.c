/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that arrive inside a hook, whose handlers make calls of their own (as profilers' and
 * crash reporters' do): no deadlock, and every call reaches the driver once. */
#include "tests/hooks/life/life.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

enum { THREADS = 3, CALLS = 20000 };
static PFN_cuMemsetD8_v3020 set;
static PFN_cuMemsetD16_v3020 set_in_handler;
static unsigned handled;

static void on_signal(int number)
{
    (void)number;
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
    (void)set_in_handler(0x1000, 0, 16);
}

/* In the middle of each thousandth call, for certain. */
static void driver_call(const char *name)
{
    static __thread unsigned calls;
    if (strcmp(name, "cuMemsetD8_v2") == 0 && ++calls % 1000 == 0)
        raise(SIGUSR2);
}

static void *work(void *unused)
{
    for (int i = 0; i < CALLS; i++)
        CHECK(set(0x1000, 0, 16) == CUDA_SUCCESS);
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    void *driver = life_driver();
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    set = (PFN_cuMemsetD8_v3020)dlsym(driver, "cuMemsetD8_v2");
    set_in_handler = (PFN_cuMemsetD16_v3020)dlsym(driver, "cuMemsetD16_v2");
    *(void (**)(const char *))dlsym(driver, "fake_hook") = driver_call;
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0 && sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    CHECK(signal(SIGALRM, SIG_IGN) != SIG_ERR); /* nor one that is on its way */
    CHECK(handled >= THREADS * CALLS / 1000);
    CHECK(life_calls(driver, "cuMemsetD8_v2") == THREADS * CALLS);
    CHECK(life_calls(driver, "cuMemsetD16_v2") == handled);
    CHECK(life_counts()->before >= THREADS * CALLS);
    return 0;
}
