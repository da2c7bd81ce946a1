/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/progress.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>
#include <unistd.h>

#include "preload/base/fmt.h"

static const char *doing;
static volatile unsigned seconds, all, ready;

static void say(const char *text, size_t len)
{
    ssize_t n = write(STDERR_FILENO, text, len);
    (void)n; /* what could be done about it? */
}

static void tick(int number)
{
    char line[160];
    int saved = errno;
    (void)number;
    seconds++;
    size_t len = spill_fmt(line, sizeof(line), "\rspillway: %s", doing);
    if (all > 0)
        len += spill_fmt(line + len, sizeof(line) - len, ", %u of %u", ready, all);
    len += spill_fmt(line + len, sizeof(line) - len, ", %u s ", seconds);
    say(line, len);
    errno = saved;
}

static void set_timer(time_t interval)
{
    struct itimerval every = {{interval, 0}, {interval, 0}};
    (void)setitimer(ITIMER_REAL, &every, NULL);
}

void spill_progress_begin(const char *what, unsigned of)
{
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    doing = what;
    seconds = 0;
    ready = 0;
    all = of;
    if (!isatty(STDERR_FILENO) || sigaction(SIGALRM, &action, NULL) != 0)
        return;
    set_timer(1);
}

void spill_progress_step(void)
{
    ready++;
}

void spill_progress_end(void)
{
    static const char clear[] = "\r\033[K";
    if (doing == NULL)
        return;
    set_timer(0);
    if (seconds > 0)
        say(clear, sizeof(clear) - 1);
    (void)signal(SIGALRM, SIG_DFL);
    doing = NULL;
}
