#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A CUDA program that ends without one hooked call is told so, loudly; one that never came near CUDA hears
# nothing.
. "$SRC/tests/helpers.sh"
cat >shy.c <<'C'
int cuInit(unsigned);
int cuDeviceGetCount(int *);
int main(void)
{
    int devices;
    return cuInit(0) != 0 || cuDeviceGetCount(&devices) != 0;
}
C
cc -o shy shy.c -L"$SIMLIB" -l:libcuda.so.1 || fail "cannot build it"
"$SPILLWAY" run ./shy >out 2>err || fail "exit status $?"
grep -q '^spillway: THIS CUDA PROGRAM ENDED AND NOT ONE OF ITS CALLS' err || fail "not told: $(cat err)"
"$SPILLWAY" run true >out 2>err || fail "true: exit status $?"
[ ! -s err ] || fail "true: $(cat err)"
exit $failed
