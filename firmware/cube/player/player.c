// The cube's player on an ATmega16U2: sends the frames of the file CUBE.ANI on an SD card, fifty in a second, over and over.
// Its RAM is as large as one block of the card and smaller than a frame, so nothing is ever kept: each byte goes from
// the card through the reader of FAT volumes to the serial line, and when that is full, the card's clock waits.
//
// A frame starts with the timer's tick, but not before the line has been quiet for 6 ms: the cube takes up to 5.6 to
// take over the frame before, and it needs 4 to notice that it has lost its place. A card that takes its time makes some
// frames late; the ticks are counted, so that later ones catch up.
//
// When the cube complains of a frame, that one is lost: to send it again the card would have to go back. It is counted, and
// the pause after it is all that the cube needs.

#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>
#include <util/atomic.h>
#include <util/delay.h>

#include "../protocol.h"
#include "card.h"
#include "fat.h"

#define TICK (F_CPU / 8 / 50)           // Timer1 counts in half microseconds
#define PAUSE (F_CPU / 8 / 1000 * 6)

#define TXLED _BV(PORTD5) // changes with each frame
#define RXLED _BV(PORTD4) // changes with each complaint

static volatile uint8_t due; // ticks whose frames have not been sent

// For a debugger.
struct {
    uint32_t frames;
    uint16_t complaints;
    uint16_t restarts;
} volatile statistics;

ISR(TIMER1_COMPA_vect)
{
    if (due < 255)
        due++;
}

ISR(USART1_RX_vect)
{
    (void)UDR1;
    PIND = RXLED;
    statistics.complaints++;
}

static uint16_t time(void)
{
    uint16_t now;
    ATOMIC_BLOCK(ATOMIC_FORCEON) {
        now = TCNT1;
    }
    return now;
}

static uint16_t in_frame; // bytes of the frame that have been sent
static uint16_t ended;    // when the last one was

static void wait_for_tick(void)
{
    uint16_t since;
    do {
        uint16_t now = time();
        since = now >= ended ? now - ended : now + (uint16_t)TICK - ended;
    } while (since < PAUSE);
    while (due == 0)
        ;
    ATOMIC_BLOCK(ATOMIC_FORCEON) {
        due--;
    }
}

static void send(uint8_t byte)
{
    if (in_frame == 0)
        wait_for_tick();
    while (!(UCSR1A & _BV(UDRE1)))
        ;
    UDR1 = byte;
    if (++in_frame == FRAME_BYTES) {
        in_frame = 0;
        ended = time();
        PIND = TXLED;
        statistics.frames++;
    }
}

// Feeds the reader with a block. Returns what it said of the last byte.
static uint8_t read_block(void)
{
    uint8_t said = 0;
    for (uint16_t i = 0; i < 512; i++) {
        uint8_t byte = card_byte();
        said = fat_byte(byte);
        if (said & FAT_DATA)
            send(byte);
        if (said & (FAT_JUMP | FAT_FAILED))
            return said;
    }
    card_end_block();
    return said;
}

// Returns when there is nothing to play, or no more.
static void play(void)
{
    uint8_t said = 0;
    in_frame = 0;
    due = 0;
    fat_begin(FRAME_BYTES);
    while (!(said & FAT_FAILED)) {
        if (!card_start(fat_block))
            return;
        do {
            if (!card_begin_block())
                return;
            said = read_block();
        } while (!(said & (FAT_JUMP | FAT_FAILED)));
        card_stop();
    }
}

int main(void)
{
    // Levels before directions: CS must not go low by accident.
    PORTB = _BV(PORTB0) | _BV(PORTB3);
    DDRB = _BV(DDB0) | _BV(DDB1) | _BV(DDB2);
    PORTD = RXLED | TXLED | _BV(PORTD2);
    DDRD = RXLED | TXLED | _BV(DDD3);
    UBRR1 = F_CPU / 16 / BAUD - 1;
    UCSR1B = _BV(RXEN1) | _BV(TXEN1) | _BV(RXCIE1);
    OCR1A = TICK - 1;
    TIMSK1 = _BV(OCIE1A);
    TCCR1B = _BV(WGM12) | _BV(CS11);
    sei();
    for (;;) {
        if (card_begin())
            play();
        statistics.restarts++;
        _delay_ms(100);
    }
}
