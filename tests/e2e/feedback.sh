#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# A device that is not, or no longer, as it was profiled: a plan whose steps take longer than predicted is made
# anew from what was measured and replaces the old one if that pays, once; outputs stay the same. On a device
# that stays as it is nothing happens, after a hiccup nothing is planned, and every call that this adds may fail.
. "$SRC/tests/helpers.sh"
STEPS=22
FEW="--steps $STEPS --data $SRC/tests/data/digits.csv"
run_ample
budget=$(share 75)

# try NAME: a run in the budget; SETTINGS are in the environment.
try() {
    SIMGPU_MEM=$budget SPILLWAY_STATS=$1.stats SIMGPU_REPORT=$1.json SIMGPU_MARK=cuMemcpyDtoH_v2 \
        "$SPILLWAY" run -v "$MLP" $FEW >out 2>"$1.err" || fail "$1: exit status $?"
    same "$1" out
}
feedback() { report "$1.stats" '.devices[0].feedback | "\(.sampled) \(.unexplained) \(.planned) \(.adopted)"'; }
expect() { # NAME, SAMPLED UNEXPLAINED PLANNED ADOPTED
    if [ "$(feedback "$1")" = "$2" ]; then echo "ok $1: $2"; else fail "$1: $(feedback "$1"), not $2"; fi
}
# Virtual nanoseconds of a late step.
step() { report "$1.json" "(.marks[$STEPS - 1].virtual_ns - .marks[$STEPS - 3].virtual_ns) / 2 | floor"; }
# at_most NAME A PERCENT B: A is at most that much of B.
at_most() { [ $(($2 * 100)) -le $(($4 * $3)) ] && echo "ok $1: $2 and $4 ns" || fail "$1: $2 is more than $3 % of $4"; }

try constant
expect constant "0 0 0 0"
# From the second replayed step on.
late=$(report constant.json '.marks[5].virtual_ns')ns

export SIMGPU_DRIFT="$late:links=2"
SPILLWAY_FEEDBACK=0 try without
expect without "0 0 0 0"
try links
expect links "1 0 1 1"
grep -q 'planned anew: .* it is replaced' links.err || fail "nothing was said of it"
at_most "a step with links half as fast, without and with feedback" "$(step links)" 90 "$(step without)"
at_most "and as the new plan predicts" "$(step links)" 103 "$(report links.stats '.devices[0].plans[-1].predicted_step_ns')"
[ "$(report links.stats '.devices[0].plans[0] | .sampled_wait_in_ns + .sampled_wait_memory_ns')" -gt 1000000 ] &&
    echo "ok what the waits cost" || fail "no waits were measured: $(cat links.stats)"

# Nothing to be done about slower kernels: the plan stays, and is expected to take what it takes.
SIMGPU_DRIFT="$late:kernels=2" try kernels
expect kernels "1 0 1 0"
at_most "the old plan by what was measured" "$(step kernels)" 103 "$(report kernels.stats '.devices[0].plans[0].expected_step_ns')"

# One slow kernel lifts the mean, and is not there when it is looked for.
unset SIMGPU_DRIFT
SIMGPU_SLOW=cuLaunchKernel:560=9ms try hiccup
expect hiccup "1 1 0 0"

# The program's own copies keep the plan's waiting, which no plan can help: it stays.
STEPS_ALONE="$BUILD/tests/victims/steps --steps 30"
$STEPS_ALONE >steps.out || fail "steps fails with ample memory"
SPILLWAY_STATS=own.stats "$SPILLWAY" run --gpu-mem 56MiB $STEPS_ALONE >out 2>err || fail "own copies: exit status $?"
cmp steps.out out && expect own "1 0 1 0" || fail "own copies: sums differ"

# The calls of sampling, and of changing the plan. "=": the n-th call that a run without feedback does not make.
export SIMGPU_DRIFT="$late:links=2"
calls() { report "$1.json" ".calls.$2"; }
went_on=0 noticed=0
faulty() { # FUNCTION N
    SIMGPU_FAIL=$1:$2 SIMGPU_MEM=$budget SPILLWAY_STATS=faulty.stats "$SPILLWAY" run -q "$MLP" $FEW >out 2>err
    status=$?
    if [ $status -eq 0 ] && cmp -s ample.out out; then
        went_on=$((went_on + 1))
        [ "$(feedback faulty)" = "1 0 1 1" ] || noticed=$((noticed + 1))
    elif [ $status -eq 1 ] && grep -q '^CUDA error' err && head -c "$(wc -c <out)" ample.out | cmp -s - out; then
        noticed=$((noticed + 1))
    else
        fail "$1:$2: status $status, $(tail -n 1 err)"
    fi
}
for function in cuEventCreate cuEventElapsedTime; do
    faulty $function $(($(calls without $function) / 2 + $(calls links $function) / 2))
done
faulty cuEventCreate "$(($(calls without cuEventCreate) + 1))"
faulty cuEventCreate "$(calls links cuEventCreate)"
for share in 56 60 64; do
    faulty cuEventRecord $(($(calls links cuEventRecord) * share / 100))
done
faulty cuMemMap "$(calls links cuMemMap)"
faulty cuMemUnmap "$(calls links cuMemUnmap)"
echo "# $went_on went on, $noticed faults changed something"
[ $noticed -ge 3 ] && [ $went_on -ge 3 ] && echo "ok faults on the way" || fail "faults: $went_on went on, $noticed noticed"
exit $failed
