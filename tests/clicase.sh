#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs one command-line case and compares. A case is a folder with
#   cmd           a shell script; $SPILLWAY is the command, the current folder is the case's own
#   exit          the wanted exit status, 0 if the file is absent
#   stdout        the wanted output, exactly; empty if absent
#   stdout.glob   the same, each line a shell pattern; a line "..." stands for any further lines
#   stderr, stderr.glob   likewise
# The build folder's name reads BUILD in both outputs, the case's folder SCRATCH.
set -u
case_dir=$1
SPILLWAY=${SPILLWAY:-$BUILD/spillway}
SIMLIB=$BUILD/simgpu
export SPILLWAY SIMLIB case_dir
here=$(pwd)
mkdir work
(cd work && sh "$case_dir/cmd") >stdout.raw 2>stderr.raw
status=$?
for stream in stdout stderr; do
    sed "s|$here/work|SCRATCH|g; s|$BUILD|BUILD|g; s|$SRC|SRC|g" "$stream.raw" >"$stream"
done
[ $status -ne 77 ] || { echo "skip $(cat stdout)"; exit 77; }

matches() { # PATTERNS TEXT
    exec 3<"$1" 4<"$2"
    while IFS= read -r pattern <&3; do
        [ "$pattern" != "..." ] || { exec 3<&- 4<&-; return 0; }
        IFS= read -r line <&4 || return 1
        # shellcheck disable=SC2254 # it is a pattern
        case $line in
        $pattern) ;;
        *) return 1 ;;
        esac
    done
    ! IFS= read -r line <&4
}

bad=0
want=$(cat "$case_dir/exit" 2>/dev/null || echo 0)
if [ "$SPILL_TEST_UPDATE" = 1 ]; then
    [ $status -eq 0 ] && rm -f "$case_dir/exit" || echo $status >"$case_dir/exit"
elif [ "$status" != "$want" ]; then
    echo "exit status $status instead of $want"
    bad=1
fi
for stream in stdout stderr; do
    golden=$case_dir/$stream
    if [ -f "$golden.glob" ]; then
        matches "$golden.glob" $stream && continue
        echo "$stream does not match its patterns (<):"
        diff "$golden.glob" $stream
        bad=1
    elif [ "$SPILL_TEST_UPDATE" = 1 ]; then
        [ -s $stream ] && cp $stream "$golden" || rm -f "$golden"
    else
        [ -f "$golden" ] || golden=/dev/null
        diff -u "$golden" $stream || bad=1
    fi
done
exit $bad
