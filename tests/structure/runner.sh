#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The runner itself: failures are counted, shown and make it fail; so does finding nothing to run.
mkdir -p tree/tests/e2e build
cp "$SRC/tests/run.sh" "$SRC/tests/one.sh" tree/tests/
echo 'exit 0' >tree/tests/e2e/good.sh
echo 'echo because; exit 3' >tree/tests/e2e/bad.sh
echo 'echo skip no reason; exit 77' >tree/tests/e2e/skipped.sh
printf 'echo ok 1 - a\necho not ok 2 - b\necho ok 3 - c\nexit 1\n' >tree/tests/e2e/several.sh
printf 'echo ok 1 - a\nkill -SEGV $$\n' >tree/tests/e2e/crash.sh
printf '# timeout: 1\nsleep 20\n' >tree/tests/e2e/slow.sh
BUILD=$PWD/build tree/tests/run.sh >out
status=$?
sed "s,^,  ," out
test $status -eq 1 || exit 1
test "$(tail -n 1 out)" = "4 passed, 4 failed, 1 skipped" || exit 1
grep -q 'because' out && grep -q 'stopped after 1 s' out || exit 1
BUILD=$PWD/build tree/tests/run.sh e2e/good | tail -n 1 | grep -qx '1 passed, 0 failed, 0 skipped' || exit 1
! BUILD=$PWD/build tree/tests/run.sh no/such >/dev/null
