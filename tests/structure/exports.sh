#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The library exports exactly the functions of hooks.def, dlsym and its kin, the program's mark and NVTX's way in.
lib=$BUILD/libspillway.so
{ sed -n 's/^SPILL_HOOK(\([^,]*\),.*/\1/p' "$SRC/preload/hooks.def"; printf "%s\n" dlsym dlvsym dlopen dlmopen spillway_iteration InitializeInjectionNvtx2; } | sort -u >wanted
nm -D --defined-only "$lib" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u >exported
test -s exported && diff wanted exported
