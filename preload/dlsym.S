/* SPDX-License-Identifier: Apache-2.0 */
/* Our dlsym, at both versions that programs are linked against. It must end in a jump, not a call: for
 * RTLD_NEXT glibc looks at its caller's return address to know whose "next" is meant. */
#if !defined(__x86_64__)
#error "spillway's dlsym trampoline exists for x86-64 only"
#endif
    .text
    .globl spill_dlsym
    .globl spill_dlsym_old
    .type spill_dlsym, @function
    .type spill_dlsym_old, @function
spill_dlsym:
spill_dlsym_old:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    movq 24(%rsp), %rdx
    call spill_lookup_dlsym@PLT
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rax, %rax
    jnz 1f
    jmpq *spill_lookup_libc_dlsym(%rip)
1:  ret
    .cfi_endproc
    .size spill_dlsym, .-spill_dlsym
    .symver spill_dlsym, dlsym@@GLIBC_2.34
    .symver spill_dlsym_old, dlsym@GLIBC_2.2.5
    .section .note.GNU-stack, "", @progbits
