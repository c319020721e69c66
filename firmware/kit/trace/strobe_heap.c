/* Wrappers around malloc and its like, and the records that they send. */
#include "strobe_heap.h"

#include <stddef.h>

#if STROBE_TRACE

/* Words of the stack in a record. */
#define PIECE (STROBE_MOST_WORDS - 1)
_Static_assert(STROBE_HEAP_STACK % PIECE == 0, "a record has eight words of the stack");

#ifdef __AVR__

#if STROBE_HEAP_STACK
#error "strobe finds callers in a piece of the stack for Arm only: leave STROBE_HEAP_STACK at 0"
#endif

/* Program memory is addressed in words; strobe, as the ELF file, in bytes. Nothing tells whether a handler runs. */
#define ADDRESS(pointer) ((uint32_t)(uintptr_t)(pointer) << 1)
#define EXCEPTION() 0u

#else

#define ADDRESS(pointer) ((uint32_t)(uintptr_t)(pointer))

__attribute__((always_inline)) static inline uint32_t exception(void)
{
    uint32_t number;
    __asm__ volatile("mrs %0, ipsr" : "=r"(number));
    return number & 0x1FFu;
}
#define EXCEPTION() exception()

#endif

#define HEAD(kind, state) STROBE_HEAD(kind, (state) << 9 | EXCEPTION())

/* Sets the cycle counter going with the first record, where that is the clock: no source of the program needs to be changed. */
#if STROBE_TRACE_OVER != STROBE_OVER_ITM && !defined(STROBE_TRACE_CLOCK)
__attribute__((always_inline)) static inline void start(void)
{
    static uint8_t started;
    if (!started) {
        started = 1;
        STROBE_START();
    }
}
#else
#define start() ((void)0)
#endif

#if STROBE_HEAP_STACK

/* Where the stack ends, so that nothing behind memory is read: the main stack at what the vector table has for it. A thread's stack lies
 * among other variables. */
#ifndef STROBE_HEAP_STACK_END
#if defined(__ARM_ARCH_7M__) || defined(__ARM_ARCH_7EM__) || defined(__ARM_ARCH_8M_MAIN__)
#define VTOR (*(const uint32_t *const volatile *)0xE000ED08u) /* DDI 0403, B3.2.5 */
#else
#define VTOR ((const uint32_t *)0)
#endif
__attribute__((always_inline)) static inline const uint32_t *stack_end(void)
{
    const uint32_t *table = VTOR;
    __asm__("" : "+r"(table)); /* or address 0 is taken for an error */
    return (const uint32_t *)*table;
}
#define STROBE_HEAP_STACK_END stack_end()
#endif

/* The stack in pieces, each with the address of its first word; how many words a piece has is its id. */
static void send_stack(const uint32_t *at)
{
    const uint32_t *end = STROBE_HEAP_STACK_END;
    for (uint32_t part = 0; part < STROBE_HEAP_STACK / PIECE && at != end; part++) {
        uint32_t words[1 + PIECE] = {ADDRESS(at)}, count = 0;
        while (count < PIECE && at != end) {
            words[++count] = *at++;
        }
        strobe_trace_words(STROBE_HEAD(STROBE_KIND_STACK, count), words, 1 + PIECE);
    }
}

#endif

#if STROBE_HEAP_STACK || defined(STROBE_HEAP_THREAD)

#ifdef __AVR__
typedef uint8_t interrupts;
#define INTERRUPTS_OFF "in %0, __SREG__\n\tcli"
#define INTERRUPTS_AS "out __SREG__, %0"
#else
typedef uint32_t interrupts;
#define INTERRUPTS_OFF "mrs %0, primask\n\tcpsid i"
#define INTERRUPTS_AS "msr primask, %0"
#endif

/* Records that must follow one another are sent with interrupts off. */
__attribute__((always_inline)) static inline interrupts interrupts_off(void)
{
    interrupts before;
    __asm__ volatile(INTERRUPTS_OFF : "=r"(before) : : "memory");
    return before;
}

__attribute__((always_inline)) static inline void interrupts_as(interrupts before)
{
    __asm__ volatile(INTERRUPTS_AS : : "r"(before) : "memory");
}

#endif

#ifdef STROBE_HEAP_THREAD

_Static_assert(STROBE_HEAP_THREAD_AGAIN > 0 && STROBE_HEAP_THREAD_AGAIN < 256, "it is counted in a byte");

/* The program's own. */
uintptr_t STROBE_HEAP_THREAD(void);

/* Who makes a call, asked for with interrupts as they are: an operating system may want them on. In handlers it does not matter. */
__attribute__((always_inline)) static inline uintptr_t running(void)
{
    return EXCEPTION() ? 0 : STROBE_HEAP_THREAD();
}

