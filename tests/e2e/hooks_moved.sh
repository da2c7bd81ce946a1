#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a program sees of buffers that are out: the same as of buffers that are there. And the settings
# of the hook layer.
. "$SRC/tests/hooks/build.sh"
failed=0
export LD_LIBRARY_PATH="$BUILD/simgpu"
build() { # NAME
    # shellcheck disable=SC2086
    $CC -std=c11 $INC -O1 -g -Wall -Wextra -Wno-deprecated-declarations -o "$1" "$HOOKS/sim/$1.c" -L"$BUILD/simgpu" -lcuda -lpthread || exit 1
}
ok() { echo "ok $1"; }
bad() { echo "not ok $1"; failed=1; }
check() { if [ "$1" = "$2" ]; then ok "$3"; else bad "$3: '$1', not '$2'"; fi; }

for program in moved_out own_segments moved_graphs; do
    build $program
    ./$program >bare || { cat bare; bad "$program fails without the library"; exit 1; }
    for mem in 64MiB 20MiB 16MiB; do
        SPILLWAY_GPU_MEM=$mem LD_PRELOAD=$BUILD/libspillway.so SIMGPU_REPORT=$program.$mem ./$program >"$mem" 2>err
        if [ $? -eq 0 ] && cmp bare "$mem"; then ok "$program: the same within $mem"; else bad "$program: not the same within $mem"; diff bare "$mem" | head; cat err; fi
    done
done
# WSL2: memory cannot be made accessible while other work is queued. Asked again when that is done.
if SPILLWAY_GPU_MEM=16MiB LD_PRELOAD=$BUILD/libspillway.so SIMGPU_FAIL='cuMemSetAccess:3=600,cuMemSetAccess:9=600' ./moved_out >again 2>err &&
    ./moved_out >bare && cmp bare again; then ok "access that is not ready is asked for again"; else bad "not ready: $(cat err)"; fi
peak=$(jq .peak_physical_bytes moved_out.16MiB)
if [ "$peak" -le $((16 << 20)) ]; then ok "the budget held, memory of pools included"; else bad "peak $peak"; fi

build settings
run() { LD_PRELOAD=$BUILD/libspillway.so env "$@" ./settings 2>err; }
check "$(run SPILLWAY_GPU_MEM=32MiB)" "before 32 32, after 28 32, ipc 1" "cuMemGetInfo tells of the budget, IPC is refused"
grep -q 'SPILLWAY_PIN=size:4194304' err && ok "the refusal says how to keep the buffer" || bad "the refusal says nothing"
check "$(run SPILLWAY_GPU_MEM=32MiB SPILLWAY_MEM_INFO=real | sed 's/before \([0-9]*\) \1.*/same/')" same "or of the card"
check "$(run SPILLWAY_GPU_MEM=32MiB SPILLWAY_PIN=size:4MiB)" "before 32 32, after 32 32, ipc 0" "a pinned size is left to the driver"
check "$(run SPILLWAY_GPU_MEM=32MiB SPILLWAY_PIN=size:1MiB-2MiB,size:3MiB-5MiB)" "before 32 32, after 32 32, ipc 0" "a range of sizes too"

# By who allocates: a function, a library. Without a way to walk stacks, nothing that may be meant is moved.
# shellcheck disable=SC2086
$CC -std=c11 $INC $WARN -shared -o liballocating.so "$HOOKS/company/allocating.c" || exit 1
# shellcheck disable=SC2086
$CC -std=c11 $INC -O1 -g -Wall -Wextra -rdynamic -o sites "$HOOKS/sim/sites.c" -L"$BUILD/simgpu" -lcuda -ldl || exit 1
sites() { LD_PRELOAD=$BUILD/libspillway.so SPILLWAY_GPU_MEM=32MiB env "$@" ./sites ./liballocating.so 2>err; }
check "$(sites SPILLWAY_PIN=)" "0 0 0" "no rule, all is managed"
check "$(sites SPILLWAY_PIN='site:*_cache')" "0 1 0" "a function's allocations are left to the driver"
check "$(sites SPILLWAY_PIN='site:liballoc*')" "0 0 1" "a library's too"
check "$(sites SPILLWAY_PIN='site:nobody')" "0 0 0" "a rule that names nobody"
grep -q 'SPILLWAY_PIN=site:PATTERN' err && ok "the refusal names the rule" || bad "the refusal does not name the rule"
mkdir -p nounwind && $CC -shared -o nounwind/libunwind.so.8 -x c /dev/null || exit 1
check "$(LD_LIBRARY_PATH=$PWD/nounwind:$LD_LIBRARY_PATH sites SPILLWAY_PIN='site:nobody')" "1 1 1" "without libunwind nothing is moved"
check "$(grep -c 'stacks cannot be walked' err)" 1 "and that is said once"

