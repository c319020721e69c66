/* printf on USART1 (PA9, 115200 8N1) with millisecond stamps from SysTick.
 *
 * Each line starts on a 10 ms boundary, so the stamps are the same in every run. Where the time
 * goes is the lesson: a 40-character line takes 3.5 ms on the wire, printf a fraction of that, and
 * the polling write hides the difference in a busy loop. */
#include <stdio.h>

#include "board.h"
#include "cortex_m0.h"

#define LINES 20
#define LINE_PERIOD_MS 10

static volatile uint32_t now_ms;

void SysTick_Handler(void)
{
    now_ms++;
}

static void sleep_until(uint32_t deadline_ms)
{
    while ((int32_t)(deadline_ms - now_ms) > 0) {
        wait_for_interrupt();
    }
}

/* Length of the Collatz sequence from `start`: something to print that takes a while. */
__attribute__((noipa)) static unsigned collatz_length(uint32_t start)
{
    unsigned length = 1;
    for (uint32_t n = start; n != 1; length++) {
        n = n % 2 ? 3 * n + 1 : n / 2;
    }
    return length;
}

int main(void)
{
    clock_to_48mhz(PREFETCH_ON);
    usart1_start(115200);
    systick_start(CPU_HZ / 1000);

    for (unsigned line = 1; line <= LINES; line++) {
        sleep_until(line * LINE_PERIOD_MS);
        uint32_t stamp_ms = now_ms;
        uint32_t start = 97 * line;
        printf("[%4lu ms] line %2u: collatz(%lu) = %u\n", (unsigned long)stamp_ms, line,
               (unsigned long)start, collatz_length(start));
    }
    usart1_drain();
    return 0;
}
