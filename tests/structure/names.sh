#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A file name says which file: no two sources of the project share one, nor two of the simulated GPU,
# which is a program of its own. Nor do two headers share the name of a structure or an enumeration.
cd "$SRC" || exit 1
names() {
    find "$@" \( -name '*.[chS]' -o -name '*.cu' \) ! -path 'tools/simgpu/include/*' | sed 's|.*/||' | sort
}
twice=$(names tools/simgpu | uniq -d
    names preload profiler solver replay tools/spillway tests | uniq -d)
twice="$twice$(find preload profiler solver replay tools/spillway -name '*.h' -exec sed -nE 's/^(struct|enum) (spill_[a-z0-9_]+) \{.*/\2/p' {} + | sort | uniq -d)"
[ -z "$twice" ] || { echo "$twice"; exit 1; }
