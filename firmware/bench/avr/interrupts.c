/* A handler every 400 cycles that toggles a pin, sends a byte over SPI at half the clock and one now and then over the serial
 * line, above a loop that computes. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdint.h>

enum { TICKS = 300000 };

static volatile uint32_t ticks;
uint16_t result;

ISR(TIMER1_COMPA_vect)
{
    PIND = _BV(PORTD6);
    SPDR = (uint8_t)ticks;
    if ((ticks & 63) == 0)
        UDR0 = (uint8_t)(ticks >> 6);
    ticks++;
}

int main(void)
{
    DDRB = _BV(DDB2) | _BV(DDB3) | _BV(DDB5);
    DDRD = _BV(DDD6);
    SPCR = _BV(SPE) | _BV(MSTR);
    SPSR = _BV(SPI2X);
    UBRR0 = 1;
    UCSR0B = _BV(TXEN0);
    OCR1A = 400 - 1;
    TIMSK1 = _BV(OCIE1A);
    TCCR1B = _BV(WGM12) | _BV(CS10);
    sei();
    uint16_t value = 1;
    for (;;) {
        for (uint8_t bit = 0; bit < 16; bit++)
            value = value >> 1 ^ (value & 1 ? 0xb400 : 0);
        result += value;
        cli();
        if (ticks >= TICKS)
            break;
        sei();
    }
    sleep_enable();
    sleep_cpu();
    return 0;
}
