#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# A network whose steps are CUDA graphs, in less memory than it needs: a launch is one operation that touches
# what the graph's nodes touch, so what no graph touches leaves meanwhile. However graphs are captured, changed
# and made anew, outputs are those without graphs, under several orders of execution; the card is never fuller
# than it is; and plans are replayed. Unordered accesses are fatal where looking for them is affordable.
. "$SRC/tests/helpers.sh"
TRAIN="$BUILD/tests/victims/graph_train --mib 2"

# ample OPTIONS: ample.out, which the step without graphs gives as well, and NEED.
ample() {
    # shellcheck disable=SC2086 # TRAIN is a command with its options
    SIMGPU_REPORT=ample.json $TRAIN $1 >ample.out || fail "$1: fails with ample memory"
    NEED=$(report ample.json .peak_physical_bytes)
    # shellcheck disable=SC2086
    $TRAIN $1 --plain >out || fail "$1: fails without graphs"
    same "$1: as without graphs" out
}

# within OPTIONS PERCENT SEED LEAST: LEAST iterations are replayed, at least.
within() {
    budget=$(share "$2")
    # shellcheck disable=SC2086
    SIMGPU_SEED=$3 SIMGPU_RACES=$races SIMGPU_MEM=$budget SIMGPU_REPORT=report.json SPILLWAY_STATS=stats.json \
        "$SPILLWAY" run $TRAIN $1 >out 2>err || fail "$1, $2 %: exit status $?: $(tail -n 3 err)"
    same "$1: $2 %, order $3" out
    peak=$(report report.json .peak_physical_bytes)
    [ "$peak" -le "$budget" ] || fail "$1, $2 %: peak $peak above $budget"
    replayed=$(report stats.json '[.devices[0].plans[].replayed] | add // 0 | tostring')
    [ "$replayed" -ge "$4" ] || fail "$1, $2 %: $replayed iterations replayed"
    grep -q 'stays resident' err && fail "$1, $2 %: $(grep 'stays resident' err)"
}

try() { # OPTIONS PERCENT LEAST
    races=
    ample "$1"
    within "$1" "$2" 1 "$3"
    within "$1" "$2" 9 "$3"
}
ordered() { # OPTIONS PERCENT LEAST: with half the layers
    races=fatal
    ample "$1 --layers 4"
    within "$1 --layers 4" "$2" 4 "$3"
}

try "--steps 22" 77 6
within "--steps 22" 76 3 6
try "--steps 22 --parts 2 --fork" 50 6
within "--steps 22 --parts 2 --fork" 75 3 6
try "--steps 22 --one" 82 6          # the smallest in which its only graph fits
within "--steps 22 --one --nest" 82 3 6
try "--steps 22 --anew --parts 2" 55 6
try "--steps 26 --parts 3 --params" 50 1 # two steps are an iteration
try "--steps 24 --parts 2 --alloc" 60 6
try "--steps 26 --parts 2 --nodes" 60 1
try "--steps 24 --parts 2 --host" 60 6
# Captured again for other buffers, with other work beside the captures: the plan is left, nothing is lost.
try "--steps 24 --parts 2 --again 11 --beside" 60 1
within "--steps 24 --parts 2 --again 11 --beside --thread" 60 4 1
# An address that a graph copies to the device becomes another buffer's while a plan runs.
try "--steps 24 --parts 2 --table 20" 62 6

ordered "--steps 18 --parts 2 --fork" 60 2
ordered "--steps 18 --parts 2 --alloc" 68 2
ordered "--steps 20 --parts 2 --again 9 --beside" 64 1

# A replayed step makes no call of memory management.
for steps in 22 23; do
    # shellcheck disable=SC2086
    SIMGPU_MEM=40MiB SIMGPU_REPORT=$steps.json "$SPILLWAY" run -q $TRAIN --parts 2 --steps $steps >out || fail "$steps steps: exit status $?"
    report $steps.json .calls_memory_management >calls.$steps
    report $steps.json .calls.cuCtxSynchronize >waits.$steps
done
cmp calls.22 calls.23 && cmp waits.22 waits.23 && echo "ok no memory is managed in a replayed step" || fail "calls of a step"

