#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Random iterations on streams of all kinds, two threads, events, host functions and frees, in less memory
# than they need: results as with ample memory, no race, in several orders. tests/bench/tangles with more.
exec "$SRC/tests/bench/tangles" 24 113 3
