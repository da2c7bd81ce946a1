#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The readers of files survive a few seconds of libFuzzer (make fuzz: as long as you like).
exec "$SRC/tests/fuzz/run" 5
