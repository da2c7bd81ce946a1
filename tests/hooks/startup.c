/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program and prints how many system calls it made and how many pages it faulted in: what
 * its start and end cost, as a count. Usage: startup PRELOAD PROGRAM; PRELOAD may be empty. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int start(const char *preload, char **argv)
{
    if (preload[0] != '\0')
        setenv("LD_PRELOAD", preload, 1);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        return 77; /* not allowed here */
    execv(argv[0], argv);
    return 127;
}

int main(int argc, char **argv)
{
    int status;
    long stops = 0;
    struct rusage usage;
    if (argc < 3)
        return 64;
    pid_t pid = fork();
    if (pid == 0)
        _exit(start(argv[1], argv + 2));
    while (wait4(pid, &status, 0, &usage) == pid && WIFSTOPPED(status)) {
        int number = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        stops += number == 0;
        ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)number);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    printf("%ld %ld\n", stops / 2, usage.ru_minflt); /* each call stops twice */
    return 0;
}
