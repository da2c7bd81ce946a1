#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# README's way from the demo to a report, each command as it is written there.
. "$SRC/tests/helpers.sh"
unset LD_LIBRARY_PATH
mkdir tree
ln -s "$SRC/tests" tree/tests
ln -s "$BUILD" tree/build
# The block of commands after the demo's output: what begins with a program of the build folder.
sed -n '/^## Try it/,/^## /p' "$SRC/README.md" | grep -E '^([A-Z_]+=[^ ]+ )*build/spillway ' >commands
[ "$(wc -l <commands)" -eq 2 ] && sed -n '/^## Try it/,/^## /p' "$SRC/README.md" | grep -qx 'make demo' ||
    fail "README has not three commands from clone to report: $(cat commands)"
(cd tree && sh -e ../commands) >out 2>err || { cat err; fail "exit status $?"; }
[ -s tree/mlp.trace ] && head -n 1 tree/mlp.html | grep -qi '^<!doctype html>' && grep -q '</html>' tree/mlp.html &&
    echo "ok a report" || { cat out err; ls -l tree; fail "no report"; }
exit $failed
