# SPDX-License-Identifier: Apache-2.0
# hooks.def -> the linker's version script: exactly the hooked names, the program's
# mark, NVTX's way in, and dlsym and its kin at glibc's
# versions so that programs linked against either find ours first.
BEGIN { print "SPILLWAY {\n  global:\n    spillway_iteration;\n    InitializeInjectionNvtx2;" }
/^SPILL_HOOK\(/ { sub(/^SPILL_HOOK\(/, ""); split($0, field, ","); print "    " field[1] ";" }
END { print "  local: *;\n};\nGLIBC_2.2.5 { };\nGLIBC_2.3.4 { } GLIBC_2.2.5;\nGLIBC_2.34 { } GLIBC_2.3.4;" }
