/* Reading by hand. The data line is one for both directions: the display takes it over where the clock falls after the last
 * bit of the command, so it must be an input by then. No SPI of this chip can do that, as its last clock falls by itself. */
#include "display.h"

#define SDA_MODE (3u << (2 * SDA_PIN))

static void let_go(void) { GPIOB->moder &= ~SDA_MODE; }

static void clock_low(void) { GPIOB->bsrr = 1u << (SCL_PIN + 16); }
static void clock_high(void) { GPIOB->bsrr = 1u << SCL_PIN; }

uint32_t read_answer(enum command command, unsigned dummy_clocks)
{
    clock_low();
    pin_output(GPIOB, SCL_PIN);
    pin_output(GPIOB, SDA_PIN);
    select_display();
    for (uint32_t bit = DATA; bit; bit >>= 1) {
        uint32_t data = command & bit ? 1u << SDA_PIN : 1u << (SDA_PIN + 16);
        GPIOB->bsrr = data | 1u << (SCL_PIN + 16);
        clock_high();
    }
    let_go();
    for (unsigned i = 0; i < dummy_clocks; i++) {
        clock_low();
        clock_high();
        /* The display needs 150 ns for a clock when it is read. */
        __asm__ volatile("nop; nop; nop");
    }
    uint32_t answer = 0;
    for (unsigned i = 0; i < 24; i++) {
        clock_low();
        __asm__ volatile("nop");
        clock_high();
        answer = answer << 1 | (GPIOB->idr >> SDA_PIN & 1);
    }
    clock_low();
    deselect_display();
    wires_begin();
    return answer;
}
