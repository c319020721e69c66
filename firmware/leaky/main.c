/* A sensor in four threads that leaks and breaks up its heap, by the faults that real ones have:
 *
 *   TIM3's interrupt, every 2 ms, wakes `sensor`, which allocates a record for each sample, of 16 to
 *   55 bytes, and hands it to `filter`, which frees it; of every eighth, which is out of range, it
 *   forgets to (the leak).
 *   `logger` keeps the last LINES texts in a ring and replaces the oldest each time, with texts of
 *   growing and shrinking length in between the records: its blocks break up the heap.
 *   `report` once takes a big buffer, for longer than it needs it: the peak.
 *
 * Every call of malloc and free is noted in `heap_log`, which a debugger or a test reads: what a
 * profiler says can be compared with what the firmware did. Interrupts are off meanwhile, as newlib's
 * allocator is for one thread at a time.
 *
 * 8 MHz. Ends in finished() after SAMPLES samples. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "cortex_m0.h"
#include "kernel.h"

#define TICK_CYCLES 8000u
#define SAMPLE_CYCLES 16000u
#define SAMPLES 160
#define STACK_WORDS 96u
#define LINES 6u
#define QUEUE 8u

/* What was asked of the heap: the pointer, and the bytes asked for, or 0 where it was freed. */
struct heap_call {
    void *pointer;
    uint32_t bytes;
};
struct heap_call heap_log[600];
volatile unsigned heap_calls;

struct record {
    uint32_t number;
    uint16_t length, value;
    uint8_t bytes[];
};

static struct semaphore sampled, queued;
static struct record *queue[QUEUE];
static volatile unsigned queue_in, queue_out;
static char *lines[LINES];
volatile uint32_t filtered, lost;

static void note(void *pointer, uint32_t bytes)
{
    if (heap_calls < sizeof heap_log / sizeof *heap_log) {
        heap_log[heap_calls++] = (struct heap_call){pointer, bytes};
    }
}

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

__attribute__((noinline)) static struct record *record_new(uint32_t number)
{
    uint32_t length = 8 + number * 13 % 40;
    uint32_t before = critical_begin();
    struct record *record = malloc(sizeof *record + length);
    note(record, sizeof *record + length);
    critical_end(before);
    if (record != 0) {
        record->number = number;
        record->length = (uint16_t)length;
        record->value = (uint16_t)(number * 37 % 256);
        memset(record->bytes, (int)number, length);
    }
    return record;
}

__attribute__((noinline)) static void record_free(struct record *record)
{
    uint32_t before = critical_begin();
    note(record, 0);
    free(record);
    critical_end(before);
}

static void sensor_main(void)
{
    sampling_start();
    for (uint32_t n = 0; n < SAMPLES; n++) {
        semaphore_take(&sampled);
        struct record *record = record_new(n);
        if (record == 0 || queue_in - queue_out == QUEUE) {
            lost++;
            if (record != 0) {
                record_free(record);
            }
            continue;
        }
        queue[queue_in++ % QUEUE] = record;
        semaphore_give(&queued);
    }
    finished();
}

static void filter_main(void)
{
    for (;;) {
        semaphore_take(&queued);
        struct record *record = queue[queue_out++ % QUEUE];
        if (record->number % 8 == 7) {
            continue; /* out of range, and not freed: the leak */
        }
        filtered += record->value;
        record_free(record);
    }
}

__attribute__((noinline)) static char *line_new(unsigned n)
{
    uint32_t length = 12 + n * 29 % 90;
    uint32_t before = critical_begin();
    char *line = malloc(length);
    note(line, length);
    critical_end(before);
    if (line != 0) {
        memset(line, ' ', length);
    }
    return line;
}

static void logger_main(void)
{
    for (unsigned n = 0;; n++) {
        char **line = &lines[n % LINES];
        if (*line != 0) {
            uint32_t before = critical_begin();
            note(*line, 0);
            free(*line);
            critical_end(before);
        }
        *line = line_new(n);
        thread_sleep(3);
    }
}

static void report_main(void)
{
    thread_sleep(100);
    uint32_t before = critical_begin();
    uint8_t *page = malloc(1500);
    note(page, 1500);
    critical_end(before);
    thread_sleep(40);
    before = critical_begin();
    note(page, 0);
    free(page);
    critical_end(before);
    for (;;) {
        thread_sleep(1000);
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
static uint32_t report_stack[STACK_WORDS] __attribute__((aligned(8)));
static uint32_t logger_stack[STACK_WORDS] __attribute__((aligned(8)));
static uint32_t idle_stack[STACK_WORDS] __attribute__((aligned(8)));

#define STACK(words) ((struct thread_stack){words, STACK_WORDS})

int main(void)
{
    thread_create("sensor", 4, sensor_main, STACK(sensor_stack));
    thread_create("filter", 3, filter_main, STACK(filter_stack));
    thread_create("report", 2, report_main, STACK(report_stack));
    thread_create("logger", 1, logger_main, STACK(logger_stack));
    thread_create("idle", 0, idle_main, STACK(idle_stack));
    kernel_run(TICK_CYCLES);
}
