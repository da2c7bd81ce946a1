/* SPDX-License-Identifier: Apache-2.0 */
/* pytorch#40403: the driver's state does not survive a fork. Here: a child passes through, before
 * and after the parent's first call, and the parent goes on. */
#include "tests/hooks/life/life.h"

#include <sys/wait.h>
#include <unistd.h>

static int child(void *driver, PFN_cuMemsetD8_v3020 set)
{
    unsigned before = life_counts()->before, real = life_calls(driver, "cuMemsetD8_v2");
    if (set(0x1000, 0, 16) != CUDA_SUCCESS)
        return 1;
    return life_counts()->before != before || life_calls(driver, "cuMemsetD8_v2") != real + 1;
}

static void try_child(void *driver, PFN_cuMemsetD8_v3020 set)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(child(driver, set));
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    void *driver = life_driver();
    PFN_cuMemsetD8_v3020 set = (PFN_cuMemsetD8_v3020)dlsym(driver, "cuMemsetD8_v2");
    try_child(driver, set);
    CHECK(set(0x1000, 0, 16) == CUDA_SUCCESS && life_counts()->before == 1);
    try_child(driver, set);
    CHECK(set(0x1000, 0, 16) == CUDA_SUCCESS && life_counts()->before == 2);
    return 0;
}
