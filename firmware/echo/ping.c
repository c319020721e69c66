// Sends bytes to another chip at 500 kbit/s and waits for each to come back, one greater. PB0 is high from the byte's
// transmission to the answer; PB1 becomes high when all answers were right.

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

#define ROUNDS 64

static void usart_start(void)
{
    UCSR0A = 1 << U2X0;
    UBRR0 = F_CPU / 8 / 500000 - 1;
    UCSR0B = 1 << RXEN0 | 1 << TXEN0;
}

/* The other chip may start later: its line is quiet then, and what it is sent is lost. */
__attribute__((noinline)) static uint8_t exchange(uint8_t byte)
{
    PORTB |= 1 << PB0;
    UDR0 = byte;
    for (uint16_t patience = 2000; patience; patience--)
        if (UCSR0A & 1 << RXC0)
            break;
    PORTB &= (uint8_t)~(1 << PB0);
    return UDR0;
}

int main(void)
{
    uint8_t wrong = 0;
    DDRB = 1 << PB0 | 1 << PB1;
    usart_start();
    while (exchange(0xa5) != 0xa6) {
    }
    for (uint8_t i = 0; i < ROUNDS; i++)
        if (exchange(i) != i + 1)
            wrong++;
    if (!wrong)
        PORTB |= 1 << PB1;
    cli();
    for (;;)
        sleep_mode();
}
