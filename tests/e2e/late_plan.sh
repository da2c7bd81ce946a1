#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# A plan that is ready only an iteration or more later is put in force all the same, and for the right
# buffers: what lives at the border, in the middle of a step, lies where it did, but under other numbers.
. "$SRC/tests/helpers.sh"
cat >late.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *(*real_run)(void *);
static void *run_late(void *argument)
{
    usleep((useconds_t)atoi(getenv("LATE_MS")) * 1000);
    return real_run(argument);
}
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    real_run = run; /* the planner's is the only one, and one at a time */
    return real(thread, attr, run_late, argument);
}
END
${CC:-cc} -D_GNU_SOURCE -shared -fPIC -o late.so late.c -ldl || exit 1
MLP=$BUILD/tests/workloads/cnn
FEW="$FEW --steps 14"
run_ample
budget=$(share 75)
for late in 100 600; do
    LATE_MS=$late SPILLWAY_PLAN_WAIT=1 SIMGPU_MEM=$budget LD_PRELOAD=$PWD/late.so "$SPILLWAY" run "$MLP" $FEW >out 2>err ||
        fail "$late ms late: exit status $?"
    same "$late ms late" out
    grep -q ' [1-9][0-9]* iterations replayed' err || fail "$late ms late: nothing was replayed"
done
exit $failed
