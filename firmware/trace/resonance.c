/* Two functions that take turns, each for exactly HALF cycles: half of the time is spent in each. If a turn of both takes as long as the pin needs
 * for what it sends of one sample, a link that is too slow keeps the samples of one of them. */
#include "chip.h"

#define TURNS 400u

/* About a tenth less, so that the last stretch is waited for by the counter. */
#define BURN (HALF / 10u * 9u / 4u)

__attribute__((always_inline)) static inline void stay_until(uint32_t until)
{
    uint32_t left = BURN;
    __asm__ volatile("1: subs %0, #1\n bne 1b" : "+r"(left) : : "cc");
    while ((int32_t)(DWT_CYCCNT - until) < 0) {
    }
}

__attribute__((noinline)) void first(uint32_t until)
{
    stay_until(until);
}

__attribute__((noinline)) void second(uint32_t until)
{
    stay_until(until);
}

int main(void)
{
    clock_to_168mhz();
    DEMCR |= DEMCR_TRCENA;
    DWT_CTRL |= 1;
    uint32_t until = DWT_CYCCNT + HALF;
    for (unsigned n = 0; n < TURNS; n++) {
        first(until);
        second(until + HALF);
        until += 2 * HALF;
    }
    return 0;
}
