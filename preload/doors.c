/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/doors.h"

#include "preload/real.h"

extern char spill_door_first[] __attribute__((visibility("hidden")));

/* Sections are pushed and popped: unoptimised, the compiler goes on in the one it left.
 *
 * Saves all that may hold an argument, looks, and goes through the door in r10 again; to the
 * wrapper if the look-up could not be made. */
__asm__(".pushsection .text\n"
        "    .hidden spill_door_first\n"
        "    .globl spill_door_first\n"
        "    .type spill_door_first, @function\n"
        "spill_door_first:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    pushq %rdi; pushq %rsi; pushq %rdx; pushq %rcx; pushq %r8; pushq %r9; pushq %rax; "
        "pushq %r10\n"
        "    .cfi_adjust_cfa_offset 64\n"
        "    subq $136, %rsp\n"
        "    .cfi_adjust_cfa_offset 136\n"
        "    movups %xmm0, (%rsp); movups %xmm1, 16(%rsp); movups %xmm2, 32(%rsp); movups %xmm3, "
        "48(%rsp)\n"
        "    movups %xmm4, 64(%rsp); movups %xmm5, 80(%rsp); movups %xmm6, 96(%rsp); movups %xmm7, "
        "112(%rsp)\n"
        "    call spill_door_look\n"
        "    movups (%rsp), %xmm0; movups 16(%rsp), %xmm1; movups 32(%rsp), %xmm2; movups "
        "48(%rsp), %xmm3\n"
        "    movups 64(%rsp), %xmm4; movups 80(%rsp), %xmm5; movups 96(%rsp), %xmm6; movups "
        "112(%rsp), %xmm7\n"
        "    addq $136, %rsp\n"
        "    .cfi_adjust_cfa_offset -136\n"
        "    popq %r10; popq %rax; popq %r9; popq %r8; popq %rcx; popq %rdx; popq %rsi; popq %rdi\n"
        "    .cfi_adjust_cfa_offset -64\n"
        "    leaq spill_door_first(%rip), %r11\n"
        "    cmpq %r11, (%r10)\n"
        "    movq (%r10), %r11\n"
        "    cmoveq 8(%r10), %r11\n"
        "    jmpq *%r11\n"
        "    .cfi_endproc\n"
        "    .size spill_door_first, .-spill_door_first\n"
        "    .popsection\n");

#define SPILL_HOOK(symbol, base, abi, until, stream, type, class)                                  \
    struct spill_door spill_door_##symbol = {spill_door_first, (void *)symbol};                    \
    __asm__(".pushsection .text\n"                                                                 \
            "    .p2align 4\n"                                                                     \
            "    .globl " #symbol "\n"                                                             \
            "    .type " #symbol ", @function\n" #symbol ":\n"                                     \
            "    endbr64\n"                                                                        \
            "    leaq spill_door_" #symbol "(%rip), %r10\n"                                        \
            "    jmpq *(%r10)\n"                                                                   \
            "    .size " #symbol ", .-" #symbol "\n"                                               \
            "    .popsection\n");
#include "preload/hooks.def"
#undef SPILL_HOOK
