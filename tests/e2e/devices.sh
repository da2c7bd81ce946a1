#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 240
# Several devices in one process, each with its own budget and plan: driven in turn and by a thread each,
# with copies between them, with one that reaches into the other; a second context; a reset in between.
. "$SRC/tests/helpers.sh"
DEVICES=$BUILD/tests/victims/multi_device

# bend MEM REPLAYED OPTIONS...: the same output; at least REPLAYED iterations replayed on each device that was
# managed, as their lines say; and no device above its budget.
bend() {
    mem=$1 least=$2
    shift 2
    SIMGPU_DEVICES=2 "$DEVICES" "$@" >ample.out || fail "devices $*: fails with ample memory"
    SIMGPU_DEVICES=2 SIMGPU_SEED=5 SPILLWAY_STATS=stats.json "$SPILLWAY" run --gpu-mem "$mem" "$DEVICES" "$@" >out 2>err ||
        fail "devices $*: exit status $?: $(tail -n 1 err)"
    same "devices $*" out
    grep -q nan out && fail "devices $*: sums that say nothing"
    report stats.json ".devices[] | [.plans[].replayed] | add // 0" >replayed
    while read -r n; do
        [ "$n" -ge "$least" ] || fail "devices $*: only $n iterations replayed"
    done <replayed
    [ "$(report stats.json "[.devices[] | .peak_bytes <= .gpu_budget_bytes] | all")" = true ] || fail "devices $*: peak"
}

bend 38MiB 6 --devices 1
bend 38MiB 6 --devices 2
[ "$(grep -c 'device [01]: peak .* iterations replayed' err)" -eq 2 ] || fail "not a line for each device"
[ "$(report stats.json '[.devices[].ordinal] | tostring')" = "[0,1]" ] || fail "not both in the statistics"
bend 38MiB 6 --devices 2 --threads
# The limit of host memory is the process's: without one, the two take 64 MiB.
SIMGPU_DEVICES=2 SIMGPU_REPORT=host.json "$SPILLWAY" run --gpu-mem 38MiB --host-mem 60MiB "$DEVICES" --devices 2 >out 2>err ||
    fail "host memory shared: exit status $?: $(tail -n 1 err)"
SIMGPU_DEVICES=2 "$DEVICES" --devices 2 >ample.out
same "host memory shared" out
[ "$(report host.json .peak_pinned_bytes)" -le $((60 << 20)) ] || fail "$(report host.json .peak_pinned_bytes) bytes pinned, of 60 MiB"
# What is copied between devices stays where it is, and the rest still moves.
bend 44MiB 4 --devices 2 --copy --steps 20
bend 44MiB 4 --devices 2 --copy --graph --steps 20
# A device that another one may reach into keeps everything.
bend 64MiB 0 --devices 2 --peer
grep -q 'another device was given access' err || fail "nothing was said of the peer"
bend 38MiB 4 --devices 1 --context --steps 20
grep -q 'second context of a device is not managed' err || fail "nothing was said of the second context"
bend 38MiB 12 --devices 1 --reset 3
bend 38MiB 8 --devices 2 --reset 2
# Too small for all that must stay: an honest error.
SIMGPU_DEVICES=2 "$SPILLWAY" run --gpu-mem 30MiB "$DEVICES" --devices 2 --peer >out 2>err
[ $? -eq 1 ] && grep -q '^CUDA error' err || fail "a peer without room for it: no honest error"
# A trace of each.
SIMGPU_DEVICES=2 "$SPILLWAY" profile -o two.trace "$DEVICES" --devices 2 >out 2>err || fail "profile: status $?"
for trace in two.trace two.gpu1.trace; do
    "$SPILLWAY" report "$trace" >text && grep -q 'mix' text || fail "$trace is not a trace of its device"
done
exit $failed
