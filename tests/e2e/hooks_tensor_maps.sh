#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Buffers that kernels reach through tensor maps alone. Maps that launches carry move like others, and
# their launches wait for them; maps that lie elsewhere keep their buffers where they are.
. "$SRC/tests/helpers.sh"
victim=$BUILD/tests/victims/tensor_maps
export SPILLWAY_PLAN_WAIT=20000

# WHERE MEM: out and err of a run that must print what it prints without the library.
runs() {
    "$victim" "$1" 16 >bare || { fail "$1: alone: status $?"; return 1; }
    SPILLWAY_GPU_MEM=$2 LD_PRELOAD=$BUILD/libspillway.so "$victim" "$1" 16 >out 2>err || { fail "$1: status $?: $(cat err)"; return 1; }
    cmp bare out || { fail "$1: other sums"; return 1; }
    grep -q ' [1-9][0-9]* iterations replayed' err || { fail "$1: not replayed: $(cat err)"; return 1; }
}
# 24 MiB are reached through maps, 24 MiB by their addresses.
for where in parameter inside again replaced; do
    runs $where 22MiB || continue
    # More than all that has no map had to move.
    moved=$(sed -n 's/.*moving [0-9.]* MiB of \([0-9]*\) buffers.*/\1/p' err)
    if [ "${moved:-0}" -gt 12 ]; then echo "ok maps in parameters, $where"; else fail "$where: only ${moved:-0} buffers move"; fi
done
for where in constant host; do
    runs $where 36MiB || continue
    moved=$(sed -n 's/.*moving [0-9.]* MiB of \([0-9]*\) buffers.*/\1/p' err)
    if [ "${moved:-99}" -le 12 ]; then echo "ok maps elsewhere stay, $where"; else fail "$where: $moved buffers move"; fi
done

# Where they cannot all stay, that is said, and nothing is computed from other data.
SPILLWAY_GPU_MEM=22MiB LD_PRELOAD=$BUILD/libspillway.so "$victim" constant >out 2>err && fail "it cannot have worked"
grep -q 'must stay resident, and they do not fit' err && echo "ok too many to stay" || fail "not told: $(cat err)"
exit $failed
