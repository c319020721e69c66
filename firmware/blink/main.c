/* The first program on any board: an LED on PA5, one second on, one second off (0.5 Hz).
 *
 * SysTick counts 24 bits, a third of a second at 48 MHz, so it ticks in milliseconds and the
 * handler counts; the processor sleeps in between. The program never ends. */
#include "board.h"
#include "cortex_m0.h"

#define LED_PIN 5
#define HALF_PERIOD_MS 1000

static uint32_t elapsed_ms;

static void led_toggle(void)
{
    uint32_t mask = 1u << LED_PIN;
    GPIOA->bsrr = GPIOA->odr & mask ? mask << 16 : mask;
}

void SysTick_Handler(void)
{
    if (++elapsed_ms == HALF_PERIOD_MS) {
        elapsed_ms = 0;
        led_toggle();
    }
}

int main(void)
{
    clock_to_48mhz(PREFETCH_ON);
    RCC->ahbenr |= RCC_AHBENR_IOPAEN;
    pin_output(GPIOA, LED_PIN);
    systick_start(CPU_HZ / 1000);
    for (;;) {
        wait_for_interrupt();
    }
}
