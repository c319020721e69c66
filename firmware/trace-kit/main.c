/* The kit for the target at work: a handler that marks each tick, regions in one another, two values, a channel, and at the end a burst that
 * no pin can carry. Forty rounds of a millisecond at 168 MHz.
 * With -DSTROBE_TRACE=0 it must be, byte for byte, what it is with -DWITHOUT_KIT, which never saw the kit. */
#include "../trace/chip.h"
#include "cortex_m3.h"
#ifndef WITHOUT_KIT
#include "trace/strobe_trace.h"
#else
#define STROBE_NAME(id, name) _Static_assert(1, "")
#define STROBE_START()
#define STROBE_MARK(id)
#define STROBE_BEGIN(id)
#define STROBE_END(id)
#define STROBE_VALUE(id, value) (void)(value)
#define STROBE_SIGNED(id, value)
#define STROBE_WRITE(id, bytes, length)
#endif

#define ROUNDS 40u
#define BURST 20u

#define TICK 1
#define ROUND 2
#define FILTER 3
#define SORT 4
#define LEVEL 5
#define ERROR 6
#define LOG 7
#define BURSTING 8
STROBE_NAME(TICK, "tick");
STROBE_NAME(ROUND, "round");
STROBE_NAME(FILTER, "filter");
STROBE_NAME(SORT, "sort");
STROBE_NAME(LEVEL, "level");
STROBE_NAME(ERROR, "error");
STROBE_NAME(LOG, "log");
STROBE_NAME(BURSTING, "burst");

static volatile uint32_t ticks;
static uint32_t values[64];

void SysTick_Handler(void)
{
    ticks++;
    STROBE_MARK(TICK);
}

/* Long enough that the pin is free again. */
__attribute__((noinline)) void settle(void)
{
    for (volatile unsigned n = 0; n < 2000; n++) {
    }
}

__attribute__((noinline)) uint32_t filter(uint32_t seed)
{
    uint32_t sum = 0;
    for (unsigned n = 0; n < 64; n++) {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        values[n] = (3 * values[n] + (seed & 0xFFFF)) / 4;
        sum += values[n];
    }
    settle();
    return sum;
}

__attribute__((noinline)) void sort(void)
{
    for (unsigned n = 1; n < 64; n++) {
        uint32_t value = values[n];
        unsigned at = n;
        for (; at && values[at - 1] > value; at--) {
            values[at] = values[at - 1];
        }
        values[at] = value;
    }
    settle();
}

__attribute__((noinline)) void wait_for_tick(void)
{
    for (uint32_t before = ticks; ticks == before;) {
        wait_for_interrupt();
    }
    settle();
}

__attribute__((noinline)) void burst(void)
{
    for (unsigned n = 0; n < BURST; n++) {
        STROBE_MARK(BURSTING);
    }
    settle();
}

int main(void)
{
    clock_to_168mhz();
    STROBE_START();
    systick_start(168000);
    for (unsigned n = 0; n < ROUNDS; n++) {
        wait_for_tick();
        STROBE_BEGIN(ROUND);
        settle();
        STROBE_BEGIN(FILTER);
        uint32_t level = filter(2463534242u + n);
        STROBE_END(FILTER);
        settle();
        STROBE_BEGIN(SORT);
        sort();
        STROBE_END(SORT);
        settle();
        STROBE_VALUE(LEVEL, level);
        settle();
        STROBE_SIGNED(ERROR, (int32_t)(values[32] - values[31]) - 300);
        settle();
        STROBE_END(ROUND);
        if (n % 8 == 0) {
            settle();
            STROBE_WRITE(LOG, "on\n", 3);
        }
    }
    wait_for_tick();
    burst();
    STROBE_MARK(TICK);
    settle();
    return 0;
}
