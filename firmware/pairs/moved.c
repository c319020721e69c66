/* scale in a file of its own: the same code as in main.c. */
#include <stdint.h>

#define SAMPLES 64

void scale(uint16_t *values, unsigned by);

__attribute__((noipa)) void scale(uint16_t *values, unsigned by)
{
    for (unsigned i = 0; i < SAMPLES; i++) {
        values[i] = (uint16_t)((values[i] * by + 7) >> 3);
    }
}
