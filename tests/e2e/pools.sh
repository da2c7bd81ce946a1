#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# Memory pools: their figures, attributes of pointers, exportable pools, crosswise frees, errors, what a capture
# allocates and access for another device are as without us, at every budget. And what is plain memory of
# a device is managed: the driver is asked for the rest only.
. "$SRC/tests/helpers.sh"
POOLS=$BUILD/tests/victims/pools

# run MEM ALLOC FROM_POOL FREE OPTIONS...: that many of such calls reach the driver.
run() {
    mem=$1 calls=$2,$3,$4
    shift 4
    SIMGPU_RACES=fatal "$POOLS" "$@" >ample.out || fail "pools $*: fails alone"
    SIMGPU_SEED=$mem SIMGPU_RACES=fatal SIMGPU_REPORT=report.json "$SPILLWAY" run --gpu-mem ${mem}MiB "$POOLS" "$@" >out 2>err ||
        fail "pools $*, $mem MiB: exit status $?: $(tail -n 1 err)"
    same "pools $*, $mem MiB" out
    got=$(report report.json '.calls | "\(.cuMemAllocAsync),\(.cuMemAllocFromPoolAsync),\(.cuMemFreeAsync)"')
    [ "$got" = $calls ] || fail "pools $*, $mem MiB: $got calls reach the driver, not $calls"
}

# Three wrong calls of each kind of allocation, a free of nothing; the exportable pool's.
for mem in 64 20 16; do
    run $mem 3 4 2
    [ "$(report report.json .peak_physical_bytes)" -le $((mem * MIB)) ] || fail "$mem MiB: peak"
    run $mem 4 4 3 --capture
done
# The pool that is shared before it is used stays the driver's, the other one's memory stays where it is.
export SIMGPU_DEVICES=2
run 64 3 5 3 --peer
grep -q 'another device was given access' err || fail "nothing is said of the other device"
exit $failed
