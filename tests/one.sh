#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs one test, named as tests/run.sh lists it; prints one line, and the end of its log if it failed.
#
# A test passes with status 0, is skipped with 77, fails with anything else. One that prints lines "ok
# NAME", "not ok NAME" or "skip NAME" (TAP will do) counts as that many tests.
# A script sets its own time limit, in seconds, by a line "# timeout: N".
set -u
name=$1
log=$BUILD/tests/logs/$(echo "$name" | tr / -).log
scratch=$BUILD/tests/scratch/$(echo "$name" | tr / -)
limit=120

case $name in
unit/*) set -- "$BUILD/tests/$name" ;;
simgpu/run) set -- "$SRC/tests/simgpu/run" "$BUILD"; limit=600 ;;
cli/*) set -- sh "$SRC/tests/clicase.sh" "$SRC/tests/$name" ;;
*) set -- sh "$SRC/tests/$name.sh" ;;
esac
own=$(sed -n 's/^# timeout: \([0-9]*\)$/\1/p' "$SRC/tests/$name.sh" 2>/dev/null)
limit=${own:-$limit}

mkdir -p "$scratch"
export CMOCKA_MESSAGE_OUTPUT=TAP LC_ALL=C
start=$(date +%s)
# Settings of the user's shell must not reach the tests.
for variable in $(env | sed -n 's/^\(SPILLWAY_[A-Z_]*\|SIMGPU_[A-Z_]*\|LD_PRELOAD\)=.*/\1/p'); do
    unset "$variable"
done
(cd "$scratch" && exec timeout -k 5 "$limit" "$@") >"$log" 2>&1 </dev/null
status=$?
took=$(($(date +%s) - start))

counts=$(awk '
    /^ok .*# *[Ss][Kk][Ii][Pp]/ || /^not ok .*# *[Ss][Kk][Ii][Pp]/ || /^skip / { s++; next }
    /^ok / { p++ }
    /^not ok / { f++ }
    END { printf "%d %d %d\n", p, f, s }' "$log")
set -- $counts
case $status in
0 | 77) [ "$counts" != "0 0 0" ] || { [ $status -eq 0 ] && set -- 1 0 0 || set -- 0 0 1; } ;;
*) [ "$2" -gt 0 ] || set -- "$1" $(($2 + 1)) "$3" ;;
esac
echo "$*" >"$BUILD/tests/results/$(echo "$name" | tr / -)"

case $status in
124 | 137) why=" (stopped after $limit s, or killed)" ;;
*) why= ;;
esac
if [ "$2" -gt 0 ]; then
    # In one write, or two failing tests would mix their lines.
    printf '%s\n' "FAIL  $name$why  $took s; $log:
$(grep -v '^ok ' "$log" | tail -n 25 | sed 's/^/      | /')"
elif [ "$1" -eq 0 ]; then
    echo "skip  $name  $(sed -n 's/^skip *//p' "$log" | head -n 1)"
else
    echo "pass  $name  ($1) $took s"
fi
rm -rf "$scratch"
exit 0
