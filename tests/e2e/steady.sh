#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From the fifth step on: no memory-management call at the driver, and data moved both ways in every step.
# Marks are kernel launches: what happens between the first launch of a step and that of the next is the
# step's.
. "$SRC/tests/helpers.sh"
run_ample
half=$(share 50)
kernels_of() { # STEPS
    SIMGPU_REPORT=kernels.json "$MLP" $FEW --steps "$1" >/dev/null
    report kernels.json .kernels
}
one=$(kernels_of 1)
launches=$(($(kernels_of 2) - one))
SIMGPU_MEM=$half SIMGPU_REPORT=report.json SIMGPU_MARK=cuLaunchKernel "$SPILLWAY" run "$MLP" $FEW >out ||
    fail "exit status $?"
same losses out
marks=$(report report.json '.marks | length')
[ "$marks" -eq $((one + 9 * launches)) ] || fail "$marks launches instead of $((one + 9 * launches))"
report report.json "[.marks[range(0; 10 * $launches + 1; $launches)]] | [., .[1:]] | transpose | .[:-1][] |
    [.[1].memory_management_calls - .[0].memory_management_calls, .[1].bytes_htod - .[0].bytes_htod,
     .[1].bytes_dtoh - .[0].bytes_dtoh, .[1].virtual_ns - .[0].virtual_ns] | map(tostring) | join(\" \")" >steps
awk '{ printf "# step %d: %s calls, %s bytes in, %s out, %s ns\n", NR, $1, $2, $3, $4 }' steps
[ "$(wc -l <steps)" -eq 10 ] || fail "$(wc -l <steps) steps"
# The last step ends with the first launch of the evaluation, which is no longer the plan's.
awk 'NR >= 5 && NR <= 9 && $1 != 0 { exit 1 }' steps && echo "ok no memory management" ||
    fail "memory management in steps 5 to 9"
awk -v page=$PAGE 'NR >= 5 && NR <= 9 && ($2 < page || $3 < page) { exit 1 }' steps &&
    echo "ok moves in every step" || fail "a step moved nothing"
# The same moves in every step, each way. The simulator counts a copy when it executes it, which may be after
# the next step's first launch: so the five steps together are five times the one in the middle.
awk 'NR == 7 { i = $2; o = $3 } NR >= 5 && NR <= 9 { in_all += $2; out_all += $3 }
     END { exit in_all != 5 * i || out_all != 5 * o }' steps &&
    echo "ok the same moves in every step" || fail "steps differ"
exit $failed
