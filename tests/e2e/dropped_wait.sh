#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# Mutation: the simulator ignores the Nth wait for an event. Every wait that the replayer makes in one
# steady step is dropped in turn; a few seeds each must show that it was needed.
. "$SRC/tests/helpers.sh"
run_ample
exit $failed
