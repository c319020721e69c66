/* Baton: threads with priorities, semaphores and sleep for an ARMv6-M core, small enough to read at a sitting.
 *
 * The thread with the highest priority that is ready runs; among equals, the one created first. SysTick wakes sleepers, PendSV
 * switches. What a thread's structure looks like is a shape of its own: baton's, or one after
 * another kernel's, so that a debugger's idea of that kernel can be tried on a program this small. */
#ifndef THREADS_KERNEL_H
#define THREADS_KERNEL_H

#include <stdint.h>

#if defined(SHAPE_FREERTOS)
#include "shape_freertos.h"
#elif defined(SHAPE_NUTTX)
#include "shape_nuttx.h"
#elif defined(SHAPE_ZEPHYR)
#include "shape_zephyr.h"
#else
#include "shape_baton.h"
#endif

#define MAX_THREADS 6u

struct semaphore {
    volatile int count;
};

struct thread_stack {
    uint32_t *words;
    unsigned count;
};

/* Before kernel_run. The stack is the caller's and has at least 48 words. */
void thread_create(const char *name, int priority, void (*entry)(void), struct thread_stack stack);

/* Starts the threads; never returns. `tick_cycles` is SysTick's period. */
_Noreturn void kernel_run(uint32_t tick_cycles);

/* Gives the core up for so many ticks. */
void thread_sleep(uint32_t ticks);

/* From threads: waits until the count is above 0, and takes one. */
void semaphore_take(struct semaphore *semaphore);

/* From threads and interrupt handlers. */
void semaphore_give(struct semaphore *semaphore);

/* Interrupts off, nesting. */
static inline uint32_t critical_begin(void)
{
    uint32_t before;
    __asm__ volatile("mrs %0, primask\n cpsid i" : "=r"(before)::"memory");
    return before;
}

static inline void critical_end(uint32_t before)
{
    __asm__ volatile("msr primask, %0\n isb" ::"r"(before) : "memory");
}

#endif
