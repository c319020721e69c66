/* The processor moves both wires itself. */
#include "display.h"

void wires_begin(void)
{
    GPIOB->bsrr = 1u << (SCL_PIN + 16);
    pin_output(GPIOB, SCL_PIN);
    pin_output(GPIOB, SDA_PIN);
}

void wires_send(const uint16_t *words, unsigned count)
{
    for (const uint16_t *end = words + count; words < end; words++) {
        uint32_t word = *words;
        for (uint32_t bit = DATA; bit; bit >>= 1) {
            uint32_t data = word & bit ? 1u << SDA_PIN : 1u << (SDA_PIN + 16);
            /* Data changes while the clock falls, and is taken where it rises. */
            GPIOB->bsrr = data | 1u << (SCL_PIN + 16);
            GPIOB->bsrr = 1u << SCL_PIN;
        }
    }
    GPIOB->bsrr = 1u << (SCL_PIN + 16);
}

void wires_finish(void) {}
