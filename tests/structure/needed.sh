#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A preloaded object whose own needs are missing kills its host, and what it brings along is one more thing to
# collide with: the library may need nothing but libc and the loader.
readelf -d "$BUILD/libspillway.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >needed
cat needed
test -s needed && ! grep -v -x -e 'libc\.so\.6' -e 'ld-linux-x86-64\.so\.2' needed
