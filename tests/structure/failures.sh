#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each failure of tests/hooks/failures.txt names a test that is there, and a case that it has: a file of
# tests/hooks by that name that the test builds, or a word in the script.
table=$SRC/tests/hooks/failures.txt
bad=0
there() { # TEST [CASE]
    script=$SRC/tests/$1.sh
    [ -f "$SRC/tests/$1/cmd" ] && [ $# -eq 1 ] && return 0
    [ -f "$script" ] || return 1
    [ $# -eq 1 ] || grep -qF -e "$2" "$script" && return 0
    for folder in life company sim; do
        [ -f "$SRC/tests/hooks/$folder/$2.c" ] && grep -qF -e "\$HOOKS\"/$folder" -e "\$HOOKS/$folder" "$script" && return 0
    done
    grep -qF -e "$2" "$SRC"/tests/hooks/walk.cc && [ "$1" = e2e/hooks ]
}
grep -v '^#' "$table" >rows
while IFS= read -r row; do
    tests=${row#* :: }
    case $row in
    *' :: none: '?*) continue ;;
    *' :: '?*) ;;
    *) echo "no test: $row"; bad=1; continue ;;
    esac
    echo "$tests" | tr ',' '\n' >list
    while read -r test case; do
        # shellcheck disable=SC2086 # no case, no argument
        there "$test" ${case:+"$case"} || { echo "not there: $test $case"; bad=1; }
    done <list
done <rows
[ "$(wc -l <rows)" -ge 36 ] || { echo "rows are missing"; bad=1; }
there e2e/hooks_life no_such_case && { echo "this test finds what is not there"; bad=1; }
exit $bad
