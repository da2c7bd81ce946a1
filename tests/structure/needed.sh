#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A preloaded object whose own needs are missing kills its host: the library may need nothing but libc.
readelf -d "$BUILD/libspillway.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >needed
cat needed
test -s needed && ! grep -v -x -e 'libc\.so\.6' -e 'libm\.so\.6' -e 'ld-linux-x86-64\.so\.2' needed
