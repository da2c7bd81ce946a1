# SPDX-License-Identifier: Apache-2.0
# Names of functions -> assembly: each function says its number and goes to the recorder.
BEGIN {
    print "    .text"
    print "record:"
    print "    pushq %r9; pushq %r8; pushq %rcx; pushq %rdx; pushq %rsi; pushq %rdi"
    print "    movl %eax, %edi; movq %rsp, %rsi; leaq 56(%rsp), %rdx; subq $8, %rsp"
    print "    call fake_record@PLT"
    print "    addq $56, %rsp"
    print "    ret"
}
{
    printf "    .globl %s; .type %s, @function\n%s: endbr64; movl $%d, %%eax; jmp record; .size %s, .-%s\n", $1, $1, $1, n, $1, $1
    names = names "    .quad name" n "\n"
    strings = strings "name" n ": .asciz \"" $1 "\"\n"
    n++
}
END {
    print "    .section .data.rel.ro, \"aw\"\n    .globl fake_name; .type fake_name, @object; .size fake_name, " n * 8
    print "fake_name:\n" names
    print "    .section .rodata\n    .globl fake_functions; .type fake_functions, @object; .size fake_functions, 4"
    print "fake_functions: .long " n "\n" strings
    print "    .bss\n    .globl fake_count; .type fake_count, @object; .size fake_count, " n * 4
    print "    .align 8\nfake_count: .zero " n * 4
    print "    .section .note.GNU-stack, \"\", @progbits"
}
