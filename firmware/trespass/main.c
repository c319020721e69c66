/* Accesses that firmware must not make, each in a function of its own, for `strobe heap
 * --check-memory` to name: after a free, beside a block, of bytes that nobody has written. Behind
 * them what only looks like it and is right: a string read by whole words, a structure copied with
 * its padding, memory cleared by calloc, a block that realloc has moved.
 *
 * Half of what `use_a_part` allocates is never touched.
 * Exits with 0. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *(*volatile take)(size_t) = malloc;
static void *(*volatile take_cleared)(size_t, size_t) = calloc;
static void *(*volatile resize)(void *, size_t) = realloc;
static void (*volatile give)(void *) = free;
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;

static volatile uint32_t seen;

struct sample {
    uint32_t time;
    uint32_t state;
    uint32_t value;
};

/* With three bytes of padding, and four. */
struct padded {
    uint8_t kind;
    uint32_t count;
    uint32_t empty;
    uint64_t total;
};

__attribute__((noinline)) static void read_after_free(void)
{
    volatile uint32_t *block = take(24);
    block[2] = 5;
    give((void *)block);
    seen = block[2];
}

__attribute__((noinline)) static void write_after_free(void)
{
    volatile uint8_t *block = take(40);
    void *keep = take(8);
    give((void *)block);
    for (int i = 16; i < 20; i++) {
        block[i] = 1;
    }
    give(keep);
}

__attribute__((noinline)) static void write_behind(void)
{
    volatile char *text = take(10);
    for (int i = 0; i < 10; i++) {
        text[i] = 'a';
    }
    text[10] = 0;
    give((void *)text);
}

__attribute__((noinline)) static void read_behind(void)
{
    volatile uint32_t *block = take(24);
    for (int i = 0; i < 6; i++) {
        block[i] = 1;
    }
    seen = block[6];
    give((void *)block);
}

__attribute__((noinline)) static void read_before(void)
{
    volatile uint32_t *block = take(24);
    block[0] = 1;
    seen = block[-1];
    give((void *)block);
}

__attribute__((noinline)) static void read_unwritten(void)
{
    volatile struct sample *sample = take(sizeof *sample);
    sample->time = 1;
    sample->value = 2;
    if (sample->state > 100) {
        seen++;
    }
    give((void *)sample);
}

__attribute__((noinline)) static void read_unwritten_copy(void)
{
    struct sample *sample = take(sizeof *sample);
    volatile struct sample local;
    sample->time = 1;
    sample->value = 2;
    copy((void *)&local, sample, sizeof local);
    seen = local.time;
    if (local.state > 100) {
        seen++;
    }
    give(sample);
}

/* By words, as C libraries do: the last one ends behind the string. */
__attribute__((noinline)) static uint32_t length(const char *text)
{
    const volatile uint32_t *word = (const volatile uint32_t *)text;
    uint32_t n = 0;
    for (;; word++, n += 4) {
        uint32_t four = *word;
        for (uint32_t i = 0; i < 4; i++) {
            if ((four >> (8 * i) & 0xff) == 0) {
                return n + i;
            }
        }
    }
}

__attribute__((noinline)) static void use_rightly(void)
{
    char *text = take(6);
    copy(text, "hello", 6);
    seen = length(text);
    text = resize(text, 60);
    seen = length(text);

    struct padded *one = take(sizeof *one);
    struct padded *other = take(sizeof *other);
    one->kind = 1;
    one->count = 2;
    one->total = 3;
    copy(other, one, sizeof *one);
    *one = *other;
    seen = one->kind + (uint32_t)one->total;

    volatile uint32_t *cleared = take_cleared(4, 4);
    seen = cleared[3];
    give(text);
    give(one);
    give(other);
    give((void *)cleared);
}

__attribute__((noinline)) static void use_a_part(void)
{
    volatile uint32_t *table = take(400);
    for (int i = 0; i < 50; i++) {
        table[i] = 1;
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 50; i++) {
            seen = table[i];
        }
    }
    give((void *)table);
}

int main(void)
{
    read_after_free();
    write_after_free();
    write_behind();
    read_behind();
    read_before();
    read_unwritten();
    read_unwritten_copy();
    use_rightly();
    use_a_part();
    exit(0);
}
