#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# A training loop written for speed (tests/victims/pipeline.cu) in little more than half its memory: results
# as with ample memory, no race, and steps replayed, with whatever keeps it in order.
. "$SRC/tests/helpers.sh"
PIPELINE="$BUILD/tests/victims/pipeline --steps 20"

# pipeline SEED OPTIONS...
pipeline() {
    seed=$1
    shift
    $PIPELINE "$@" >ample.out || fail "pipeline $*: fails with ample memory"
    # shellcheck disable=SC2086 # a list
    SIMGPU_SEED=$seed SIMGPU_RACES=fatal SIMGPU_MEM=36MiB SPILLWAY_PLAN_WAIT=60000 "$SPILLWAY" run $PIPELINE "$@" >out 2>err ||
        fail "pipeline $*: exit status $?: $(tail -n 1 err)"
    same "pipeline $*" out
    grep -q ' [3-9] iterations replayed' err || fail "pipeline $*: not replayed: $(tail -n 1 err)"
}

pipeline 1
pipeline 2 --legacy
pipeline 3 --own
pipeline 2 --fresh # destroyed streams count for who waits for the device
pipeline 1 --host  # cudaFree waits for host functions, too
pipeline 5 --legacy --own --host
pipeline 2 --branches 70
exit $failed