bare=$(./settings)
check "$(run SPILLWAY_GPU_MEM=32MiB SPILLWAY_SKIP='x,sett*')" "$bare" "SPILLWAY_SKIP"
check "$(run SPILLWAY_GPU_MEM=32MiB SPILLWAY_ONLY=python)" "$bare" "SPILLWAY_ONLY, another program"
check "$(run SPILLWAY_GPU_MEM=32MiB SPILLWAY_ONLY='python,?ettings')" "before 32 32, after 28 32, ipc 1" "SPILLWAY_ONLY, this program"
check "$(run SPILLWAY_GPU_MEM=32MiB SPILLWAY_PIN=4MiB)" "$bare" "a rule that is none turns it off"
grep -q 'SPILLWAY_PIN=4MiB: expected' err && ok "and is named" || bad "and is not named"
run SPILLWAY_GPUMEM=32MiB >/dev/null
check "$(grep -c 'SPILLWAY_GPUMEM is not a setting; did you mean SPILLWAY_GPU_MEM?' err)" 1 "a misspelt setting is named once"
run SPILLWAY_ZZZZZZZZZZZZ=1 >/dev/null
check "$(grep -c 'SPILLWAY_ZZZZZZZZZZZZ is not a setting$' err)" 1 "nothing near, nothing meant"

# By kernel: what it touches stays, and the rest still moves.
steps="$BUILD/tests/victims/steps --steps 10 --layers 3"
$steps >bare
SPILLWAY_PIN='kernel:*update*' SPILLWAY_OUTPUT=$PWD/pin.trace SPILLWAY_GPU_MEM=34MiB SPILLWAY_PLAN_WAIT=20000 LD_PRELOAD=$BUILD/libspillway.so $steps >out 2>err
check "$(cmp bare out && "$BUILD/spillway" report pin.trace --format json | jq -c '[.buffers[].pinned] | map(select(. == "by request")) | length')" 6 "what a kernel touches stays"
grep -q 'moving [1-9]' err && ok "and the rest moves" || bad "nothing moves: $(cat err)"

# Addresses that came to the device by every kind of copy, to where contents are not searched.
for how in plain default async plane cube batch symbol; do
    SIMGPU_MEM=64MiB "$BUILD/tests/victims/tables" $how 16 >bare
    [ $? -eq 77 ] && { echo "skip $how: not in these headers"; continue; }
    SPILLWAY_GPU_MEM=34MiB SPILLWAY_PLAN_WAIT=20000 LD_PRELOAD=$BUILD/libspillway.so "$BUILD/tests/victims/tables" $how 16 >out 2>err
    if cmp bare out && [ -s out ] && grep -q 'moving [1-9]' err; then ok "a table that came by a copy, $how"; else bad "table, $how: $(cat err)"; fi
done

build early_exit
for how in "" signal; do
    # shellcheck disable=SC2086
    LD_PRELOAD=$BUILD/libspillway.so SPILLWAY_GPU_MEM=16MiB SPILLWAY_VERBOSE=1 timeout 20 ./early_exit $how >out 2>&1
    check "$? $(cat out)" "$([ -n "$how" ] && echo 6 || echo 5) " "an exit while copies and threads run ${how:+by a }$how"
done
exit $failed
