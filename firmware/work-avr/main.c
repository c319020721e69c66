/* Much of what an AVR compiler emits, in one deterministic program without peripherals: sorting through a callback,
 * recursion, calls through pointers, a jump table, tables in program memory, 8 to 64 bits, division, floating point,
 * longjmp, printf. Ends as avr-libc's main does: interrupts off, in an empty loop. `result` is then 0 if every check held. */
#include <avr/pgmspace.h>
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t result = 0xff;

static uint32_t random_state = 0x2545f491;

static uint32_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

static int compare(const void *left, const void *right)
{
    const uint16_t l = *(const uint16_t *)left, r = *(const uint16_t *)right;
    return (l > r) - (l < r);
}

__attribute__((noinline)) static uint8_t sorts(void)
{
    static uint16_t values[64];
    for (uint8_t i = 0; i < 64; i++)
        values[i] = (uint16_t)next_random();
    qsort(values, 64, sizeof values[0], compare);
    for (uint8_t i = 1; i < 64; i++)
        if (values[i - 1] > values[i])
            return 1;
    return 0;
}

__attribute__((noinline)) static uint16_t ackermann(uint16_t m, uint16_t n)
{
    if (m == 0)
        return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

/* CRC-32, a nibble at a time, with its table in program memory. */
static const uint32_t crc_table[16] PROGMEM = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

__attribute__((noinline)) static uint32_t crc(const char *text)
{
    uint32_t sum = 0xffffffff;
    while (*text) {
        sum ^= (uint8_t)*text++;
        sum = sum >> 4 ^ pgm_read_dword(&crc_table[sum & 15]);
        sum = sum >> 4 ^ pgm_read_dword(&crc_table[sum & 15]);
    }
    return ~sum;
}

/* A machine of eight operations: a jump table, or calls through pointers. */
__attribute__((noinline)) static int32_t operate(uint8_t operation, int32_t a, int32_t b)
{
    switch (operation & 7) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a / (b | 1);
    case 4: return a % (b | 1);
    case 5: return a << (b & 15);
    case 6: return a >> (b & 15);
    default: return a ^ b;
    }
}

static int32_t twice(int32_t a, int32_t b)
{
    return operate(0, a, a) - b;
}

static int32_t halved(int32_t a, int32_t b)
{
    return operate(6, a, 1) + b;
}

static int32_t (*const volatile unary[2])(int32_t, int32_t) = { twice, halved };

__attribute__((noinline)) static uint8_t operates(void)
{
    int32_t sum = 1;
    for (uint16_t i = 0; i < 400; i++) {
        const int32_t a = (int32_t)next_random();
        sum = operate((uint8_t)i, sum, a >> 8);
        sum = unary[i & 1](sum, a);
    }
    const uint64_t wide = (uint64_t)(uint32_t)sum * 0x9e3779b97f4a7c15u;
    return wide / 10 * 10 + wide % 10 != wide;
}

__attribute__((noinline)) static uint8_t floats(void)
{
    double sum = 0;
    for (int8_t i = -20; i <= 20; i++) {
        const double s = sin(i * 0.3), c = cos(i * 0.3);
        sum += fabs(s * s + c * c - 1.0) + fabs(sqrt((double)i * i) - abs(i));
    }
    return sum > 1e-4;
}

static jmp_buf out;

__attribute__((noinline)) static void dig(uint8_t depth)
{
    if (depth == 0)
        longjmp(out, 7);
    dig(depth - 1);
    result ^= depth;
}

__attribute__((noinline)) static uint8_t prints(void)
{
    char text[64];
    snprintf(text, sizeof text, "%05d|%-6s|%lx|%u", -42, "avr", 0xdeadbeefL, 65535u);
    return strcmp(text, "-0042|avr   |deadbeef|65535") != 0;
}

int main(void)
{
    uint8_t failures = sorts();
    failures += ackermann(2, 3) != 9;
    failures += crc("123456789") != 0xcbf43926;
    failures += operates();
    failures += floats();
    failures += prints();
    switch (setjmp(out)) {
    case 0:
        dig(5);
        failures++;
        break;
    case 7:
        break;
    default:
        failures++;
    }
    result = failures;
    return 0;
}
