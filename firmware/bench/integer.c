/* Tight loops: bitwise CRC-32, insertion sort, 64-bit multiplication. */
#include "bench.h"

enum { TURNS = 1000, BYTES = 1024, SORTED = 256 };
static uint8_t data[BYTES];

__attribute__((noinline)) static uint32_t xorshift(uint32_t *state)
{
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

__attribute__((noinline)) static uint32_t crc32(const uint8_t *bytes, int count)
{
    uint32_t crc = ~UINT32_C(0);
    for (int i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (UINT32_C(0xEDB88320) & -(crc & 1));
        }
    }
    return ~crc;
}

__attribute__((noinline)) static void sort(uint8_t *bytes, int count)
{
    for (int i = 1; i < count; i++) {
        uint8_t value = bytes[i];
        int at = i;
        for (; at > 0 && bytes[at - 1] > value; at--) {
            bytes[at] = bytes[at - 1];
        }
        bytes[at] = value;
    }
}

__attribute__((noinline)) static uint64_t mix(const uint8_t *bytes, int count)
{
    uint64_t product = 1;
    for (int i = 0; i < count; i++) {
        product = product * bytes[i] + (product >> 7 | 1);
    }
    return product;
}

uint32_t work(void)
{
    uint32_t state = 2463534242u, sum = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < BYTES; i++) {
            data[i] = (uint8_t)xorshift(&state);
        }
        sum += crc32(data, BYTES);
        sort(data, SORTED);
        uint64_t product = mix(data, SORTED);
        sum = (sum << 5 | sum >> 27) ^ (uint32_t)product ^ (uint32_t)(product >> 32);
    }
    return sum;
}

const uint32_t expected = 0x66cbb46f;
