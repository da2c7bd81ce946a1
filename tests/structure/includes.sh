#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who may include whom (DESIGN, section 8). Each line below: the files, then what their #includes of our
# own files may begin with, then what system headers they may not name.
cd "$SRC" || exit 1
bad=0
check() { # FILES ALLOWED FORBIDDEN
    # shellcheck disable=SC2086 # the patterns must expand
    found=$(grep -n '^ *# *include *"' $1 2>/dev/null | grep -v -E "include *\"($2)")
    # shellcheck disable=SC2086
    [ -z "$3" ] || found="$found$(grep -n -E "^ *# *include *<($3)" $1 2>/dev/null)"
    [ -z "$found" ] && return
    echo "$found"
    echo "  ^ allowed here: $2; not: <$3>"
    bad=1
}
cuda='cuda|nv'
check 'preload/base/*.[ch]' 'preload/base/' ''
check 'solver/*.[ch]' 'solver/|preload/base/' "$cuda|time\\.h|pthread|threads|unistd|sys/|dlfcn"
check 'profiler/*.[ch]' 'profiler/|preload/base/' ''
check 'replay/*.[ch]' 'replay/|solver/(plan|problem|solve|check|fromtrace)\.h|profiler/|preload/base/' ''
check 'preload/*.[chS]' 'preload/' ''
check 'tools/spillway/*.[ch]' 'tools/spillway/|profiler/tracefile\.h|solver/|preload/base/' "$cuda"
check 'tests/workloads/*.cu' 'nothing-of-ours' ''
ls solver/*.c profiler/*.c tools/spillway/*.c >/dev/null || bad=1
exit $bad
