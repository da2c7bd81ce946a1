#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No malloc of the host's inside a hook, once started. And what the library costs a program that never
# uses CUDA.
. "$SRC/tests/hooks/build.sh"
failed=0
mkdir -p null
# shellcheck disable=SC2086
$CC -std=c11 $INC $WARN -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -o null/libcuda.so.1 "$SRC/tests/bench/nulldriver.c" || exit 1
# shellcheck disable=SC2086
$CC -std=gnu11 $INC -O1 -g -Wall -Wextra -rdynamic -o nomalloc "$HOOKS/nomalloc.c" -Lnull -l:libcuda.so.1 || exit 1
export LD_LIBRARY_PATH="$PWD/null"
run() { # NAME SETTING...
    name=$1
    shift
    if env "$@" LD_PRELOAD="$BUILD/libspillway.so" timeout 60 ./nomalloc >out 2>err && grep -q ran out; then
        echo "ok nomalloc $name"
    else
        echo "not ok nomalloc $name"; head -n 14 err; failed=1
    fi
}
run off SPILLWAY_MODE=off
run profile SPILLWAY_MODE=profile SPILLWAY_OUTPUT="$PWD/t.trace"
run fits SPILLWAY_MODE=offload
run sites SPILLWAY_GPU_MEM=160MiB SPILLWAY_PIN=site:nobody
run replay SPILLWAY_GPU_MEM=160MiB
if grep -q ' [1-9][0-9]* iterations replayed' err; then echo "ok it did replay"; else echo "not ok it did not replay"; cat err; failed=1; fi

# What /bin/true costs with the library beyond what it costs without: loading one file (tests/bench/launch
# has the time).
$CC -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -o startup "$HOOKS/startup.c" || exit 1
bare=$(./startup "" /bin/true)
status=$?
with=$(./startup "$BUILD/libspillway.so" /bin/true)
if [ $status -eq 77 ]; then
    echo "skip /bin/true: no ptrace here"
else
    calls=$((${with% *} - ${bare% *})) pages=$((${with#* } - ${bare#* }))
    echo "# /bin/true: $calls system calls and $pages page faults more"
    if [ $calls -le 16 ] && [ $pages -le 64 ]; then echo "ok /bin/true is hardly dearer"; else echo "not ok /bin/true: $bare, with the library $with"; failed=1; fi
fi
exit $failed
