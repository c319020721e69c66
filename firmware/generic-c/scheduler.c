/* The switch itself is the only assembly: PendSV saves r4-r11 below the frame the exception entry
 * has pushed, asks next_stack for another stack, and restores from there. */
#include "scheduler.h"

#include <stdint.h>

#include "cortex_m0.h"

#define THREADS 3 /* the caller of threads_run and two more */
#define STACK_WORDS 256
#define FRAME_WORDS 16 /* r8-r11, r4-r7, then r0-r3, r12, lr, pc, xpsr */
#define CONTROL_PSP 2u
#define XPSR_THUMB (1u << 24)

static uint32_t stacks[THREADS][STACK_WORDS] __attribute__((aligned(8)));
static uint32_t *saved[THREADS];
static unsigned created = 1;
static volatile unsigned running;
static unsigned current;

/* Called by PendSV_Handler with the stack it has just saved to. */
__attribute__((used)) static uint32_t *next_stack(uint32_t *stack)
{
    saved[current] = stack;
    current = current + 1 == created ? 0 : current + 1;
    return saved[current];
}

__attribute__((naked)) void PendSV_Handler(void)
{
    __asm__("mrs   r0, psp          \n"
            "subs  r0, #16          \n"
            "stmia r0!, {r4-r7}     \n"
            "subs  r0, #32          \n"
            "mov   r4, r8           \n"
            "mov   r5, r9           \n"
            "mov   r6, r10          \n"
            "mov   r7, r11          \n"
            "stmia r0!, {r4-r7}     \n"
            "subs  r0, #16          \n"
            "mov   r4, lr           \n"
            "bl    next_stack       \n"
            "mov   lr, r4           \n"
            "ldmia r0!, {r4-r7}     \n"
            "mov   r8, r4           \n"
            "mov   r9, r5           \n"
            "mov   r10, r6          \n"
            "mov   r11, r7          \n"
            "ldmia r0!, {r4-r7}     \n"
            "msr   psp, r0          \n"
            "bx    lr               \n");
}

void thread_yield(void)
{
    SCB_ICSR = SCB_ICSR_PENDSVSET;
    /* The exception is taken before the instruction after the barrier. */
    __asm__ volatile("dsb\n isb" ::: "memory");
}

/* Where a thread's function returns to: it has nothing more to do, ever. */
static void thread_end(void)
{
    running--;
    for (;;) {
        thread_yield();
    }
}

void thread_create(thread_entry entry, unsigned argument)
{
    uint32_t *frame = &stacks[created][STACK_WORDS - FRAME_WORDS];
    frame[8] = argument;
    frame[13] = (uint32_t)(uintptr_t)thread_end;
    frame[14] = (uint32_t)(uintptr_t)entry & ~1u;
    frame[15] = XPSR_THUMB;
    saved[created++] = frame;
    running++;
}

void threads_run(void)
{
    SCB_SHPR3 |= SCB_SHPR3_PENDSV_LOWEST;
    /* The process stack takes over where the main stack is: the caller's frames stay valid, and
     * exceptions continue on a stack of their own. */
    uint32_t main_stack;
    __asm__ volatile("mrs %0, msp\n"
                     "msr psp, %0\n"
                     "msr control, %1\n"
                     "isb\n"
                     "msr msp, %2"
                     : "=&r"(main_stack)
                     : "r"(CONTROL_PSP), "r"(&stacks[0][STACK_WORDS])
                     : "memory");
    while (running > 0) {
        thread_yield();
    }
    uint32_t process_stack;
    __asm__ volatile("mrs %0, psp\n"
                     "msr msp, %0\n"
                     "msr control, %1\n"
                     "isb"
                     : "=&r"(process_stack)
                     : "r"(0)
                     : "memory");
    created = 1;
}
