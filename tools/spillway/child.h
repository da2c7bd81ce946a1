/* SPDX-License-Identifier: Apache-2.0 */
/* A program run as a child that is, seen from outside, this very process: signals go through, and
 * this process can end as the child ended. */
#ifndef SPILL_CHILD_H
#define SPILL_CHILD_H

#include <sys/types.h>

/* Runs ARGV (as execvp) and waits. 0 with *PID and *STATUS (as of waitpid); otherwise the errno for
 * which it could not be started. */
int spill_child_run(char **argv, pid_t *pid, int *status);

/* Ends this process as STATUS says: the same exit status, or death by the same signal. */
__attribute__((noreturn)) void spill_child_end_as(int status);

#endif
