// Two TLC5940 with three layers of thirty LEDs, on an ATmega328P at 16 MHz: sets the dot correction of each output, reads
// it back before anything is lit, looks for LEDs that are open, then shows a ramp of brightness on each layer.
//
// Reports at 500 kbit/s: `dot correction ok` or the first output that has something else, `open LEDs:` with their outputs.

#include <avr/io.h>
#include <stdbool.h>
#include <stdint.h>
#include <util/delay.h>

#define DRIVERS 2
#define OUTPUTS (16 * DRIVERS)
#define STATUS_BYTES (24 * DRIVERS) // 192 bits for each driver
#define LAYERS 3
#define ALL_LAYERS (_BV(PORTD2) | _BV(PORTD3) | _BV(PORTD4))

#define GSCLK_CYCLES 8 // one period: 2 MHz, by timer 0 at OC0A (PD6)

#define XLAT PORTB1
#define BLANK PORTB2
#define VPRG PORTC0

static uint8_t status[STATUS_BYTES];

static void print(const char *text)
{
    for (; *text; text++) {
        while (!(UCSR0A & _BV(UDRE0))) {
        }
        UDR0 = *text;
    }
}

static void print_number(uint8_t number)
{
    char text[] = { ' ', '0' + number / 10, '0' + number % 10, 0 };
    print(text);
}

static uint8_t exchange(uint8_t byte)
{
    SPDR = byte;
    while (!(SPSR & _BV(SPIF))) {
    }
    return SPDR;
}

// SIN is taken over when SCLK rises. SOUT changes then, so it can only be read when SCLK falls: then SIN changes too early,
// which does not matter for bits that are all the same.
static void shift_on_rising(void)
{
    SPCR = _BV(SPE) | _BV(MSTR);
}

static void read_on_falling(void)
{
    SPCR = _BV(SPE) | _BV(MSTR) | _BV(CPHA);
}

static void latch(void)
{
    PORTB |= _BV(XLAT);
    PORTB &= ~_BV(XLAT);
}

// Shifts out `width` bits for each output, the last one's first.
static void shift_out(uint8_t width, uint16_t (*value)(uint8_t output))
{
    uint8_t byte = 0, bits = 0;
    shift_on_rising();
    for (uint8_t output = OUTPUTS; output-- > 0;) {
        uint16_t of_output = value(output);
        for (uint8_t bit = width; bit-- > 0;) {
            byte = byte << 1 | (of_output >> bit & 1);
            if (++bits % 8 == 0)
                exchange(byte);
        }
    }
}

static void read_status(void)
{
    read_on_falling();
    for (uint8_t i = 0; i < STATUS_BYTES; i++)
        status[i] = exchange(0);
}

// `count` bits of the status information from `first` on, the most significant one first.
static uint8_t status_bits(uint16_t first, uint8_t count)
{
    uint8_t value = 0;
    for (uint16_t bit = first; bit < first + count; bit++)
        value = value << 1 | (status[bit / 8] >> (7 - bit % 8) & 1);
    return value;
}

// Where a driver's part of the status information begins: the last one's is read first.
static uint16_t part_of(uint8_t output)
{
    return 192 * (DRIVERS - 1 - output / 16);
}

static uint16_t correction(uint8_t output)
{
    return 63 - output;
}

static uint16_t full(uint8_t output)
{
    (void)output;
    return 4095;
}

static uint16_t ramp(uint8_t output)
{
    return output * 132;
}

static bool set_correction(void)
{
    PORTC |= _BV(VPRG);
    shift_out(6, correction);
    latch();
    PORTC &= ~_BV(VPRG);
    // Grayscale values are latched for the first time, whatever they are: the next pulse of SCLK shows the first bit of
    // the status information, which is read when it ends.
    latch();
    read_status();
    for (uint8_t output = 0; output < OUTPUTS; output++) {
        uint8_t is = status_bits(part_of(output) + 24 + 6 * (15 - output % 16), 6);
        if (is != correction(output)) {
            print("dot correction wrong:");
            print_number(output);
            print_number(is);
            print("\n");
            return false;
        }
    }
    print("dot correction ok\n");
    return true;
}

// Lights everything for a moment; latching the same values again keeps what was noticed meanwhile.
static void find_open(void)
{
    PORTB |= _BV(BLANK);
    shift_out(12, full);
    latch();
    PORTD &= ~_BV(PORTD2);
    shift_out(12, full);
    PORTB &= ~_BV(BLANK);
    _delay_us(5);
    latch();
    PORTB |= _BV(BLANK);
    PORTD |= ALL_LAYERS;
    // This time SOUT shows the first bit before any pulse.
    bool first = PINB & _BV(PINB4);
    read_status();
    print("open LEDs:");
    for (uint8_t output = 0; output < OUTPUTS; output++) {
        uint16_t bit = part_of(output) + 15 - output % 16;
        if (bit ? status_bits(bit - 1, 1) : first)
            print_number(output);
    }
    print("\n");
}

int main(void)
{
    PORTB = _BV(BLANK);
    DDRB = _BV(XLAT) | _BV(BLANK) | _BV(DDB3) | _BV(DDB5);
    PORTD = ALL_LAYERS;
    DDRD = ALL_LAYERS | _BV(DDD6);
    DDRC = _BV(VPRG);
    SPSR = _BV(SPI2X);
    UCSR0A = _BV(U2X0);
    UBRR0 = F_CPU / 8 / 500000 - 1;
    UCSR0B = _BV(TXEN0);
    OCR0A = GSCLK_CYCLES / 2 - 1;
    TCCR0A = _BV(COM0A0) | _BV(WGM01);
    TCCR0B = _BV(CS00);
    if (!set_correction())
        for (;;) {
        }
    find_open();
    OCR1A = 4096U * GSCLK_CYCLES - 1;
    TCCR1B = _BV(WGM12) | _BV(CS10);
    for (uint8_t layer = 0;; layer = (layer + 1) % LAYERS) {
        shift_out(12, ramp);
        while (!(TIFR1 & _BV(OCF1A))) {
        }
        TIFR1 = _BV(OCF1A);
        PORTB |= _BV(BLANK);
        latch();
        PORTD = (PORTD | ALL_LAYERS) & ~_BV(PORTD2 + layer);
        PORTB &= ~_BV(BLANK);
    }
}
