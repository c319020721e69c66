/* The founding loop: one pulse on PB8 with 255 turns of a five-instruction loop inside.
 *
 * The instructions and, unless ALIGN_TARGET is set, the addresses are those of a published listing
 * that was timed on an STM32F070 with a logic analyser: test_loop at 0x080000c0, branch target at
 * 0x080000ca, in the upper half of a flash word. ALIGN_TARGET moves everything by one halfword, so
 * that the branch target is the first half of a word; nothing else changes but the two literal
 * offsets. `cargo xtask firmware` compares the bytes with the listing. */
    .file "firmware/loop/test_loop.S" /* otherwise the symbol table gets the name of a temporary file */
    .syntax unified
    .cpu cortex-m0
    .thumb

    .section .after_vectors, "ax", %progbits
    .balign 4
#ifdef ALIGN_TARGET
    nop
#endif

    .global test_loop
    .type test_loop, %function
    .thumb_func
test_loop:
    .cfi_startproc
    movs    r2, #128            /* 1 << 7: an immediate has eight bits */
    ldr     r3, .Lgpiob_bsrr
    lsls    r2, r2, #1          /* 1 << 8: set PB8 */
    str     r2, [r3]            /* the pin rises */
    movs    r3, #255
.Lturn:
    nop
    subs    r3, #1
    uxtb    r3, r3
    cmp     r3, #0
    bne     .Lturn
    movs    r2, #128
    ldr     r3, .Lgpiob_bsrr
    lsls    r2, r2, #17         /* 1 << 24: clear PB8 */
    str     r2, [r3]            /* the pin falls */
    bx      lr
    .cfi_endproc
    .size test_loop, . - test_loop
    .balign 4
.Lgpiob_bsrr:
    .word   0x48000418
