/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT};
enum { PASSED_COUNT = sizeof(passed) / sizeof(passed[0]) };

static volatile pid_t child;

/* What a terminal sends (si_code SI_KERNEL) the child got too, being in the same group; only what
 * was sent to this process alone must be passed on. */
static void pass(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    (void)context;
    if (info->si_code <= 0 && child > 0)
        (void)kill(child, number);
    errno = saved;
}

static void become(char **argv, int report, const sigset_t *mask, struct sigaction old[])
{
    for (int i = 0; i < PASSED_COUNT; i++)
        (void)sigaction(passed[i], &old[i], NULL);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    int error = errno;
    ssize_t n = write(report, &error, sizeof(error));
    _exit(n == (ssize_t)sizeof(error) ? 127 : 126);
}

int spill_child_run(char **argv, pid_t *pid, int *status)
{
    struct sigaction pass_on = {.sa_sigaction = pass, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction old[PASSED_COUNT];
    sigset_t block, mask;
    int report[2], error = 0;
    if (pipe2(report, O_CLOEXEC) != 0)
        return errno;
    /* Blocked until the child is known: a signal in between would find nobody to go to. */
    (void)sigemptyset(&block);
    for (int i = 0; i < PASSED_COUNT; i++)
        (void)sigaddset(&block, passed[i]);
    (void)sigprocmask(SIG_BLOCK, &block, &mask);
    for (int i = 0; i < PASSED_COUNT; i++) {
        (void)sigaction(passed[i], NULL, &old[i]);
        if (old[i].sa_handler != SIG_IGN) /* ignored here means ignored there, as under nohup */
            (void)sigaction(passed[i], &pass_on, NULL);
    }
    pid_t forked = fork();
    if (forked == 0)
        become(argv, report[1], &mask, old);
    if (forked < 0)
        error = errno;
    child = forked;
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    close(report[1]);
    if (forked > 0) {
        int why;
        ssize_t n;
        while ((n = read(report[0], &why, sizeof(why))) < 0 && errno == EINTR)
            ;
        if (n == (ssize_t)sizeof(why))
            error = why;
        while (waitpid(forked, status, 0) < 0 && errno == EINTR)
            ;
        *pid = forked;
    }
    child = 0;
    close(report[0]);
    return error;
}

void spill_child_end_as(int status)
{
    if (!WIFSIGNALED(status))
        exit(WEXITSTATUS(status));
    int number = WTERMSIG(status);
    struct rlimit no_core = {0, 0};
    sigset_t only;
    (void)setrlimit(RLIMIT_CORE, &no_core); /* the core that matters is the child's */
    (void)signal(number, SIG_DFL);
    (void)sigemptyset(&only);
    (void)sigaddset(&only, number);
    (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
    (void)raise(number);
    exit(128 + number);
}
