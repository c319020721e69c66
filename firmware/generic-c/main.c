/* Everything that makes a call tree difficult, in one deterministic program: recursion, calls
 * through pointers, callbacks from the library, tail calls, longjmp, SVC, PendSV and threads on two
 * stacks; printf through semihosting to tell what came out. Exits with 42. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler.h"
#include "semihosting.h"

/* --- library sort with a callback, and our own recursive one --- */

static uint32_t random_state = 0x2545f491;

static uint32_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

static int compare_u16(const void *left, const void *right)
{
    return *(const uint16_t *)left - *(const uint16_t *)right;
}

__attribute__((noipa)) static void merge_sort(uint16_t *values, uint16_t *scratch, unsigned count)
{
    if (count < 2) {
        return;
    }
    unsigned middle = count / 2;
    merge_sort(values, scratch, middle);
    merge_sort(values + middle, scratch, count - middle);
    memcpy(scratch, values, middle * sizeof *values);
    for (unsigned left = 0, right = middle, to = 0; left < middle; to++) {
        if (right < count && values[right] < scratch[left]) {
            values[to] = values[right++];
        } else {
            values[to] = scratch[left++];
        }
    }
}

static void sorting(void)
{
    enum { COUNT = 500 };
    static uint16_t by_library[COUNT], by_merging[COUNT], scratch[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        by_library[i] = by_merging[i] = (uint16_t)next_random();
    }
    qsort(by_library, COUNT, sizeof by_library[0], compare_u16);
    merge_sort(by_merging, scratch, COUNT);
    printf("sorting: least %u, median %u, greatest %u, both the same: %s\n", by_library[0],
           by_library[COUNT / 2], by_library[COUNT - 1],
           memcmp(by_library, by_merging, sizeof by_library) == 0 ? "yes" : "no");
}

/* --- recursion --- */

__attribute__((noipa)) static uint32_t ackermann(uint32_t m, uint32_t n)
{
    if (m == 0) {
        return n + 1;
    }
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__attribute__((noipa)) static uint32_t fibonacci(uint32_t n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

/* --- calls through pointers --- */

typedef int32_t (*operation)(int32_t, int32_t);

static int32_t add(int32_t a, int32_t b) { return a + b; }
static int32_t subtract(int32_t a, int32_t b) { return a - b; }
static int32_t multiply(int32_t a, int32_t b) { return a * b; }
static int32_t divide(int32_t a, int32_t b) { return a / b; }

static int32_t evaluate(const char *reverse_polish)
{
    static const char symbols[] = "+-*/";
    static const operation operations[] = {add, subtract, multiply, divide};
    int32_t stack[8];
    unsigned depth = 0;
    for (const char *c = reverse_polish; *c; c++) {
        const char *symbol = strchr(symbols, *c);
        if (symbol) {
            depth--;
            stack[depth - 1] = operations[symbol - symbols](stack[depth - 1], stack[depth]);
        } else {
            stack[depth++] = *c - '0';
        }
    }
    return stack[0];
}

/* --- tail calls: with optimisation each `return f(x)` below is a plain branch --- */

__attribute__((noipa)) static int is_odd(unsigned n);

__attribute__((noipa)) static int is_even(unsigned n)
{
    return n == 0 ? 1 : is_odd(n - 1);
}

__attribute__((noipa)) static int is_odd(unsigned n)
{
    return n == 0 ? 0 : is_even(n - 1);
}

/* --- leaving many frames at once --- */

static jmp_buf out;

__attribute__((noipa)) static int descend(int level, int trapdoor)
{
    if (level == trapdoor) {
        longjmp(out, 7);
    }
    return level == 0 ? 0 : descend(level - 1, trapdoor) + 1;
}

static int jumping(void)
{
    int code = setjmp(out);
    return code == 0 ? descend(20, 5) : code;
}

/* --- supervisor calls: the number is in the instruction, the arguments in the stacked frame --- */

__attribute__((used)) static void supervisor_call(uint32_t *frame)
{
    uint8_t number = ((const uint8_t *)(uintptr_t)frame[6])[-2];
    switch (number) {
    case 1:
        frame[0] += frame[1];
        break;
    case 2:
        frame[0] *= frame[1];
        break;
    }
}

/* Bit 2 of the return value in lr says which stack the caller was on. */
__attribute__((naked)) void SVC_Handler(void)
{
    __asm__("mov   r0, lr           \n"
            "lsls  r0, r0, #29      \n"
            "bmi   1f               \n"
            "mrs   r0, msp          \n"
            "b     2f               \n"
            "1:    mrs   r0, psp    \n"
            "2:    ldr   r1, =supervisor_call \n"
            "bx    r1               \n");
}

#define SUPERVISOR_CALL(number, a, b)                                                              \
    ({                                                                                             \
        register uint32_t r0 __asm__("r0") = (a);                                                  \
        register uint32_t r1 __asm__("r1") = (b);                                                  \
        __asm__ volatile("svc %2" : "+r"(r0) : "r"(r1), "I"(number) : "memory");                   \
        r0;                                                                                        \
    })

/* --- threads: a producer and a consumer with a queue of one --- */

static volatile uint32_t slot;
static volatile int slot_full;
static uint32_t received;

static void producer(unsigned count)
{
    for (uint32_t value = 1; value <= count; value++) {
        while (slot_full) {
            thread_yield();
        }
        slot = SUPERVISOR_CALL(2, value, value);
        slot_full = 1;
    }
}

static void consumer(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        while (!slot_full) {
            thread_yield();
        }
        received += slot;
        slot_full = 0;
    }
}

static void threading(void)
{
    thread_create(producer, 100);
    thread_create(consumer, 100);
    threads_run();
    printf("threads: sum of the first 100 squares is %lu\n", (unsigned long)received);
}

int main(void)
{
    int started = semihosting_clock();
    semihosting_print("generic-c\n");
    sorting();
    printf("recursion: ackermann(2, 5) = %lu, fibonacci(15) = %lu\n",
           (unsigned long)ackermann(2, 5), (unsigned long)fibonacci(15));
    printf("pointers: 7 5 + 3 * 4 / = %ld\n", (long)evaluate("75+3*4/"));
    printf("tail calls: 1001 is %s\n", is_even(1001) ? "even" : "odd");
    printf("longjmp: back with %d\n", jumping());
    printf("supervisor calls: 30 + 12 = %lu, 6 * 7 = %lu\n",
           (unsigned long)SUPERVISOR_CALL(1, 30, 12), (unsigned long)SUPERVISOR_CALL(2, 6, 7));
    threading();
    printf("clock: %s\n", semihosting_clock() >= started ? "goes forward" : "goes backward");
    fprintf(stderr, "this line is on standard error\n");
    exit(42);
}
