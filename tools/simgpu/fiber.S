/* SPDX-License-Identifier: Apache-2.0 */
/* The three pieces that C cannot say: switching stacks (swapcontext would make a system call for the
 * signal mask each time), freezing a call that libffi makes, and repeating a frozen call. */
        .text
        .hidden simgpu_fiber_switch, simgpu_call_freeze, simgpu_call_thaw, simgpu_frozen_target
        .globl simgpu_fiber_switch, simgpu_call_freeze, simgpu_call_thaw

/* void simgpu_fiber_switch(void **save_sp, void *load_sp) */
        .type simgpu_fiber_switch, @function
simgpu_fiber_switch:
        .cfi_startproc
        endbr64
        pushq   %rbp
        pushq   %rbx
        pushq   %r12
        pushq   %r13
        pushq   %r14
        pushq   %r15
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbx
        popq    %rbp
        ret
        .cfi_endproc
        .size simgpu_fiber_switch, .-simgpu_fiber_switch

/* Called by ffi_call in place of a kernel: stores what it was called with in *simgpu_frozen_target. */
        .type simgpu_call_freeze, @function
simgpu_call_freeze:
        .cfi_startproc
        endbr64
        movq    simgpu_frozen_target(%rip), %rax
        movq    %rdi, 0(%rax)
        movq    %rsi, 8(%rax)
        movq    %rdx, 16(%rax)
        movq    %rcx, 24(%rax)
        movq    %r8, 32(%rax)
        movq    %r9, 40(%rax)
        movsd   %xmm0, 48(%rax)
        movsd   %xmm1, 56(%rax)
        movsd   %xmm2, 64(%rax)
        movsd   %xmm3, 72(%rax)
        movsd   %xmm4, 80(%rax)
        movsd   %xmm5, 88(%rax)
        movsd   %xmm6, 96(%rax)
        movsd   %xmm7, 104(%rax)
        movq    120(%rax), %rcx
        movq    128(%rax), %rdi
        leaq    8(%rsp), %rsi
        cld
        rep movsq
        ret
        .cfi_endproc
        .size simgpu_call_freeze, .-simgpu_call_freeze

/* void simgpu_call_thaw(const struct simgpu_frozen *) */
        .type simgpu_call_thaw, @function
simgpu_call_thaw:
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        movq    %rdi, %rax
        movq    120(%rax), %rcx
        testq   %rcx, %rcx
        jz      1f
        leaq    (,%rcx,8), %rdx
        subq    %rdx, %rsp
        andq    $-64, %rsp
        movq    128(%rax), %rsi
        movq    %rsp, %rdi
        cld
        rep movsq
1:      movsd   48(%rax), %xmm0
        movsd   56(%rax), %xmm1
        movsd   64(%rax), %xmm2
        movsd   72(%rax), %xmm3
        movsd   80(%rax), %xmm4
        movsd   88(%rax), %xmm5
        movsd   96(%rax), %xmm6
        movsd   104(%rax), %xmm7
        movq    0(%rax), %rdi
        movq    8(%rax), %rsi
        movq    16(%rax), %rdx
        movq    24(%rax), %rcx
        movq    32(%rax), %r8
        movq    40(%rax), %r9
        movq    112(%rax), %r11
        movl    $8, %eax
        call    *%r11
        leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size simgpu_call_thaw, .-simgpu_call_thaw
        .section .note.GNU-stack,"",@progbits
