#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The sources are as clang-format (14, Debian 12's) leaves them.
command -v clang-format >/dev/null || { echo "skip no clang-format"; exit 77; }
clang-format --version | grep -q 'version 14\.' || { echo "skip not clang-format 14"; exit 77; }
cd "$SRC" || exit 1
find preload profiler solver replay tools tests -name '*.[ch]' -o -name '*.cu' >"$OLDPWD/files"
bad=0
while read -r file; do
    clang-format --style=file "$file" | diff -u --label "$file" "$file" - || bad=1
done <"$OLDPWD/files"
exit $bad
