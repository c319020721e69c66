; The refresh of one layer, every 8192 cycles: what was shifted out the last time is latched and shown on its layer, then the
; next layer's 192 bytes go out.
;
; SPDR is written without a look whether the byte before is gone: at 8 MHz it is after 16 cycles, and the writes are further
; apart than that by the instructions between them. Interrupts in between, by serial bytes, only make the distances larger.
;
; The numbers behind `|` are cycles, counted by hand from the list of instructions.

    .file "refresh.S" ; else the symbol table has the name of a temporary file

#include <avr/io.h>
#include "cube.h"

#define IO(register) _SFR_IO_ADDR(register)

    .section .text.refresh, "ax", @progbits
    .global TIMER1_COMPA_vect
    .type TIMER1_COMPA_vect, @function
TIMER1_COMPA_vect:
    push r24
    in   r24, IO(SREG)
    push r24
    push r30
    push r31
    sbi  IO(PORTB), BLANK
    sbi  IO(PORTB), XLAT
    cbi  IO(PORTB), XLAT
    lds  r30, layer_pins
    lds  r31, layer_pins + 1
    out  IO(PORTC), r30
    out  IO(PORTD), r31
    cbi  IO(PORTB), BLANK
    ; From here on serial bytes may interrupt, but not the next refresh, should this one take too long.
    ldi  r24, 0
    sts  TIMSK1, r24
#ifdef LATE_CYCLES
    ; The experiment: the serial interrupt has to wait.
    ldi  r30, lo8(LATE_CYCLES / 4)
    ldi  r31, hi8(LATE_CYCLES / 4)
late:
    sbiw r30, 1
    brne late
#endif
    sei
    push r18
    push r19
    push r20
    push r21
    push r22
    push r23
    push r25
    push r26
    push r27
    push r28
    push r29

    rcall next_layer
    rcall shift_out

    pop  r29
    pop  r28
    pop  r27
    pop  r26
    pop  r25
    pop  r23
    pop  r22
    pop  r21
    pop  r20
    pop  r19
    pop  r18
    cli
    ldi  r24, 1 << OCIE1A
    sts  TIMSK1, r24
    pop  r31
    pop  r30
    pop  r24
    out  IO(SREG), r24
    pop  r24
    reti
    .size TIMER1_COMPA_vect, . - TIMER1_COMPA_vect

; Goes on to the next layer, after the last one to the first of the newest whole frame.
; Gives r20:r21, the byte in which the layer begins, and r22, 1 if it begins in that byte's upper half.
    .type next_layer, @function
next_layer:
    lds  r20, layer_data
    lds  r21, layer_data + 1
    lds  r22, layer
    lds  r24, ticks
    inc  r24
    sts  ticks, r24
    ; Sixty bytes and a half: sixty from an even layer to the next, 61 from an odd one.
    mov  r24, r22
    andi r24, 1
    subi r24, -(LAYER_LEDS / 2)
    add  r20, r24
    brcc 1f
    inc  r21
1:  inc  r22
    cpi  r22, SIDE
    brlo 3f
    clr  r22
    lds  r20, shown
    lds  r21, shown + 1
    lds  r24, ready
    tst  r24
    breq 3f
    ; The frame that was shown becomes the one that is filled.
    lds  r24, filled
    lds  r25, filled + 1
    sts  filled, r20
    sts  filled + 1, r21
    sts  shown, r24
    sts  shown + 1, r25
    movw r20, r24
    ldi  r24, 0
    sts  ready, r24
    sbi  IO(PORTD), TAKEN
3:  sts  layer, r22
    sts  layer_data, r20
    sts  layer_data + 1, r21
    ldi  r30, lo8(pins_of_layers)
    ldi  r31, hi8(pins_of_layers)
    mov  r24, r22
    lsl  r24
    add  r30, r24
    brcc 4f
    inc  r31
4:  lpm  r24, Z+
    sts  layer_pins, r24
    lpm  r24, Z
    sts  layer_pins + 1, r24
    andi r22, 1
    ret
    .size next_layer, . - next_layer

; Distances of exactly that many cycles, in two-cycle jumps to the next instruction.
    .macro wait cycles
    .rept \cycles / 2
    rjmp .+0
    .endr
    .endm

; Shifts out a layer: for each output in the order of the board's wires its LED's four bits, made twelve by table.
    .global shift_out
    .type shift_out, @function
shift_out:
    ldi  r30, lo8(order_of_outputs)
    ldi  r31, hi8(order_of_outputs)
    ldi  r27, hi8(levels)
    clr  r19
    ldi  r23, PAIRS
pair:
    lpm  r24, Z+            ; | 3   which LED
    add  r24, r22           ; | 1   counted from the beginning of its byte
    bst  r24, 0             ; | 1   T: the upper half
    lsr  r24                ; | 1
    movw r28, r20           ; | 1
    add  r28, r24           ; | 1
    adc  r29, r19           ; | 1
    ld   r26, Y             ; | 2
    brtc 1f                 ; | 2   or 1 and 1 for the swap
    swap r26
1:  andi r26, 0x0f          ; | 1
    ori  r26, lo8(levels)   ; | 1
    ld   r25, X             ; | 1   bits 11 to 4
    wait 2                  ; | 2
    out  IO(SPDR), r25      ; | 1   first byte
    subi r26, -16           ; | 1
    ld   r18, X             ; | 1   bits 3 to 0, in the upper half

    lpm  r24, Z+            ; | 3   the same for the second LED
    add  r24, r22           ; | 1
    bst  r24, 0             ; | 1
    lsr  r24                ; | 1
    movw r28, r20           ; | 1
    add  r28, r24           ; | 1
    adc  r29, r19           ; | 1
    ld   r26, Y             ; | 2
    brtc 2f                 ; | 2
    swap r26
2:  andi r26, 0x0f          ; | 1
    ori  r26, lo8(levels + 32) ; | 1
    ld   r25, X             ; | 1   bits 11 to 8
    or   r18, r25           ; | 1
    out  IO(SPDR), r18      ; | 1   second byte
    subi r26, -16           ; | 1
    ld   r25, X             ; | 1   bits 7 to 0
    wait 18                 ; | 18
    out  IO(SPDR), r25      ; | 1   third byte
    dec  r23                ; | 1
    brne pair               ; | 2
    ; Together                  63 for a pair, 4032 of 8192 for all.
    ret
    .size shift_out, . - shift_out
