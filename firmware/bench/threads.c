/* Four threads pass messages through bounded queues, as firmware on an operating system does: a switch through PendSV each
 * time a queue is full or empty, a critical section for each message. Nothing depends on time, so everyone executes the
 * same instructions. */
#include "bench.h"

#define MESSAGES 1000000u
#define THREADS 4
#define SLOTS 4

struct queue {
    uint32_t slot[SLOTS];
    uint32_t head, tail;
};

static struct queue queues[THREADS - 1];
static uint32_t stacks[THREADS][128];
static uint32_t *saved[THREADS];
static uint32_t running;
static uint32_t checksum;

#define ICSR (*(volatile uint32_t *)0xe000ed04)
#define PENDSVSET (1u << 28)

static void yield(void)
{
    ICSR = PENDSVSET;
    __asm__ volatile("dsb\n\tisb" : : : "memory");
}

/* Keeps the stack of who ran and gives that of who is next: round robin. */
__attribute__((used)) static uint32_t *next_stack(uint32_t *sp)
{
    saved[running] = sp;
    running = (running + 1) % THREADS;
    return saved[running];
}

__attribute__((naked)) void pend_sv(void)
{
    __asm__ volatile(
        "mrs r0, psp\n\t"
#if __ARM_ARCH >= 7
        "stmdb r0!, {r4-r11}\n\t"
        "push {r3, lr}\n\t"
        "bl next_stack\n\t"
        "pop {r3, lr}\n\t"
        "ldmia r0!, {r4-r11}\n\t"
        "msr psp, r0\n\t"
        "bx lr\n\t"
#else
        "subs r0, #32\n\t"
        "mov r1, r0\n\t"
        "stmia r1!, {r4-r7}\n\t"
        "mov r4, r8\n\t"
        "mov r5, r9\n\t"
        "mov r6, r10\n\t"
        "mov r7, r11\n\t"
        "stmia r1!, {r4-r7}\n\t"
        "push {r3, lr}\n\t"
        "bl next_stack\n\t"
        "mov r1, r0\n\t"
        "adds r1, #16\n\t"
        "ldmia r1!, {r4-r7}\n\t"
        "mov r8, r4\n\t"
        "mov r9, r5\n\t"
        "mov r10, r6\n\t"
        "mov r11, r7\n\t"
        "msr psp, r1\n\t"
        "ldmia r0!, {r4-r7}\n\t"
        "pop {r3, pc}\n\t"
#endif
    );
}

static uint32_t lock(void)
{
    uint32_t before;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(before) : : "memory");
    return before;
}

static void unlock(uint32_t before)
{
    __asm__ volatile("msr primask, %0" : : "r"(before) : "memory");
}

static void send(struct queue *q, uint32_t message)
{
    for (;;) {
        uint32_t before = lock();
        int room = q->head - q->tail < SLOTS;
        if (room) {
            q->slot[q->head++ % SLOTS] = message;
        }
        unlock(before);
        if (room) {
            return;
        }
        yield();
    }
}

static uint32_t receive(struct queue *q)
{
    for (;;) {
        uint32_t before = lock(), message = 0;
        int any = q->head != q->tail;
        if (any) {
            message = q->slot[q->tail++ % SLOTS];
        }
        unlock(before);
        if (any) {
            return message;
        }
        yield();
    }
}

static uint32_t mix(uint32_t x, uint32_t by)
{
    for (int i = 0; i < 4; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x += by;
    }
    return x;
}

static void produce(void)
{
    for (uint32_t i = 0;; i++) {
        send(&queues[0], mix(i, 1));
    }
}

static void filter(void)
{
    for (;;) {
        send(&queues[1], mix(receive(&queues[0]), 2));
    }
}

static void scale(void)
{
    for (;;) {
        send(&queues[2], mix(receive(&queues[1]), 3));
    }
}

/* A frame as exception entry leaves it, with r4 to r11 below. */
static void start(uint32_t n, void (*entry)(void))
{
    uint32_t *sp = &stacks[n][128 - 16];
    sp[14] = (uint32_t)(uintptr_t)entry & ~1u;
    sp[15] = 1u << 24;
    saved[n] = sp;
}

uint32_t work(void)
{
    start(1, produce);
    start(2, filter);
    start(3, scale);
    /* From here on this is thread 0, on the stack it had; handlers use that of thread 0, which is free. */
    __asm__ volatile("mov r0, sp\n\tmsr psp, r0\n\tmovs r0, #2\n\tmsr control, r0\n\tisb" : : : "r0", "memory");
    __asm__ volatile("cpsid i\n\tmsr msp, %0\n\tcpsie i" : : "r"(&stacks[0][128]) : "memory");
    for (uint32_t i = 0; i < MESSAGES; i++) {
        checksum = mix(checksum ^ receive(&queues[2]), 4);
    }
    return checksum;
}

const uint32_t expected = 0x4c4ca14c;
