/* Ten pulses of the founding loop (test_loop.S), on PB8, at a clock and flash setting chosen when
 * compiling: CLOCK_8MHZ stays on the reset clock with no wait states, otherwise 48 MHz with one
 * wait state and the prefetch buffer as PREFETCH says. */
#include "board.h"

#define PULSES 10

void test_loop(void);

int main(void)
{
#ifndef CLOCK_8MHZ
    clock_to_48mhz(PREFETCH);
#endif
    RCC->ahbenr |= RCC_AHBENR_IOPBEN;
    pin_output(GPIOB, 8);
    for (int i = 0; i < PULSES; i++) {
        test_loop();
    }
    return 0;
}
