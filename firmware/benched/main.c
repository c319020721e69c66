/* Functions to measure without a board: docs/bench.md. The same source for Cortex-M0, M3, M4 and AVR; main itself has nothing to do with them. */
#include <stdint.h>
#include <stdlib.h>

#include "trace/strobe_bench.h"

#define MOST 256

static uint16_t values[MOST];

static void fill(uint32_t n)
{
    uint16_t seed = 12345;
    for (uint16_t at = 0; at < n; at++) {
        seed = (uint16_t)(seed * 25173u + 13849u);
        values[at] = seed;
    }
}

/* Grows with the square. */
__attribute__((noinline)) void insertion_sort(uint16_t *all, uint16_t n)
{
    for (uint16_t next = 1; next < n; next++) {
        uint16_t value = all[next], at = next;
        for (; at && all[at - 1] > value; at--) {
            all[at] = all[at - 1];
        }
        all[at] = value;
    }
}

static void sift(uint16_t *all, uint16_t root, uint16_t n)
{
    for (uint16_t child; (child = (uint16_t)(2 * root + 1)) < n; root = child) {
        if (child + 1u < n && all[child + 1] > all[child]) {
            child++;
        }
        if (all[root] >= all[child]) {
            return;
        }
        uint16_t value = all[root];
        all[root] = all[child];
        all[child] = value;
    }
}

/* Grows with n log n. */
__attribute__((noinline)) void heap_sort(uint16_t *all, uint16_t n)
{
    for (uint16_t root = n / 2; root--;) {
        sift(all, root, n);
    }
    for (uint16_t end = n; end-- > 1;) {
        uint16_t value = all[0];
        all[0] = all[end];
        all[end] = value;
        sift(all, 0, end);
    }
}

/* In proportion. */
__attribute__((noinline)) uint16_t crc16(const uint8_t *bytes, uint16_t length)
{
    uint16_t crc = 0xFFFF;
    while (length--) {
        crc ^= (uint16_t)(*bytes++ << 8);
        for (uint8_t bit = 0; bit < 8; bit++) {
            crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
        }
    }
    return crc;
}

/* Not at all. */
__attribute__((noinline)) uint32_t scale(uint32_t value)
{
    return value / 1000u * 1024u + value % 1000u;
}

__attribute__((noinline)) float polynomial(float x)
{
    return ((0.25f * x + 1.5f) * x - 3.0f) * x + 0.125f;
}

/* A copy on the stack, so deep as the input is large. */
__attribute__((noinline)) uint16_t deepest(uint16_t n)
{
    volatile uint16_t here = n;
    return n ? (uint16_t)(deepest((uint16_t)(n - 1)) + here) : 0;
}

STROBE_BENCH(insertion_sort, 8, 16, 32, 64, 128, 256)
{
    insertion_sort(values, (uint16_t)n);
}
STROBE_BENCH_SETUP(insertion_sort)
{
    fill(n);
}

STROBE_BENCH(heap_sort, 8, 16, 32, 64, 128, 256)
{
    heap_sort(values, (uint16_t)n);
}
STROBE_BENCH_SETUP(heap_sort)
{
    fill(n);
}

STROBE_BENCH(crc16, 1, 16, 64, MOST)
{
    STROBE_KEEP(crc16((const uint8_t *)values, (uint16_t)n));
}

STROBE_BENCH(scale, 1, 1000, 100000, 4294967295)
{
    STROBE_KEEP(scale(n));
}

STROBE_BENCH(polynomial)
{
    volatile float x = 1.5f;
    STROBE_KEEP(polynomial(x));
}

STROBE_BENCH(recursion, 1, 8, 16)
{
    STROBE_KEEP(deepest((uint16_t)n));
}

/* The first call asks for memory that the later ones find. */
STROBE_BENCH(allocate, 16, 64)
{
    void *block = malloc(n);
    STROBE_KEEP(block);
    free(block);
}
STROBE_BENCH_CALLS(allocate, 3);

int main(void)
{
    fill(MOST);
    heap_sort(values, MOST);
    return 0;
}
