/* SPDX-License-Identifier: Apache-2.0 */
/* SIGUSR1: the user asks how it goes. The handler sets a flag; the next hooked call answers. */
#ifndef SPILL_ONSIGNAL_H
#define SPILL_ONSIGNAL_H

#include <signal.h>

extern volatile sig_atomic_t spill_onsignal_asked;

/* Installs the handler, unless the program has one or ignores the signal. */
void spill_onsignal_install(void);

#endif
