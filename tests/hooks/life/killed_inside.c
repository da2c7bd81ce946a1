/* SPDX-License-Identifier: Apache-2.0 */
/* HAMi-core#86: a process killed inside a hook leaves a lock behind that stops all others. Here:
 * nothing is shared between processes; others, and those that come after, go on. */
#include "tests/hooks/life/life.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *name)
{
    if (strcmp(name, "cuMemcpy") == 0)
        raise(SIGKILL);
}

static int call(int dies)
{
    void *driver = life_driver();
    PFN_cuMemcpy_v4000 copy = (PFN_cuMemcpy_v4000)dlsym(driver, "cuMemcpy");
    if (dies)
        *(void (**)(const char *))dlsym(driver, "fake_hook") = die;
    CHECK(copy(0x1000, 0x2000, 16) == CUDA_SUCCESS);
    return life_counts()->before == 1 ? 0 : 1;
}

static int spawn(const char *self, char *how)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        execl("/proc/self/exe", self, how, (char *)NULL);
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return call(strcmp(argv[1], "dies") == 0);
    for (int i = 0; i < 3; i++) {
        int status = spawn(argv[0], "dies");
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    CHECK(spawn(argv[0], "lives") == 0);
    return call(0);
}
