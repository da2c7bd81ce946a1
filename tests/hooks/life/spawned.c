/* SPDX-License-Identifier: Apache-2.0 */
/* Children by posix_spawn and vfork, which run no fork handler and share the parent's memory until
 * they become another program: that program is intercepted on its own, the parent as before. */
#include "tests/hooks/life/life.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(unsigned times)
{
    PFN_cuMemsetD8_v3020 set = (PFN_cuMemsetD8_v3020)dlsym(life_driver(), "cuMemsetD8_v2");
    CHECK(set(0x1000, 0, 16) == CUDA_SUCCESS && life_counts()->before == times);
    return 0;
}

static void wait_for(pid_t pid)
{
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int argc, char **argv)
{
    extern char **environ;
    char *arguments[] = {argv[0], "child", NULL};
    pid_t pid;
    if (argc > 1)
        return run(1);
    run(1);
    CHECK(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ) == 0);
    wait_for(pid);
    run(2);
    pid = vfork();
    if (pid == 0) {
        execv("/proc/self/exe", arguments);
        _exit(127);
    }
    wait_for(pid);
    return run(3);
}
