#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Activations from cudaMallocAsync to cudaFreeAsync, on one stream, and with scratch memory that two streams
# take and free beside each other: in about half and a third of its need the output is that with ample memory,
# in several orders, nothing touches memory that another stream may still use, and a replayed step neither
# manages memory nor waits (nor do those that are timed for a better plan, which make events once).
. "$SRC/tests/helpers.sh"
STEPS=$BUILD/tests/victims/steps

# run NAME MEM SEED OPTIONS...: into NAME.out, NAME.err and NAME.json.
run() {
    name=$1 mem=$2 seed=$3
    shift 3
    SIMGPU_SEED=$seed SIMGPU_MEM=$mem SIMGPU_REPORT=$name.json "$SPILLWAY" run "$STEPS" "$@" >$name.out 2>$name.err ||
        fail "$name, seed $seed, $*: exit status $?: $(tail -n 1 $name.err)"
    same "$*, $mem, seed $seed" $name.out
    [ "$(report $name.json .peak_physical_bytes)" -le "$mem" ] || fail "$name, seed $seed, $*: peak"
}

for options in --async '--async --streams'; do
    for steps in 11 12; do
        # shellcheck disable=SC2086 # a list
        SIMGPU_REPORT=alone.$steps.json "$STEPS" $options --steps $steps >ample.$steps || fail "fails with ample memory"
    done
    NEED=$(report alone.12.json .peak_physical_bytes)
    for percent in 50 35; do
        for steps in 11 12; do
            cp ample.$steps ample.out
            # shellcheck disable=SC2086
            SPILLWAY_FEEDBACK=0 run $steps "$(share $percent)" $((steps + percent)) $options --steps $steps
            grep -q " $((steps - 4)) iterations replayed" $steps.err || fail "$steps steps: $(grep replayed $steps.err)"
        done
        [ "$(report 11.json .calls_memory_management)" -eq "$(report 12.json .calls_memory_management)" ] &&
            echo "ok no memory management" || fail "a step manages memory"
        one_step alone.11.json alone.12.json >alone
        one_step 11.json 12.json >ours
        nothing_more alone ours 'StreamWaitEvent|EventRecord|EventElapsedTime|CtxGetCurrent|StreamIsCapturing|Memcpy(DtoH|HtoD)Async_v2'
        grep -q '^cuMemFreeAsync' alone || fail "the victim frees nothing in stream order"
        grep -q '^cuMemFreeAsync' ours && fail "memory is left to the driver"
    done
    # The check for races is slow: fewer layers. 8 steps are the least that reach a replayed one.
    few="$options --layers 5 --steps 8"
    # shellcheck disable=SC2086
    SIMGPU_RACES=fatal SIMGPU_REPORT=few.json "$STEPS" $few >ample.out || fail "fails with ample memory"
    NEED=$(report few.json .peak_physical_bytes)
    for seed in 1 2 3; do
        # shellcheck disable=SC2086
        SIMGPU_RACES=fatal run late "$(share 50)" $seed $few
        grep -q ' [1-9] iterations replayed' late.err || fail "seed $seed: $(grep replayed late.err)"
    done
done
# Steps that are not as planned, and more memory than needed: where nothing is planned the order of the frees counts.
"$STEPS" --async --streams --steps 30 --eval 7 --small 11 --threads >ample.out || fail "fails with ample memory"
run bent $((44 * MIB)) 4 --async --streams --steps 30 --eval 7 --small 11 --threads
run ample $((256 * MIB)) 5 --async --streams --steps 30 --eval 7 --small 11 --threads
"$STEPS" --async --streams --steps 3 --layers 5 >ample.out || fail "fails with ample memory"
SIMGPU_RACES=fatal run ample $((256 * MIB)) 6 --async --streams --steps 3 --layers 5
# Scratch memory of cudaMalloc that is freed in stream order: any stream may use it at once.
"$STEPS" --async --streams --mixed --layers 5 --steps 9 >ample.out || fail "fails with ample memory"
for mem in 30 256; do
    SIMGPU_RACES=fatal run mixed $((mem * MIB)) $mem --async --streams --mixed --layers 5 --steps 9
done
# Reports show such buffers like any others, call site included.
"$SPILLWAY" profile -q -o steps.trace "$STEPS" --async --steps 6 >/dev/null || fail "profile: exit status $?"
"$SPILLWAY" report steps.trace --format csv >csv
[ "$(grep -c ',iteration,.*"cudaMallocAsync' csv)" -eq 10 ] && echo "ok buffers in a report" || fail "$(cut -d, -f5,15- csv | sort | uniq -c)"
exit $failed
