// Which LED hangs on which output, which pins switch which layer, and what brightness means in clocks of GSCLK.

#include <avr/pgmspace.h>
#include <stdint.h>

#include "tables.h"

// Seven outputs at the end of the chain, which are shifted first, have nothing attached.
#define NOTHING 0

// Rows are wired to and fro, beginning with the highest: output 0, shifted last, is the LED in the corner.
#define FORTH(y) ROW(y, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
#define BACK(y) ROW(y, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define ROW(y, a, b, c, d, e, f, g, h, i, j, k) \
    AT(y, a), AT(y, b), AT(y, c), AT(y, d), AT(y, e), AT(y, f), AT(y, g), AT(y, h), AT(y, i), AT(y, j), AT(y, k)
#define AT(y, x) ((y) * SIDE + (x))

const uint8_t order_of_outputs[2 * PAIRS] PROGMEM = {
    NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING,
    BACK(10), FORTH(9), BACK(8), FORTH(7), BACK(6), FORTH(5), BACK(4), FORTH(3), BACK(2), FORTH(1), BACK(0),
};

// PORTC and PORTD for each layer. PD0, the serial input, keeps its pull-up; PD7, the test point, goes low again.
#define C(n) { 1 << (n), 1 << PD0 }
#define D(n) { 0, 1 << (n) | 1 << PD0 }

const uint8_t pins_of_layers[SIDE][2] PROGMEM = {
    C(0), C(1), C(2), C(3), C(4), C(5), D(2), D(3), D(4), D(5), D(6),
};

// 4000 * (v / 15) ^ 2.2, rounded. 96 clocks of a period are left over: a refresh that an interrupt delays by less than
// 192 cycles takes no light from anybody.
#define LEVELS(f) \
    f(0), f(10), f(48), f(116), f(218), f(357), f(533), f(748), f(1003), f(1300), f(1639), f(2022), f(2448), f(2920), \
    f(3437), f(4000)

// The bytes that the first LED of a pair and the second one put into the stream. Aligned, so that OR finds an entry.
#define FIRST_HIGH(v) (v) >> 4
#define FIRST_LOW(v) ((v) & 15) << 4
#define SECOND_HIGH(v) (v) >> 8
#define SECOND_LOW(v) (v) & 255

uint8_t levels[4][16] __attribute__((aligned(64))) = {
    { LEVELS(FIRST_HIGH) }, { LEVELS(FIRST_LOW) }, { LEVELS(SECOND_HIGH) }, { LEVELS(SECOND_LOW) },
};