/* Before a record of a thread, if it is another thread than the last time. */
__attribute__((always_inline)) static inline void send_thread(uintptr_t now)
{
    static uintptr_t last;
    static uint8_t left;
    if (EXCEPTION()) {
        return;
    }
    if (!left || now != last) {
        last = now;
        left = STROBE_HEAP_THREAD_AGAIN;
        strobe_trace_value(STROBE_HEAD(STROBE_KIND_THREAD, STROBE_HEAP_RUNS), (uint32_t)now);
    }
    left--;
}

void strobe_heap_thread_name(uintptr_t thread, const char *name)
{
    uint32_t length = 0;
    while (name && length < STROBE_HEAP_LONGEST_NAME && name[length]) {
        length++;
    }
    if (!length) {
        return;
    }
    start();
    interrupts before = interrupts_off();
    strobe_trace_value(STROBE_HEAD(STROBE_KIND_THREAD, STROBE_HEAP_NAMED + length), (uint32_t)thread);
    for (uint32_t place = 0, at = 0; at < length; place++) {
        uint32_t word = 0;
        for (uint32_t n = 0; n < 4 && at < length; n++) {
            word |= (uint32_t)(uint8_t)name[at++] << 8 * n;
        }
        strobe_trace_value(STROBE_HEAD(STROBE_KIND_THREAD, STROBE_HEAP_LETTERS + place), word);
    }
    interrupts_as(before);
}

#else

#define running() 0u
#define send_thread(now) ((void)(now))

#endif

/* A record, behind one of its thread if need be: no other thread or handler comes in between. */
#ifdef STROBE_HEAP_THREAD
static void send_bare(uint32_t head, const uint32_t *words, uint32_t count)
{
    uintptr_t now = running();
    interrupts before = interrupts_off();
    send_thread(now);
    strobe_trace_words(head, words, count);
    interrupts_as(before);
}
#else
#define send_bare(head, words, count) strobe_trace_words(head, words, count)
#endif

/* The same with the stack before it. */
#if STROBE_HEAP_STACK
static void send(uint32_t head, const uint32_t *words, uint32_t count, struct strobe_heap_caller caller)
{
    uintptr_t now = running();
    interrupts before = interrupts_off();
    send_thread(now);
    send_stack(caller.stack);
    strobe_trace_words(head, words, count);
    interrupts_as(before);
}
#else
#define send(head, words, count, caller) send_bare(head, words, count)
#endif

void strobe_heap_allocated(const void *pointer, uint32_t size, struct strobe_heap_caller caller)
{
    start();
    uint32_t words[] = {(uint32_t)(uintptr_t)pointer, size, ADDRESS(caller.returns_to)};
    send(HEAD(STROBE_KIND_ALLOCATE, STROBE_HEAP_DONE), words, 3, caller);
}

void strobe_heap_freed(const void *pointer, struct strobe_heap_caller caller)
{
    start();
    uint32_t words[] = {(uint32_t)(uintptr_t)pointer, ADDRESS(caller.returns_to)};
    send(HEAD(STROBE_KIND_FREE, STROBE_HEAP_DONE), words, 2, caller);
}

void strobe_heap_resizing(const void *pointer, struct strobe_heap_caller caller)
{
    start();
    uint32_t words[] = {(uint32_t)(uintptr_t)pointer, ADDRESS(caller.returns_to)};
    send_bare(HEAD(STROBE_KIND_FREE, STROBE_HEAP_BEGUN), words, 2);
}

void strobe_heap_resized(const void *before, const void *pointer, uint32_t size, struct strobe_heap_caller caller)
{
    start();
    uint32_t words[] = {
        (uint32_t)(uintptr_t)pointer, size, ADDRESS(caller.returns_to), (uint32_t)(uintptr_t)before,
    };
    send(HEAD(STROBE_KIND_RESIZE, STROBE_HEAP_DONE), words, 4, caller);
}

#endif

/* The linker's --wrap=malloc has calls of malloc come here, and names the allocator's own __real_malloc. What the allocator calls inside
 * itself is not wrapped. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *pointer, size_t size);
void __real_free(void *pointer);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *pointer, size_t size);
void __wrap_free(void *pointer);

void *__wrap_malloc(size_t size)
{
    void *pointer = __real_malloc(size);
    STROBE_HEAP_ALLOCATED(pointer, size);
    return pointer;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *pointer = __real_calloc(count, size);
    STROBE_HEAP_ALLOCATED(pointer, count * size);
    return pointer;
}

void *__wrap_realloc(void *before, size_t size)
{
    if (before != NULL) {
        STROBE_HEAP_RESIZING(before);
    }
    void *pointer = __real_realloc(before, size);
    STROBE_HEAP_RESIZED(before, pointer, size);
    return pointer;
}

void __wrap_free(void *pointer)
{
    if (pointer != NULL) {
        STROBE_HEAP_FREED(pointer);
    }
    __real_free(pointer);
}
