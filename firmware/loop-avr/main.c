// The founding measurement on an ATmega328P: a pin is high for 255 turns of an empty loop.
//
// A logic analyser saw pulses of 63.88 us at 16 MHz; by the manual it is 1022 cycles, 63.875 us. The pulse is assembly so
// that it is the same instructions with every compiler.

#include <avr/io.h>

#define PULSES 20

__attribute__((noinline)) static void pulse(void)
{
    __asm__ volatile(
        "sbi %[port], 1\n\t"
        "ldi r24, 255\n"
        "1:\n\t"
        "nop\n\t"
        "subi r24, 1\n\t"
        "brne 1b\n\t"
        "cbi %[port], 1"
        :
        : [port] "I"(_SFR_IO_ADDR(PORTD))
        : "r24", "cc");
}

int main(void)
{
    DDRD = 1 << PD1;
    for (uint8_t i = 0; i < PULSES; i++)
        pulse();
    return 0;
}
