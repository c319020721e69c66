/* A sampler in four threads, with every kind of hand-over:
 *
 *   TIM3's interrupt, every 2 ms, wakes `sensor` (priority 4), which
 *   hands each sample to `filter` (3) by a queue; after four of them `filter` has work to do.
 *   `logger` (2) sleeps 10 ms at a time, then works for longer than TIM3's period, and
 *   masks interrupts for a while in flush_log: the longest latencies come from there.
 *   `idle` (0) sleeps.
 *
 * 8 MHz, no wait states. Ends in finished() after SAMPLES samples. */
#include "board.h"
#include "cortex_m0.h"
#include "kernel.h"

#define TICK_CYCLES 8000u
#define SAMPLE_CYCLES 16000u
#define SAMPLES 100
#define STACK_WORDS 96u

/* Left for the debugger. */
volatile uint32_t filtered, logged, lost;

static struct semaphore sampled, queued;
static uint32_t queue[8];
static volatile unsigned queue_in, queue_out;

void TIM3_IRQHandler(void)
{
    TIM3->sr = ~TIM_SR_UIF; /* write 0 to clear */
    semaphore_give(&sampled);
}

static void sampling_start(void)
{
    RCC->apb1enr |= RCC_APB1ENR_TIM3EN;
    TIM3->psc = 0;
    TIM3->arr = SAMPLE_CYCLES - 1;
    TIM3->dier = TIM_DIER_UIE;
    TIM3->cr1 = TIM_CR1_CEN;
    nvic_enable(IRQ_TIM3);
}

/* Something to do: about 7 cycles a turn. */
__attribute__((noipa)) static uint32_t work(uint32_t turns, uint32_t seed)
{
    while (turns-- > 0) {
        seed = seed * 1664525u + 1013904223u;
    }
    return seed;
}

static void queue_put(uint32_t value)
{
    if (queue_in - queue_out == sizeof queue / sizeof *queue) {
        lost++;
        return;
    }
    queue[queue_in++ % (sizeof queue / sizeof *queue)] = value;
    semaphore_give(&queued);
}

static void sensor_main(void)
{
    sampling_start();
    for (uint32_t n = 0; n < SAMPLES; n++) {
        semaphore_take(&sampled);
        queue_put(work(100, n));
    }
    finished();
}

static void filter_main(void)
{
    uint32_t sum = 0;
    for (unsigned n = 1;; n++) {
        semaphore_take(&queued);
        sum += queue[queue_out++ % (sizeof queue / sizeof *queue)];
        if (n % 4 == 0) {
            filtered = work(600, sum);
        }
    }
}

__attribute__((noipa)) static void flush_log(void)
{
    uint32_t before = critical_begin();
    logged = work(250, logged);
    critical_end(before);
}

static void logger_main(void)
{
    for (;;) {
        thread_sleep(10);
        logged = work(1500, logged);
        flush_log();
        logged = work(1500, logged);
    }
}

static void idle_main(void)
{
    for (;;) {
        wait_for_interrupt();
    }
}

static uint32_t sensor_stack[STACK_WORDS] __attribute__((aligned(8)));
static uint32_t filter_stack[STACK_WORDS] __attribute__((aligned(8)));
static uint32_t logger_stack[STACK_WORDS] __attribute__((aligned(8)));
static uint32_t idle_stack[STACK_WORDS] __attribute__((aligned(8)));

#define STACK(words) ((struct thread_stack){words, STACK_WORDS})

int main(void)
{
    thread_create("sensor", 4, sensor_main, STACK(sensor_stack));
    thread_create("filter", 3, filter_main, STACK(filter_stack));
    thread_create("logger", 2, logger_main, STACK(logger_stack));
    thread_create("idle", 0, idle_main, STACK(idle_stack));
    kernel_run(TICK_CYCLES);
}
