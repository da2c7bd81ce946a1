#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The table of hooks: complete against the headers, right in every row, and every row intercepted by
# every route. What should make it fail is tried, too.
. "$SRC/tests/hooks/build.sh"
failed=0
ok() { echo "ok $1"; }
bad() { echo "not ok $1"; failed=1; }

# Every function of the headers is hooked, or is listed with the reason why not, and not both.
accounted() { # HOOKS.DEF
    { sed -n 's/^SPILL_HOOK(\([^,]*\),.*/\1/p' "$1"; sed '/^#/d' "$HOOKS/unhooked.txt" | tr -s ' ' '\n'; } |
        grep . | sort | diff - "$GEN/symbols.txt"
}
accounted "$SRC/preload/hooks.def" && ok "every function of the headers is accounted for" || bad "functions unaccounted for"
sed '/^SPILL_HOOK(cuMemcpyPeerAsync,/d' "$SRC/preload/hooks.def" >removed.def
accounted removed.def >/dev/null && bad "a row removed is not noticed" || ok "a row removed is noticed"

# Versions, bases, streams and types of the rows.
rows() { # HOOKS.DEF
    mkdir -p rows/preload && cp "$1" rows/preload/hooks.def
    # shellcheck disable=SC2086
    $CC -std=c11 -DCUDA_VERSION=13000 -Irows $INC -Wall -Wextra -o rowcheck "$HOOKS/rows.c" && ./rowcheck
}
rows "$SRC/preload/hooks.def" && ok "rows agree with the headers" || bad "rows disagree with the headers"
for change in 's/cuMemAlloc, 3020, 0/cuMemAlloc, 3030, 0/' 's/cuCtxSynchronize, 2000, 13000/cuCtxSynchronize, 2000, 0/' \
    's/PFN_cuMemcpyBatchAsync_v13000,/PFN_cuMemcpyBatchAsync_v12080,/' 's/7000, 0, T, PFN_cuMemcpy_v/7000, 0, L, PFN_cuMemcpy_v/'; do
    sed "$change" "$SRC/preload/hooks.def" >changed.def
    cmp -s changed.def "$SRC/preload/hooks.def" && bad "no row to change: $change"
    rows changed.def >/dev/null && bad "not noticed: $change" || ok "a wrong row is noticed"
done

# All rows, all routes.
command -v "$CXX" >/dev/null || { echo "skip no C++ compiler"; exit $failed; }
make_fake_driver "$PWD/fake"
make_recording_library "$PWD/librec.so"
# shellcheck disable=SC2086
$CXX -std=c++17 $INC -O0 -g -fPIC -pie -Wall -Wextra -Wno-deprecated-declarations -o walk "$HOOKS/walk.cc" -Lfake -lcuda -ldl || exit 1
LD_LIBRARY_PATH=$PWD/fake LD_PRELOAD=$PWD/librec.so SPILLWAY_VERBOSE=0 ./walk || failed=1

# And on the simulated GPU, where every row must answer as it does without the library.
# shellcheck disable=SC2086
$CXX -std=c++17 $INC -O0 -g -fPIC -pie -Wall -Wextra -Wno-deprecated-declarations -o walk_sim "$HOOKS/walk_sim.cc" -L"$BUILD/simgpu" -lcuda -ldl || exit 1
export LD_LIBRARY_PATH=$BUILD/simgpu
./walk_sim >alone 2>/dev/null || bad "the simulated GPU alone: status $?"
LD_PRELOAD=$PWD/librec.so SPILLWAY_VERBOSE=0 ./walk_sim >with 2>err || { bad "not intercepted once"; grep -v '^simgpu' err | head; }
if [ "$(wc -l <alone)" -gt 1000 ] && cmp alone with; then ok "$(wc -l <with) calls on the simulated GPU"; else bad "other answers"; diff alone with | head; fi
exit $failed
