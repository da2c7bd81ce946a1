#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# A page in the frame of another one that is needed shows. Some pairs; tests/bench/frames does all.
exec "$SRC/tests/bench/frames" 71
