#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# On a card with room, a budget is kept all the same, as the simulator counts; one below what a single
# operation needs ends in CUDA's out-of-memory error, not in wrong numbers or a hang.
. "$SRC/tests/helpers.sh"
run_ample
for percent in 90 70 60 50 40; do
    budget=$(share $percent)
    SIMGPU_REPORT=report.json "$SPILLWAY" run -q --gpu-mem "$budget" "$MLP" $FEW >out ||
        fail "$percent %: exit status $?"
    same "$percent % of the need" out
    peak=$(report report.json .peak_physical_bytes) || exit 1
    [ "$peak" -le "$budget" ] || fail "$percent %: peak $peak above $budget"
    [ "$peak" -gt $((budget / 2)) ] || fail "$percent %: peak $peak, so it is not used"
done
timeout 60 "$SPILLWAY" run --gpu-mem 8MiB "$MLP" $FEW >out 2>err
status=$?
cat err
[ $status -eq 1 ] || fail "8 MiB: exit status $status instead of 1"
grep -q '^CUDA error: out of memory' err || fail "8 MiB: no out-of-memory error"
grep -q '^spillway: ' err || fail "8 MiB: spillway does not say why"
exit $failed
