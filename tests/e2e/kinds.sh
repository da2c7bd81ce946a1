#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 240
# Steps of three kinds in irregular turns, which begin alike: whole ones, shallow ones, and ones without the
# way back. Each kind gets a plan; one plan takes over from another where the kinds part. What one kind would
# no longer need there another one still reads: outputs are the same at every budget and order.
. "$SRC/tests/helpers.sh"
KINDS="$BUILD/tests/victims/multi_device --kinds --steps 60"
$KINDS >ample.out || fail "fails with ample memory"

# shellcheck disable=SC2086 # KINDS is a command with its options
for budget in 48 38 30; do
    SPILLWAY_STATS=$budget.json "$SPILLWAY" run --gpu-mem ${budget}MiB $KINDS >out 2>err || fail "$budget MiB: exit status $?"
    same "$budget MiB" out
    [ "$(report $budget.json '.devices[0] | .peak_bytes <= .gpu_budget_bytes')" = true ] || fail "$budget MiB: peak"
done
[ "$(report 38.json '.devices[0] | .plan_changes >= 5 and ([.plans[].replayed] | add >= 8) and .plan_count >= 3')" = true ] ||
    fail "plans did not follow on each other: $(jq -c '.devices[0] | .plan_changes, [.plans[].replayed]' 38.json)"
# A kind that always parts from another one under way is guarded part by part, and then replayed.
[ "$(report 38.json '.devices[0] | [.plans[] | select(.guarded + .replayed >= 5)] | length >= 3 and all(.replayed > 0)')" = true ] ||
    fail "a plan stays guarded: $(jq -c '.devices[0] | [.plans[] | [.guarded, .replayed]]' 38.json)"
SIMGPU_SEED=11 "$SPILLWAY" run --gpu-mem 38MiB $KINDS >out 2>err || fail "another order: exit status $?"
same "another order" out
exit $failed
