/* PendSV has the lowest priority, so a switch comes after all other handlers; SysTick and the devices'
 * interrupts share the highest. The first thread is started without an exception, by loading its
 * stack pointer, as some kernels do. */
#include "kernel.h"

#include "cortex_m0.h"

#define FRAME_WORDS 16u /* r8-r11, r4-r7, then r0-r3, r12, lr, pc, xpsr */
#define XPSR_THUMB (1u << 24)

SHAPE_VARIABLES

static thread_t threads[MAX_THREADS];
static unsigned created;
static struct {
    uint32_t wake_at;
    struct semaphore *waits_for;
} waits[MAX_THREADS];
static volatile uint32_t ticks;

/* A thread's function has returned: it waits for ever. */
static void thread_end(void)
{
    for (;;) {
        struct semaphore never = {0};
        semaphore_take(&never);
    }
}

void thread_create(const char *name, int priority, void (*entry)(void), struct thread_stack stack)
{
    thread_t *thread = &threads[created++];
    uint32_t *frame = stack.words + stack.count - FRAME_WORDS;
    frame[13] = (uint32_t)(uintptr_t)thread_end;
    frame[14] = (uint32_t)(uintptr_t)entry & ~1u;
    frame[15] = XPSR_THUMB;
    describe(thread, name, priority, created, stack.words);
    save_stack(thread, frame);
    set_ready(thread, 1);
}

/* The best thread that is ready; the last one created always is. */
static thread_t *best(void)
{
    thread_t *found = &threads[created - 1];
    for (unsigned i = created; i-- > 0;) {
        if (is_ready(&threads[i]) && priority_of(&threads[i]) >= priority_of(found)) {
            found = &threads[i];
        }
    }
    return found;
}

/* Called by PendSV_Handler with the stack it has just saved to. */
__attribute__((used)) static uint32_t *next_stack(uint32_t *stack)
{
    uint32_t before = critical_begin();
    save_stack(running(), stack);
    set_running(best());
    critical_end(before);
    return saved_stack(running());
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

/* A switch, if a better thread than the running one is ready. */
static void reschedule(void)
{
    if (running() != 0 && best() != running()) {
        SCB_ICSR = SCB_ICSR_PENDSVSET;
    }
}

static void wake(unsigned i)
{
    waits[i].wake_at = 0;
    waits[i].waits_for = 0;
    set_ready(&threads[i], 1);
}

void SysTick_Handler(void)
{
    uint32_t before = critical_begin();
    ticks++;
    for (unsigned i = 0; i < created; i++) {
        if (waits[i].wake_at != 0 && (int32_t)(ticks - waits[i].wake_at) >= 0) {
            wake(i);
        }
    }
    reschedule();
    critical_end(before);
}

void thread_sleep(uint32_t count)
{
    uint32_t before = critical_begin();
    waits[running() - threads].wake_at = ticks + count;
    set_ready(running(), 0);
    reschedule();
    critical_end(before);
}

void semaphore_take(struct semaphore *semaphore)
{
    uint32_t before = critical_begin();
    while (semaphore->count == 0) {
        waits[running() - threads].waits_for = semaphore;
        set_ready(running(), 0);
        reschedule();
        /* The switch comes here. */
        critical_end(before);
        before = critical_begin();
    }
    semaphore->count--;
    critical_end(before);
}

void semaphore_give(struct semaphore *semaphore)
{
    uint32_t before = critical_begin();
    semaphore->count++;
    for (unsigned i = 0; i < created; i++) {
        if (waits[i].waits_for == semaphore) {
            wake(i);
            break;
        }
    }
    reschedule();
    critical_end(before);
}

/* Jumps into the first thread: its frame is dropped, its entry called with its stack. */
__attribute__((naked, noreturn)) static void start_first(uint32_t *stack, uint32_t entry)
{
    (void)stack;
    (void)entry;
    __asm__("msr   psp, r0     \n"
            "movs  r0, #2      \n"
            "msr   control, r0 \n"
            "isb               \n"
            "cpsie i           \n"
            "bx    r1          \n");
}

_Noreturn void kernel_run(uint32_t tick_cycles)
{
    interrupts_off();
    SCB_SHPR3 |= SCB_SHPR3_PENDSV_LOWEST;
    set_running(best());
    systick_start(tick_cycles);
    uint32_t *frame = saved_stack(running());
    start_first(frame + FRAME_WORDS, frame[14] | 1u);
}

#ifdef KERNEL_TICKS
/* SysTick's rounds since kernel_run, for a clock that is built on them. */
uint32_t kernel_ticks(void) { return ticks; }
#endif
