#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A Python program's allocations show their Python frames, whether the call keeps the GIL or not and on any thread,
# where the interpreter offers them; elsewhere native frames. Every interpreter that is here is tried.
. "$SRC/tests/helpers.sh"
script=$SRC/tests/victims/py_steps.py
tried=0
for python in python3 /usr/bin/python3 "$HOME"/.pyenv/versions/*/bin/python3; do
    version=$("$python" -c 'import sys, ctypes; print(sys.version_info[0] * 100 + sys.version_info[1])' 2>/dev/null) || continue
    [ "$version" -ge 306 ] || continue
    offered=$("$python" -c 'import ctypes; print(hasattr(ctypes.CDLL(None), "_Py_DumpTraceback"))')
    for how in CDLL PyDLL "CDLL THREAD"; do
        [ "$how" = CDLL ] || [ $tried -lt 3 ] || continue # once in all ways is enough
        what="$("$python" -V) ($python), $how"
        # shellcheck disable=SC2086 # a list
        "$python" "$script" $how >ample.out || { fail "$what fails alone"; continue; }
        # shellcheck disable=SC2086
        "$SPILLWAY" profile -f -o trace -- "$python" "$script" $how >out 2>err || { fail "$what: exit status $?: $(tail -n 3 err)"; continue; }
        same "$what: output unchanged" out
        "$SPILLWAY" report --format json trace >json || { fail "$what: no report"; continue; }
        if [ "$offered" = True ]; then
            # The stack of a weight and of an activation, from the allocation to the script's last line.
            weight=$(report json '[.buffers[] | select(.bytes == 4194304)][0].site | map(select(test(" in py_steps.py$"))) | map(sub(":[0-9]+ in.*"; "")) | join(" ")')
            activation=$(report json '[.buffers[] | select(.bytes == 2097152)][0].site | map(select(test(" in py_steps.py$"))) | map(sub(":[0-9]+ in.*"; "")) | join(" ")')
            case "$weight;$activation" in
            *"call __init__ "*make_weights*train*";call __init__ forward train "*) echo "ok $what" ;;
            *) fail "$what: $weight; $activation" ;;
            esac
            grep -q '^ *at call:[0-9]* in py_steps.py' err || fail "$what: not in the summary: $(cat err)"
        else
            report json '[.buffers[].site | length > 0] | all' >/dev/null && echo "ok $what: native frames" || fail "$what: no native frames"
        fi
        tried=$((tried + 1))
    done
done
[ $tried -gt 0 ] || { echo "skip no Python with ctypes"; exit 77; }
exit $failed
