#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# A perceptron, a network with shortcuts and a transformer with Adam, the last two on two streams, in three
# quarters, half and 35 % of the memory they need: losses as with ample memory, no race, the budget kept,
# the plan followed. tests/bench/seeds does the same with 50 seeds.
exec "$SRC/tests/bench/seeds" 3 3
