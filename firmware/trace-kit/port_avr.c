/* An ATmega328P at 16 MHz. Records wait in a ring until the USART takes them by interrupt, at 1 Mbaud; the clock is timer 1, whose rounds are
 * counted. */
#include "port.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

#include "trace/strobe_trace.h"

/* The indices are bytes, and go round by themselves. */
static uint8_t ring[256];
static volatile uint8_t in, out;

ISR(USART_UDRE_vect)
{
    uint8_t at = out;
    if (at == in) {
        UCSR0B &= (uint8_t)~_BV(UDRIE0);
        return;
    }
    UCSR0A |= _BV(TXC0); /* which a one clears */
    UDR0 = ring[at];
    out = at + 1;
}

/* With interrupts off. One byte of the ring stays empty. */
void strobe_trace_sink(const uint8_t *bytes, uint8_t length)
{
    uint8_t at = in;
    if ((uint8_t)(out - at - 1) < length) {
        return;
    }
    do {
        ring[at++] = *bytes++;
    } while (--length);
    in = at;
    UCSR0B |= _BV(UDRIE0);
}

static volatile uint16_t rounds;

ISR(TIMER1_OVF_vect) { rounds++; }

/* With interrupts off it may have gone round without being counted: then the count has just begun. */
uint32_t port_clock(void)
{
    uint16_t count = TCNT1, round = rounds;
    if (TIFR1 & _BV(TOV1) && count < 0x8000) {
        round++;
    }
    return (uint32_t)round << 16 | count;
}

void port_start(void)
{
    UBRR0 = 1; /* 16 MHz / 8 / 2 */
    UCSR0A = _BV(U2X0);
    UCSR0B = _BV(TXEN0);
    TCCR1A = 0;
    TIMSK1 = _BV(TOIE1);
    TCCR1B = _BV(CS10);
    sei();
}

__attribute__((noinline)) void finished(void)
{
    cli();
    sleep_enable();
    for (;;) {
        sleep_cpu();
    }
}

void port_finish(void)
{
    while (out != in) {
    }
    while (!(UCSR0A & _BV(TXC0))) {
    }
    finished();
}
