/* What a trace pin can tell of a program: text on stimulus port 0 and words on port 1, handlers that nest, a variable to watch, work of
 * different size, and sleep. Sixty rounds of a millisecond at 168 MHz.
 *
 * The ports are used only if somebody has enabled them: a debugger, or the program itself when built with TRACE_ITSELF. */
#include "chip.h"
#include "cortex_m3.h"

#define ROUNDS 60u

/* Watched from outside: one store in each round. */
volatile uint32_t level;

static volatile uint32_t ticks, pulses;
static uint32_t values[64], history[256];

static int is_on(unsigned port)
{
    return (ITM_TCR & 1) && (ITM_TER >> port & 1);
}

__attribute__((noinline)) void say(const char *text)
{
    while (is_on(0) && *text) {
        while (!ITM_PORT32(0)) {
        }
        ITM_PORT8(0) = (uint8_t)*text++;
    }
}

__attribute__((noinline)) void tell(uint32_t word)
{
    if (is_on(1)) {
        while (!ITM_PORT32(1)) {
        }
        ITM_PORT32(1) = word;
    }
}

__attribute__((noinline)) void say_number(uint32_t number)
{
    char digits[12] = {0};
    unsigned at = sizeof digits - 1;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    say(digits + at);
}

/* A third of a round. */
__attribute__((noinline)) uint32_t mix(uint32_t seed)
{
    for (unsigned n = 0; n < 6000; n++) {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        values[n & 63] = seed;
    }
    return seed;
}

__attribute__((noinline)) uint32_t smooth(void)
{
    uint32_t sum = 0;
    for (unsigned pass = 0; pass < 10; pass++) {
        for (unsigned n = 1; n < 255; n++) {
            history[n] = (history[n - 1] + 2 * history[n] + history[n + 1]) / 4;
            sum += history[n];
        }
    }
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
}

__attribute__((noinline)) uint32_t average(void)
{
    uint32_t sum = 0;
    for (unsigned n = 0; n < 64; n++) {
        sum += values[n] / (n + 1);
    }
    return sum;
}

__attribute__((noinline)) void housekeeping(void)
{
    for (unsigned n = 0; n < 256; n++) {
        history[n] += n ^ ticks;
    }
}

void SysTick_Handler(void)
{
    ticks++;
    housekeeping();
}

/* Comes about ten times in a round, also in the midst of the other handler. */
void IRQ_Handler(void)
{
    TIM2_SR = 0;
    pulses++;
}

__attribute__((noinline)) void wait_for_tick(void)
{
    for (uint32_t before = ticks; ticks == before;) {
        wait_for_interrupt();
    }
}

#ifdef TRACE_ITSELF
/* 2 Mbaud, a sample each 16,384 cycles, exceptions; port 0 and port 1. */
static void trace_on(void)
{
    DEMCR |= DEMCR_TRCENA;
    DBGMCU_CR |= DBGMCU_CR_TRACE_IOEN;
    TPIU_SPPR = 2;
    TPIU_ACPR = 168000000 / 2000000 - 1;
    TPIU_FFCR = 0x100;
    ITM_LAR = 0xC5ACCE55;
    ITM_TER = 3;
    ITM_TCR = 1u << 16 | 1u << 3 | 1;
    DWT_CYCCNT = 0;
    DWT_CTRL = 1u << 16 | 1u << 12 | 1u << 9 | 15u << 1 | 1;
}
#endif

int main(void)
{
    clock_to_168mhz();
#ifdef TRACE_ITSELF
    trace_on();
#endif
    say("tracing\n");
    /* SysTick gives way to the timer. */
    SCB_SHPR3 |= 0xF0u << 24;
    NVIC_IPR[TIM2_IRQ] = 0x10;
    nvic_enable_any(TIM2_IRQ);
    RCC_APB1ENR |= RCC_APB1ENR_TIM2EN;
    /* 16,422 cycles, which shares no factor but 2 with the periods of samples: those are multiples of 64. */
    TIM2_ARR = 8210;
    TIM2_EGR = 1;
    TIM2_SR = 0;
    TIM2_DIER = 1;
    TIM2_CR1 = 1;
    systick_start(168000);
    uint32_t seed = 2463534242u;
    for (unsigned n = 0; n < ROUNDS; n++) {
        wait_for_tick();
        seed = mix(seed);
        sort();
        level = smooth() + average();
        if (n % 4 == 0) {
            say("round ");
            say_number(n);
            say("\n");
        }
        tell(seed);
    }
    say("done\n");
    return 0;
}
