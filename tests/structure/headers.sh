#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each header compiles alone.
bad=0 count=0
for header in "$SRC"/preload/base/*.h "$SRC"/preload/*.h "$SRC"/profiler/*.h "$SRC"/solver/*.h \
    "$SRC"/replay/*.h "$SRC"/tools/spillway/*.h; do
    [ -f "$header" ] || continue
    count=$((count + 1))
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror -D_GNU_SOURCE -I"$SRC" ${CUDA_INCLUDE:+-isystem "$CUDA_INCLUDE"} \
        -fsyntax-only -x c "$header" || bad=1
done
test $count -gt 10 || bad=1
exit $bad
