#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# LD_PRELOAD alone is enough: without the launcher, without any setting.
. "$SRC/tests/helpers.sh"
run_ample
SIMGPU_MEM=$(share 50) LD_PRELOAD=$BUILD/libspillway.so "$MLP" $FEW >out || fail "exit status $?"
same "preload alone" out
exit $failed
