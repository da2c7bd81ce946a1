/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/onsignal.h"

#include <stddef.h>

volatile sig_atomic_t spill_onsignal_asked;

static void ask(int number)
{
    (void)number;
    spill_onsignal_asked = 1;
}

void spill_onsignal_install(void)
{
    struct sigaction now, ours = {.sa_handler = ask, .sa_flags = SA_RESTART};
    if (sigaction(SIGUSR1, NULL, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 ||
        now.sa_handler != SIG_DFL)
        return;
    (void)sigemptyset(&ours.sa_mask);
    (void)sigaction(SIGUSR1, &ours, NULL);
}
