/* A thread whose stack has 40 bytes left at its deepest.
 *
 *   `sampler` (priority 2) hands a number over every 5 ms;
 *   `reporter` (1) turns it into digits, in a buffer of its own: that is the deepest that its stack
 *   gets, unless an interrupt comes while the digits are made. Its stack was sized by eye.
 *   `idle` (0) sleeps.
 *
 * 8 MHz, no wait states. Ends in finished() after SAMPLES samples. */
#include "board.h"
#include "cortex_m0.h"
#include "threads/kernel.h"

#define TICK_CYCLES 8000u
#define SAMPLES 40u

/* Left for the debugger. */
volatile uint32_t reported;

static struct semaphore sampled;
static volatile uint32_t sample;

/* Decimal digits, as a print over a slow line would send them. */
static __attribute__((noinline)) uint32_t digits(uint32_t value, char *to)
{
    char reversed[12];
    uint32_t count = 0;
    do {
        uint32_t tens = 0;
        for (uint32_t rest = value; rest >= 10; rest -= 10) {
            tens++;
        }
        reversed[count++] = (char)('0' + value - 10 * tens);
        value = tens;
    } while (value != 0);
    for (uint32_t i = 0; i < count; i++) {
        to[i] = reversed[count - 1 - i];
    }
    return count;
}

static __attribute__((noinline)) void report(uint32_t value)
{
    char line[64];
    uint32_t length = digits(value, line);
    for (uint32_t i = 0; i < length; i++) {
        reported += (uint32_t)line[i];
    }
}

static void sampler_main(void)
{
    for (uint32_t n = 0; n < SAMPLES; n++) {
        thread_sleep(5);
        sample = 977 * n;
        semaphore_give(&sampled);
    }
    finished();
}

static void reporter_main(void)
{
    for (;;) {
        semaphore_take(&sampled);
        report(sample);
    }
}

static void idle_main(void)
{
    for (;;) {
        wait_for_interrupt();
    }
}

static uint32_t sampler_stack[64] __attribute__((aligned(8)));
static uint32_t reporter_stack[48] __attribute__((aligned(8)));
static uint32_t idle_stack[48] __attribute__((aligned(8)));

#define STACK(words) ((struct thread_stack){words, sizeof words / sizeof words[0]})

int main(void)
{
    thread_create("sampler", 2, sampler_main, STACK(sampler_stack));
    thread_create("reporter", 1, reporter_main, STACK(reporter_stack));
    thread_create("idle", 0, idle_main, STACK(idle_stack));
    kernel_run(TICK_CYCLES);
}
