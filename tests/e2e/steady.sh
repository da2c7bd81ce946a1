#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# What a replayed step costs the host: the calls of a run of 12 steps less those of 11. Beyond the program's
# own, only event records and waits and asynchronous copies, the same bytes each way: no memory management,
# nothing that blocks (a stream is waited for only right before a copy of the program's own that blocks, so
# that other threads may go on meanwhile). And the library allocates nothing in it, neither by malloc (e2e/hooks_nomalloc) nor
# from the system.
. "$SRC/tests/helpers.sh"
cat >count.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
static int calls;
static void note(const void *caller)
{
    Dl_info info;
    if (dladdr(caller, &info) != 0 && strstr(info.dli_fname, "libspillway.so") != NULL)
        calls++;
}
void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    void *(*real)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");
    note(__builtin_return_address(0));
    return real(at, bytes, protection, flags, file, offset);
}
int madvise(void *at, size_t bytes, int advice)
{
    int (*real)(void *, size_t, int) = dlsym(RTLD_NEXT, "madvise");
    note(__builtin_return_address(0));
    return real(at, bytes, advice);
}
__attribute__((destructor)) static void say(void)
{
    FILE *file = fopen("system_calls", "w");
    if (file != NULL && fprintf(file, "%d\n", calls) > 0)
        fclose(file);
}
END
${CC:-cc} -D_GNU_SOURCE -shared -fPIC -o count.so count.c -ldl || exit 1
run_ample
half=$(share 50)
for steps in 11 12; do
    SIMGPU_REPORT=alone.$steps.json "$MLP" $FEW --steps $steps >ample.out || fail "fails with ample memory"
    SIMGPU_MEM=$half SIMGPU_REPORT=$steps.json LD_PRELOAD=$PWD/count.so "$SPILLWAY" run "$MLP" $FEW --steps $steps >out 2>err ||
        fail "exit status $?"
    same "losses of $steps steps" out
    grep -q " $((steps - 4)) iterations replayed" err || fail "$steps steps: $(grep replayed err)"
    mv system_calls system.$steps
done
one_step alone.11.json alone.12.json >alone
one_step 11.json 12.json >ours
nothing_more alone ours 'StreamWaitEvent|EventRecord|EventElapsedTime|CtxGetCurrent|Memcpy(DtoH|HtoD)Async_v2'
for name in cuStreamWaitEvent cuEventRecord cuMemcpyDtoHAsync_v2 cuMemcpyHtoDAsync_v2; do
    grep -q "^$name [1-9]" ours || fail "a step makes no $name"
done
[ "$(report 11.json .calls_memory_management)" -eq "$(report 12.json .calls_memory_management)" ] &&
    echo "ok no memory management" || fail "a step manages memory"
[ "$(cat system.11)" -gt 0 ] && [ "$(cat system.11)" -eq "$(cat system.12)" ] &&
    echo "ok nothing asked of the system" || fail "$(cat system.11) system calls with 11 steps, $(cat system.12) with 12"
# Beyond the program's own copies, what the first line says goes out and in.
for way in dtoh htod; do
    own=$(($(report alone.12.json .bytes_$way) - $(report alone.11.json .bytes_$way)))
    moved=$(($(report 12.json .bytes_$way) - $(report 11.json .bytes_$way) - own))
    echo "# $moved bytes $way a step"
    grep -q "moving $((moved / MIB)).0 MiB of" err || fail "$moved bytes $way a step; $(grep moving err)"
done
exit $failed
