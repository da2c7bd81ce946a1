#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source file says its licence, which is the project's, and nothing of ours is or includes GPL code.
cd "$SRC" || exit 1
find preload profiler solver replay tools tests .ci Makefile -type f \( -name '*.[chS]' -o -name '*.cu' \
    -o -name '*.def' -o -name '*.awk' -o -name '*.sh' -o -name '*.mk' -o -name Makefile -o -path '.ci/run' \) \
    ! -path '*/vendor/*' >"$OLDPWD/files"
cd "$OLDPWD" || exit 1
bad=0
while read -r file; do
    [ -s "$SRC/$file" ] || continue
    head -n 5 "$SRC/$file" | grep -q 'SPDX-License-Identifier: Apache-2\.0' && continue
    echo "$file: no SPDX line"
    bad=1
done <files
test "$(wc -l <files)" -gt 50 || { echo "only $(wc -l <files) files found"; bad=1; }
(cd "$SRC" && xargs grep -l -E 'GNU (Lesser |Affero )?General Public|SPDX-License-Identifier:.*GPL' |
    grep -v '^tests/structure/licence\.sh$') <files && bad=1
exit $bad
