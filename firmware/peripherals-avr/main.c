// An ATmega328P that serves three peripherals at once: Timer1 interrupts every 8192 cycles and sends one byte over SPI at
// half the clock, while bytes that come in at 500 kbit/s go back incremented. After 32 ticks it stops.
//
// The receive handler is written for GCC's full way in and out: it calls a function that it cannot see into.

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

static volatile uint8_t ticks;

__attribute__((noinline, noclone)) void received(uint8_t byte)
{
    UDR0 = byte + 1;
}

ISR(USART_RX_vect)
{
    received(UDR0);
}

ISR(TIMER1_COMPA_vect)
{
    PINB = _BV(PORTB0);
    SPDR = ticks;
    ticks++;
}

int main(void)
{
    DDRB = _BV(DDB0) | _BV(DDB2) | _BV(DDB3) | _BV(DDB5);
    SPCR = _BV(SPE) | _BV(MSTR);
    SPSR = _BV(SPI2X);
    UBRR0 = 1;
    UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
    OCR1A = 8192 - 1;
    TIMSK1 = _BV(OCIE1A);
    TCCR1B = _BV(WGM12) | _BV(CS10);
    sei();
    set_sleep_mode(SLEEP_MODE_IDLE);
    while (ticks < 32)
        sleep_mode();
    cli();
    sleep_mode();
    return 0;
}
