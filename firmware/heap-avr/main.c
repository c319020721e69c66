/* avr-libc's malloc: blocks in a ring, one resized, one that cannot be had. Ends as main does. */
#include <stdlib.h>

#define RING 8

static void *ring[RING];
static void *(*volatile take)(size_t) = malloc;
static void *(*volatile resize)(void *, size_t) = realloc;
static void (*volatile give)(void *) = free;

__attribute__((noinline)) static void go_round(unsigned n)
{
    give(ring[n % RING]);
    ring[n % RING] = take(5 + n % 30);
}

int main(void)
{
    for (unsigned n = 0; n < 200; n++) {
        go_round(n);
    }
    ring[0] = resize(ring[0], 100);
    ring[0] = take(20000) != 0 ? 0 : ring[0];
    return 0;
}
