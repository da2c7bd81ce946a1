#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPILLWAY_STATS at exit: the same figures as the last line and as the simulator's own. SIGUSR1: printed and
# written while the program runs, which is not disturbed; a program's own handler stays.
. "$SRC/tests/helpers.sh"
STEPS=$BUILD/tests/victims/steps
SIMGPU_REPORT=ample.json "$STEPS" --steps 20 >ample.out || fail "steps fails with ample memory"

SPILLWAY_STATS=stats.%p.json SIMGPU_MEM=44MiB SIMGPU_REPORT=report.json "$SPILLWAY" run "$STEPS" --steps 20 \
    >out 2>err || fail "exit status $?"
same "with statistics" out
mv stats.[0-9]*.json stats.json || fail "no statistics file by the name that was asked for"
equal() { # WHAT, VALUE, VALUE
    if [ "$2" = "$3" ]; then echo "ok $1"; else fail "$1: $2, not $3"; fi
}
equal "format" "$(report stats.json '"\(.format) \(.version) \(.devices | length)"')" "spillway-stats 1 1"
# What the program calls, as the driver counts it where nothing stands between.
equal "hooked calls" "$(report stats.json .hooked_calls)" \
    "$(report ample.json '.calls | .cuLaunchKernel + .cuMemAlloc_v2 + .cuMemFree_v2 + .cuMemcpyDtoH_v2 + .cuMemsetD8_v2')"
equal "peak" "$(report stats.json '.devices[0].peak_bytes')" "$(report report.json .peak_physical_bytes)"
equal "out and in" "$(report stats.json '.devices[0] | .out_bytes >= .paged_out_bytes and .in_bytes >= .paged_in_bytes
    and .paged_out_bytes > 0')" true
equal "iterations" "$(report stats.json '[.devices[0].plans[].replayed] | add')" \
    "$(sed -n 's/.*; \([0-9]*\) iterations replayed.*/\1/p' err)"
equal "guarded" "$(report stats.json '.devices[0].plans[0].guarded')" 2
# Paging on demand was slower, and the replayed step is what was predicted, within a tenth.
equal "steps" "$(report stats.json '.devices[0].plans[0] | .step_before_ns > .step_ns and .step_ns >= .compute_ns and
    (.step_ns - .predicted_step_ns | fabs) * 10 < .predicted_step_ns and .steps_timed > 8')" true
equal "stalls" "$(report stats.json '.devices[0].host_stall_ns | .paging > 0 and .guarding > 0 and .switching > 0')" true
# Each op came as planned, found its buffers, or had them brought in.
equal "ops" "$(report stats.json '.devices[0] | .ops.planned >= .plans[0].ops * (.plans[0].replayed + 2) and
    .ops.resident > 0 and .ops.paged > 0')" true
equal "fallbacks" "$(report stats.json '.devices[0].fallbacks | add')" \
    "$(sed -n 's/.*; \([0-9]*\) fallbacks.*/\1/p' err)"

SPILLWAY_STATS=asked.json SIMGPU_MEM=44MiB "$SPILLWAY" run "$STEPS" --steps 20 --ask 15 >out 2>err ||
    fail "SIGUSR1: exit status $?"
same "asked in between" out
equal "asked in between: two lines" "$(grep -c 'iterations replayed' err)" 2
SIMGPU_MEM=44MiB "$SPILLWAY" run "$STEPS" --steps 20 --ask 15 --handle >out 2>err || fail "its own handler: status $?"
equal "its own handler" "$(tail -n 1 out)" handled
equal "its own handler: one line" "$(grep -c 'iterations replayed' err)" 1
SPILLWAY_SIGNAL=0 SIMGPU_MEM=44MiB "$SPILLWAY" run "$STEPS" --steps 20 --ask 15 >out 2>err
equal "left alone" "$?" 138
SPILLWAY_STATS=/nowhere/stats SIMGPU_MEM=44MiB "$SPILLWAY" run "$STEPS" --steps 20 >out 2>err ||
    fail "a file that cannot be written: exit status $?"
same "a file that cannot be written" out
grep -q '^spillway: cannot write the statistics /nowhere/stats: No such file' err || fail "nothing was said of it"
exit $failed
