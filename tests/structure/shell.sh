#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shell scripts parse in the plain shell, and shellcheck has no error or warning where it is installed.
cd "$SRC" || exit 1
bad=0
files=$(find tools tests -name '*.sh'; echo .ci/run)
for file in $files; do
    sh -n "$file" || bad=1
done
if command -v shellcheck >/dev/null; then
    # Files to be sourced (SC2154) use what the one that sources them has set.
    # shellcheck disable=SC2086 # a list
    shellcheck -S warning -e SC2154 -s sh -x $files || bad=1
    shellcheck -S warning -x tests/gpu/run || bad=1
fi
exit $bad
