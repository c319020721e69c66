// A cube of 11 x 11 x 11 LEDs on an ATmega328P: everything but the two interrupts in assembly.
//
// `refresh.S` shows one of two frames layer by layer, `receive.S` stores what comes in over the serial line in the other
// one. Here is what becomes of a frame that has come in: if it is good, `ready` asks the refresh to take it over when it begins
// with the first layer again. Until then, at most 11 x 8192 cycles (5.6 ms), no other frame can be taken; a frame takes
// 13.4 ms to arrive, so 50 frames in a second fit if they come evenly.
//
// After a bad frame the next start mark is looked for, at once. Brightness may look like one: that false frame ends at the
// latest where the line has been quiet for 4 ms, and between frames of an even stream it is for 6.5.

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdbool.h>
#include <stdint.h>

#include "cube.h"
#include "tables.h"

static uint8_t frames[2][FRAME_DATA];

// Read and written by the refresh. `layer` and `layer_data` are what is shifted out, and shown one refresh later.
uint8_t *volatile shown = frames[0];
uint8_t *volatile filled = frames[1];
volatile uint8_t ready;
volatile uint8_t ticks;
uint8_t layer = SIDE - 1;
uint8_t *layer_data = frames[0];
uint8_t layer_pins[2] = { 0, _BV(PORTD0) };

// Read and written by the receive interrupt: bytes of this part that are left less one, and the second sum.
uint16_t left;
uint8_t sum_b;

static volatile enum { SEEKING, NUMBER, BRIGHTNESS, END, SKIPPING } part;
static uint8_t small[3]; // parts that do not belong into a frame
static uint8_t sums[2];
static uint16_t skip;

// For a debugger.
struct {
    uint16_t number; // of the frame last received
    uint16_t good;
    uint16_t bad;
} volatile statistics;

static void receive(uint8_t *to, uint16_t count)
{
    GPIOR1 = (uint16_t)to & 255;
    GPIOR2 = (uint16_t)to >> 8;
    left = count - 1;
}

static void seek(void)
{
    part = SEEKING;
    receive(small, 1);
}

static void refuse(uint8_t error)
{
    statistics.bad++;
    if (UCSR0A & _BV(UDRE0))
        UDR0 = error;
}

static void begin(void)
{
    if (ready) {
        refuse(ERROR_BUSY);
        part = SKIPPING;
        skip = FRAME_BYTES - 1;
        receive(small, 1);
        return;
    }
    part = NUMBER;
    GPIOR0 = 0;
    sum_b = 0;
    receive(small, 2);
}

static void finish(void)
{
    if (small[0] != sums[0] || small[1] != sums[1]) {
        refuse(ERROR_SUM);
    } else if (small[2] != END_MARK) {
        refuse(ERROR_END);
    } else {
        statistics.good++;
        ready = 1;
    }
    seek();
}

// Called by the receive interrupt when a part is complete.
void part_received(void)
{
    switch (part) {
    case SEEKING:
        if (small[0] == START_MARK)
            begin();
        else
            seek();
        break;
    case NUMBER:
        statistics.number = small[0] | (uint16_t)small[1] << 8;
        part = BRIGHTNESS;
        receive(filled, FRAME_DATA);
        break;
    case BRIGHTNESS:
        sums[0] = GPIOR0;
        sums[1] = sum_b;
        part = END;
        receive(small, 3);
        break;
    case END:
        finish();
        break;
    case SKIPPING:
        if (--skip == 0)
            seek();
        else
            receive(small, 1);
        break;
    }
}

// Gives up a frame in the middle of which the line has been quiet for eight ticks.
static void watch_line(void)
{
    static uint8_t seen_tick, seen_byte, quiet;
    uint8_t tick = ticks;
    if (tick == seen_tick)
        return;
    seen_tick = tick;
    cli();
    uint8_t byte = GPIOR1 + skip;
    bool waits = part != SEEKING && byte == seen_byte;
    quiet = waits ? quiet + 1 : 0;
    seen_byte = byte;
    if (quiet == 8) {
        refuse(ERROR_BROKEN);
        seek();
    }
    sei();
}

int main(void)
{
    PORTB = _BV(BLANK);
    DDRB = _BV(DDB1) | _BV(DDB2) | _BV(DDB3) | _BV(DDB5);
    DDRC = 0x3f;
    DDRD = 0xfe;
    PORTD = _BV(PORTD0);
    SPCR = _BV(SPE) | _BV(MSTR);
    SPSR = _BV(SPI2X);
    UBRR0 = F_CPU / 16 / BAUD - 1;
    UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
    seek();
    OCR1A = REFRESH_CYCLES - 1;
    TIMSK1 = _BV(OCIE1A);
    TCCR1B = _BV(WGM12) | _BV(CS10);
    set_sleep_mode(SLEEP_MODE_IDLE);
    sei();
    for (;;) {
        sleep_mode();
        watch_line();
    }
}
