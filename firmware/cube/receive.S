; A byte from the line: most of them only have to be stored, added up and counted. That takes three registers and no call;
; the last byte of each part of a frame goes to `part_received` in C.
;
; Where the next byte goes and the first of the two sums are kept in the general purpose registers, which IN and OUT reach.

    .file "receive.S" ; else the symbol table has the name of a temporary file

#include <avr/io.h>
#include "cube.h"

#define IO(register) _SFR_IO_ADDR(register)

    .section .text.receive, "ax", @progbits
    .global USART_RX_vect
    .type USART_RX_vect, @function
USART_RX_vect:
    push r24
    in   r24, IO(SREG)
    push r24
    push r30
    push r31
    in   r30, IO(GPIOR1)
    in   r31, IO(GPIOR2)
    lds  r24, UDR0
    st   Z+, r24
    out  IO(GPIOR1), r30
    out  IO(GPIOR2), r31
    in   r30, IO(GPIOR0)
    add  r30, r24
    out  IO(GPIOR0), r30
    lds  r24, sum_b
    add  r24, r30
    sts  sum_b, r24
    lds  r24, left
    subi r24, 1
    sts  left, r24
    brcs many
done:
    pop  r31
    pop  r30
    pop  r24
    out  IO(SREG), r24
    pop  r24
    reti

    ; The low byte of the count has run out: on with the high one, or to the end of this part.
many:
    lds  r24, left + 1
    subi r24, 1
    sts  left + 1, r24
    brcc done
    push r0
    push r1
    push r18
    push r19
    push r20
    push r21
    push r22
    push r23
    push r25
    push r26
    push r27
    clr  r1
    call part_received
    pop  r27
    pop  r26
    pop  r25
    pop  r23
    pop  r22
    pop  r21
    pop  r20
    pop  r19
    pop  r18
    pop  r1
    pop  r0
    rjmp done
    .size USART_RX_vect, . - USART_RX_vect
