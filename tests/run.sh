#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tests, two at a time, each with a time limit and a log of its own.
#
#   tests/run.sh [-j N] [--update] [--list] [PATTERN...]
#
# A pattern is a shell pattern for names such as unit/size, cli/help or e2e/seeds; without one, all run.
# --update rewrites the exact goldens of the command-line cases (look at the difference afterwards).
# BUILD names the build folder (default: build). Ends with "N passed, N failed, N skipped"; status 1 if
# any failed, also when nothing ran at all.
set -u
SRC=$(cd "$(dirname "$0")/.." && pwd)
BUILD=${BUILD:-$SRC/build}
mkdir -p "$BUILD/tests" || exit 2
BUILD=$(cd "$BUILD" && pwd)
export SRC BUILD
jobs=2 list=0
SPILL_TEST_UPDATE=0
while [ $# -gt 0 ]; do
    case $1 in
    -j) jobs=$2; shift ;;
    --update) SPILL_TEST_UPDATE=1 ;;
    --list) list=1 ;;
    -*) echo "usage: tests/run.sh [-j N] [--update] [--list] [PATTERN...]" >&2; exit 64 ;;
    *) break ;;
    esac
    shift
done
export SPILL_TEST_UPDATE

# The long ones first, so that both processors are busy to the end.
all_tests() {
    [ ! -x "$SRC/tests/simgpu/run" ] || echo simgpu/run
    for file in "$SRC"/tests/e2e/*.sh "$SRC"/tests/structure/*.sh; do
        [ -f "$file" ] || continue
        name=${file#"$SRC"/tests/}
        echo "${name%.sh}"
    done
    for file in "$SRC"/tests/unit/*.c; do
        [ -f "$file" ] && echo "unit/$(basename "$file" .c)"
    done
    for dir in "$SRC"/tests/cli/*/; do
        [ -f "$dir/cmd" ] && echo "cli/$(basename "$dir")"
    done
}

wanted() {
    while read -r name; do
        [ $# -gt 0 ] || { echo "$name"; continue; }
        for pattern; do
            # shellcheck disable=SC2254 # it is a pattern
            case $name in
            $pattern) echo "$name"; break ;;
            esac
        done
    done
}

if [ $list -eq 1 ]; then
    all_tests | wanted "$@"
    exit 0
fi
results=$BUILD/tests/results
rm -rf "$results" "$BUILD/tests/scratch"
mkdir -p "$results" "$BUILD/tests/scratch" "$BUILD/tests/logs"
all_tests | wanted "$@" | xargs -P "$jobs" -n 1 "$SRC/tests/one.sh"

# Each result file holds "passed failed skipped".
cat "$results"/* 2>/dev/null | awk '
    { p += $1; f += $2; s += $3; n++ }
    END {
        if (n == 0) print "no test was run"
        printf "%d passed, %d failed, %d skipped\n", p, f, s
        exit f > 0 || n == 0
    }'
