#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The workload alone on a card of half its need ends in CUDA's own error: without this, nothing else here
# would show anything.
. "$SRC/tests/helpers.sh"
run_ample
SIMGPU_MEM=$(share 50) "$MLP" $FEW >out 2>err
status=$?
cat err
test $status -eq 1 || fail "exit status $status instead of 1"
grep -q '^CUDA error: out of memory (cudaErrorMemoryAllocation) at .*mlp\.cu:[0-9]*$' err ||
    fail "no out-of-memory error"
! grep -q '^accuracy' out || fail "it finished"
exit $failed
