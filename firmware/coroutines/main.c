/* Three coroutines that hand the core to each other without any exception: each has a stack, and `resume` changes the
 * stack pointer by hand. All run on the main stack pointer, so SysTick's handler runs on whichever stack is in
 * use when it comes.
 *
 * Each of them works ROUNDS times, the second twice and the third three times as long as the first, and calls a
 * function deeper before it hands over. Exits with the number of rounds that were counted. */
#include <stdint.h>

#include "cortex_m0.h"

#define COROUTINES 3u
#define ROUNDS 100u
#define STACK_WORDS 128u

static uint32_t first_stack[STACK_WORDS] __attribute__((aligned(8)));
static uint32_t second_stack[STACK_WORDS] __attribute__((aligned(8)));
static uint32_t third_stack[STACK_WORDS] __attribute__((aligned(8)));

static uint32_t *saved[COROUTINES + 1]; /* the last one is main's */
static unsigned current = COROUTINES;
static volatile uint32_t rounds, ticks;

void SysTick_Handler(void)
{
    ticks++;
}

/* Saves what a callee must keep on this stack, goes on with another one. */
__attribute__((naked, noinline)) static void swap_stacks(uint32_t **from, uint32_t *to)
{
    (void)from;
    (void)to;
    __asm__("push  {r4-r7, lr} \n"
            "mov   r2, r8      \n"
            "mov   r3, r9      \n"
            "push  {r2, r3}    \n"
            "mov   r2, sp      \n"
            "str   r2, [r0]    \n"
            "mov   sp, r1      \n"
            "pop   {r2, r3}    \n"
            "mov   r8, r2      \n"
            "mov   r9, r3      \n"
            "pop   {r4-r7, pc} \n");
}

__attribute__((noipa)) static void resume(unsigned next)
{
    unsigned before = current;
    current = next;
    swap_stacks(&saved[before], saved[next]);
}

__attribute__((noipa)) static void work(uint32_t turns)
{
    while (turns-- > 0) {
        __asm__ volatile("");
    }
}

__attribute__((noipa)) static void pass_on(unsigned next)
{
    rounds++;
    resume(next);
}

static void body(unsigned self)
{
    for (unsigned n = 0; n < ROUNDS; n++) {
        work(100u * (self + 1));
        pass_on((self + 1) % COROUTINES);
    }
    resume(COROUTINES);
}

static void first(void) { body(0); }
static void second(void) { body(1); }
static void third(void) { body(2); }

static void prepare(unsigned n, uint32_t *stack, void (*entry)(void))
{
    uint32_t *top = stack + STACK_WORDS - 8;
    top[6] = (uint32_t)(uintptr_t)entry | 1u;
    saved[n] = top;
}

int main(void)
{
    prepare(0, first_stack, first);
    prepare(1, second_stack, second);
    prepare(2, third_stack, third);
    systick_start(7001);
    resume(0);
    return (int)(rounds / ROUNDS);
}
