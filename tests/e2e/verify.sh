#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# SPILLWAY_VERIFY=1 changes no output, compares moves, and finds none different.
. "$SRC/tests/helpers.sh"
STEPS="$BUILD/tests/victims/steps --steps 12"
$STEPS >ample.out || fail "fails with ample memory"
SPILLWAY_VERIFY=1 SIMGPU_MEM=44MiB "$SPILLWAY" run $STEPS >out 2>err || fail "exit status $?"
same verified out
grep -q 'verify: [1-9][0-9]* moves compared, 0 came back different' err || fail "$(tail -n 1 err)"
exit $failed