# What kernels of a graph touch stays, if a setting says so: weights, moments and gradients.
ample "--steps 22 --layers 4 --parts 2"
# shellcheck disable=SC2086
SPILLWAY_PIN='kernel:*descend*' SPILLWAY_OUTPUT=pin.trace SIMGPU_MEM=$(share 80) "$SPILLWAY" run -q $TRAIN --steps 22 --layers 4 --parts 2 >out || fail "pinned: exit status $?"
same "pinned by a kernel's name" out
"$SPILLWAY" report --format json pin.trace >json || fail "pinned: no report"
pinned=$(report json '[.buffers[] | select(.pinned == "by request")] | length')
[ "$pinned" -eq 12 ] && report json '[.ops[] | select(.kind == "graph")] | length == 6' >/dev/null && echo "ok 12 buffers are pinned" || fail "$pinned buffers pinned"

# A graph that does not fit ends in CUDA's own error, and a line that says why.
# shellcheck disable=SC2086
SIMGPU_MEM=44MiB "$SPILLWAY" run $TRAIN --one --steps 4 >out 2>err
status=$?
[ $status -eq 1 ] && grep -q '^CUDA error: out of memory' err && grep -q 'one op needs 52.0 MiB of buffers at once' err &&
    echo "ok a graph that does not fit" || fail "a graph that does not fit: status $status: $(cat err)"

# What a graph does not tell: all is brought back and stays, or the launch is refused; never a wrong line.
races=
ample "--steps 6 --layers 4"
all_stays() { # WHAT OPTIONS
    # shellcheck disable=SC2086
    SIMGPU_MEM=64MiB "$SPILLWAY" run $TRAIN --steps 6 --layers 4 $2 >out 2>err || fail "$1: status $?: $(tail -n 2 err)"
    same "$1" out
    grep -q 'everything stays resident' err || fail "$1: nothing said"
    # shellcheck disable=SC2086
    SIMGPU_MEM=36MiB "$SPILLWAY" run -q $TRAIN --steps 6 --layers 4 $2 >out 2>err
    status=$?
    [ $status -eq 1 ] && grep -q '^CUDA error: out of memory\|^CUDA error 2:' err && head -c "$(wc -c <out)" ample.out | cmp -s - out ||
        fail "$1 in 36 MiB: status $status: $(tail -n 2 err)"
}
for call in cuGraphKernelNodeGetParams_v2:3 cuGraphNodeGetType:1 cuGraphGetNodes:2 cuGraphMemcpyNodeGetParams:1; do
    export SIMGPU_FAIL=$call
    all_stays "$call fails"
done
unset SIMGPU_FAIL
all_stays "launched by the device" --device
all_stays "changed by the device" --updatable

# Each call that captures and graphs make of ours fails once: the same output, or an honest error after correct lines.
ample "--steps 12 --layers 4 --parts 2 --again 3 --beside"
went_on=0 gave_up=0
for call in cuStreamIsCapturing cuThreadExchangeStreamCaptureMode cuEventSynchronize cuEventCreate cuEventRecord cuCtxSynchronize \
    cuMemMap cuMemcpyDtoHAsync_v2 cuStreamSynchronize cuGraphLaunch cuGraphExecUpdate_v2 cuGraphInstantiateWithFlags; do
    for nth in 2 13; do
        # shellcheck disable=SC2086
        SIMGPU_FAIL=$call:$nth SIMGPU_MEM=44MiB timeout 60 "$SPILLWAY" run -q $TRAIN --steps 12 --layers 4 --parts 2 --again 3 --beside >out 2>err
        status=$?
        if [ $status -eq 0 ]; then
            cmp -s ample.out out || fail "$call:$nth: wrong output"
            went_on=$((went_on + 1))
        else
            [ $status -eq 1 ] && grep -q '^CUDA error' err && head -c "$(wc -c <out)" ample.out | cmp -s - out ||
                fail "$call:$nth: status $status: $(tail -n 2 err)"
            gave_up=$((gave_up + 1))
        fi
    done
done
echo "# $went_on went on, $gave_up got an error"
[ $went_on -ge 6 ] && [ $gave_up -ge 6 ] || fail "$went_on went on, $gave_up got an error"
[ $failed -ne 0 ] || echo "ok every fault is survived or reported"
exit $failed
