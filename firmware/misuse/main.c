/* What must not be done to a heap, each once, for `strobe heap` to name: a double free, an allocation
 * that cannot be, a block taken by an interrupt's handler, a free of what is inside of a block, and
 * one of what is no block. In between what is allowed: calloc, realloc, free of NULL.
 *
 * The allocator is called through pointers, so that the compiler sees nothing of it.
 * Exits with 0. */
#include <stdint.h>
#include <stdlib.h>

#include "cortex_m0.h"

static void *(*volatile take)(size_t) = malloc;
static void *(*volatile take_cleared)(size_t, size_t) = calloc;
static void *(*volatile resize)(void *, size_t) = realloc;
static void (*volatile give)(void *) = free;

static void *volatile from_handler;
/* Looks like a block of newlib-nano: a size, then bytes. */
static uint32_t no_block[8] __attribute__((aligned(8))) = {0, 24};

void PendSV_Handler(void)
{
    from_handler = take(12);
}

__attribute__((noinline)) static void free_twice(void)
{
    void *block = take(24);
    give(block);
    give(block);
}

__attribute__((noinline)) static void take_too_much(void)
{
    if (take(1000000) != 0) {
        exit(1);
    }
}

__attribute__((noinline)) static void resize_some(void)
{
    char *block = resize(0, 10);
    block = resize(block, 200);
    char *cleared = take_cleared(7, 6);
    give(block);
    give(cleared);
    give(0);
}

__attribute__((noinline)) static void free_inside(void)
{
    uint32_t *block = take(64);
    block[3] = 24;
    give(block + 4);
}

__attribute__((noinline)) static void free_no_block(void)
{
    give(no_block + 2);
}

int main(void)
{
    free_twice();
    take_too_much();
    resize_some();
    SCB_ICSR = SCB_ICSR_PENDSVSET;
    __asm__ volatile("dsb\n isb" ::: "memory");
    give(from_handler);
    free_inside();
    free_no_block();
    exit(0);
}
