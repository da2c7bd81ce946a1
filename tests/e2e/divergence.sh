#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Steps that are not as planned cost time, never a byte: each bend of tests/victims/steps.cu in less than
# its need, against ample memory; and replay is taken up again afterwards, or a longer iteration is found
# that holds the odd step and its neighbours.
. "$SRC/tests/helpers.sh"
STEPS=$BUILD/tests/victims/steps

# bend MEM REPLAYED OPTIONS...: the same output, and at least REPLAYED iterations replayed in all.
bend() {
    mem=$1 least=$2
    shift 2
    "$STEPS" "$@" >ample.out || fail "steps $*: fails with ample memory"
    SIMGPU_SEED=7 SIMGPU_MEM=$mem SIMGPU_REPORT=report.json "$SPILLWAY" run "$STEPS" "$@" >out 2>err ||
        fail "steps $*, $mem: exit status $?: $(tail -n 1 err)"
    same "steps $*, $mem" out
    replayed=$(sed -n 's/.* \([0-9]*\) iterations replayed.*/\1/p' err)
    [ "${replayed:-0}" -ge "$least" ] || fail "steps $*, $mem: only ${replayed:-0} iterations replayed"
    [ "$(report report.json .peak_physical_bytes)" -le $((${mem%MiB} * MIB)) ] || fail "steps $*: peak"
}

bend 50MiB 8 --steps 12
bend 36MiB 8 --steps 12
bend 50MiB 5 --steps 60 --eval 7
bend 36MiB 6 --steps 60 --small 5
bend 50MiB 8 --steps 60 --skip 4
bend 36MiB 25 --steps 40 --grow 12
bend 50MiB 10 --steps 20 --fail 9
bend 36MiB 8 --steps 60 --log 6
bend 50MiB 12 --steps 20 --streams
bend 36MiB 12 --steps 20 --threads
bend 44MiB 4 --steps 60 --eval 7 --small 11 --streams
# A pointer table in device memory, uploaded or written there by a kernel: what it points to is pinned, and
# the rest still moves.
bend 50MiB 15 --steps 30 --hide 9
bend 44MiB 10 --steps 20 --build 6
bend 38MiB 12 --steps 20 --build 1
# The same for what every step allocates anew: the pin is the next instance's, too.
bend 44MiB 20 --steps 30 --young 1
bend 36MiB 5 --steps 40 --young 1 --eval 7
exit $failed
