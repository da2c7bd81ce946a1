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
run replay SPILLWAY_GPU_MEM=160MiB
if grep -q ' [1-9][0-9]* iterations replayed' err; then echo "ok it did replay"; else echo "not ok it did not replay"; cat err; failed=1; fi

# What /bin/true costs with the library, and without: the least of some rounds, as others use this
# machine, in microseconds.
round() { # [PRELOAD]
    start=$(date +%s%N)
    i=0
    while [ $i -lt 50 ]; do LD_PRELOAD=${1-} /bin/true; i=$((i + 1)); done
    echo $((($(date +%s%N) - start) / 50000))
}
bare=1000000 with=1000000
for _ in 1 2 3 4 5 6 7 8; do
    took=$(round)
    [ "$took" -ge $bare ] || bare=$took
    took=$(round "$BUILD/libspillway.so")
    [ "$took" -ge $with ] || with=$took
done
echo "# /bin/true: $bare us bare, $with us with the library"
if [ $((with - bare)) -lt 1000 ]; then echo "ok /bin/true costs less than 1 ms more"; else echo "not ok /bin/true costs $((with - bare)) us more"; failed=1; fi
exit $failed
