/* SPDX-License-Identifier: Apache-2.0 */
/* Our dlsym, dlvsym, dlopen and dlmopen, at the versions that programs are linked against. They must
 * end in a jump, not a call: glibc looks at its caller's return address, to know whose "next" is meant
 * by RTLD_NEXT and whose RPATH a library is looked for in. */
#if !defined(__x86_64__)
#error "spillway's trampolines exist for x86-64 only"
#endif
/* Offsets in struct spill_libc */
#define DLSYM   0
#define DLVSYM  8
#define DLOPEN  16
#define DLMOPEN 24

/* Keeps the three argument registers around a call of FUNCTION (which may look at the return address
 * on the stack); flags survive from there to END_ASIDE's end, for pops and lea do not change them. */
    .macro aside function, caller
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    movq 24(%rsp), \caller
    call \function\()@PLT
    .endm
    .macro end_aside
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    .endm

/* To the real function, or NULL where libc could not be read. */
    .macro onward offset
    movq spill_libc+\offset(%rip), %r11
    testq %r11, %r11
    jz 9f
    jmpq *%r11
9:  xorl %eax, %eax
    ret
    .endm

    .macro export name, default, old
    .globl spill_\name, spill_\name\()_old
    .type spill_\name, @function
    .type spill_\name\()_old, @function
    .symver spill_\name, \name\()@@\default
    .symver spill_\name\()_old, \name\()@\old
    .endm

    .text
    export dlsym, GLIBC_2.34, GLIBC_2.2.5
spill_dlsym:
spill_dlsym_old:
    .cfi_startproc
    endbr64
    aside spill_lookup_dlsym, %rdx
    testq %rdx, %rdx
    end_aside
    jz 1f
    ret
1:  onward DLSYM
    .cfi_endproc
    .size spill_dlsym, .-spill_dlsym

    export dlvsym, GLIBC_2.34, GLIBC_2.2.5
spill_dlvsym:
spill_dlvsym_old:
    .cfi_startproc
    endbr64
    aside spill_lookup_dlvsym, %rcx
    testq %rdx, %rdx
    end_aside
    jz 1f
    ret
1:  onward DLVSYM
    .cfi_endproc
    .size spill_dlvsym, .-spill_dlvsym

    export dlopen, GLIBC_2.34, GLIBC_2.2.5
spill_dlopen:
spill_dlopen_old:
    .cfi_startproc
    endbr64
    aside spill_lookup_dlopen, %rdx
    end_aside
    movl %eax, %esi
    onward DLOPEN
    .cfi_endproc
    .size spill_dlopen, .-spill_dlopen

    export dlmopen, GLIBC_2.34, GLIBC_2.3.4
spill_dlmopen:
spill_dlmopen_old:
    .cfi_startproc
    endbr64
    aside spill_lookup_dlmopen, %rcx
    end_aside
    onward DLMOPEN
    .cfi_endproc
    .size spill_dlmopen, .-spill_dlmopen

    .section .note.GNU-stack, "", @progbits
