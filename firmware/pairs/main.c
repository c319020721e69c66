/* One program in seven versions, each with one thing changed: what a comparison has to find.
 *
 * A main loop takes 200 blocks of samples through filter, scale and checksum, while SysTick fires
 * every 100 us. -DSLOW: filter goes over its samples ten times. -DRENAMED: filter has another name.
 * -DINLINED: scale is inlined into work. -DSHIFTED: a function in front moves those behind it by two
 * bytes, half a word of the flash. -DMASKED: checksum runs with interrupts off. With moved.c, scale is in another file. */
#include "board.h"
#include "cortex_m0.h"

#define SAMPLES 64
#define BLOCKS 200

#ifdef SLOW
#define PASSES 10
#else
#define PASSES 1
#endif
#ifdef RENAMED
#define filter low_pass
#endif

uint16_t samples[SAMPLES];
volatile uint32_t ticks;
volatile uint32_t result;

void SysTick_Handler(void) { ticks++; }

#ifdef SHIFTED
__attribute__((noipa, naked)) void shift(void) { __asm__ volatile("bx lr"); }
#endif

__attribute__((noipa)) void filter(uint16_t *values)
{
    for (unsigned pass = 0; pass < PASSES; pass++) {
        uint32_t last = values[0];
        for (unsigned i = 1; i < SAMPLES; i++) {
            last = (last * 3 + values[i]) >> 2;
            values[i] = (uint16_t)last;
        }
    }
}

#ifdef MOVED
void scale(uint16_t *values, unsigned by);
#elif defined INLINED
__attribute__((always_inline)) static inline void scale(uint16_t *values, unsigned by)
#else
__attribute__((noipa)) void scale(uint16_t *values, unsigned by)
#endif
#ifndef MOVED
{
    for (unsigned i = 0; i < SAMPLES; i++) {
        values[i] = (uint16_t)((values[i] * by + 7) >> 3);
    }
}
#endif

__attribute__((noipa)) uint32_t checksum(const uint16_t *values)
{
    uint32_t a = 1, b = 0;
    for (unsigned i = 0; i < SAMPLES; i++) {
        a = (a + values[i]) & 0xffff;
        b = (b + a) & 0xffff;
    }
    return b << 16 | a;
}

__attribute__((noipa)) void work(unsigned block)
{
    for (unsigned i = 0; i < SAMPLES; i++) {
        samples[i] = (uint16_t)(block * 37 + i * 11);
    }
    filter(samples);
    scale(samples, 5);
#ifdef MASKED
    interrupts_off();
#endif
    result ^= checksum(samples);
#ifdef MASKED
    interrupts_on();
#endif
}

int main(void)
{
    clock_to_48mhz(PREFETCH_ON);
    systick_start(4800);
    for (unsigned block = 0; block < BLOCKS; block++) {
        work(block);
    }
#ifdef SHIFTED
    shift();
#endif
    finished();
}
