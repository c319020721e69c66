/* Software floating point: the Mandelbrot set's escape times. */
#include "bench.h"

enum { WIDTH = 90, HEIGHT = 64, LIMIT = 256 };

static uint32_t escape_time(float re, float im)
{
    float x = 0, y = 0;
    for (uint32_t i = 0; i < LIMIT; i++) {
        float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f) {
            return i;
        }
        y = 2.0f * x * y + im;
        x = xx - yy + re;
    }
    return LIMIT;
}

uint32_t work(void)
{
    uint32_t sum = 0;
    for (int row = 0; row < HEIGHT; row++) {
        for (int column = 0; column < WIDTH; column++) {
            float re = -2.0f + 3.0f * (float)column / (float)WIDTH;
            float im = -1.2f + 2.4f * (float)row / (float)HEIGHT;
            sum = sum * 33 + escape_time(re, im);
        }
    }
    return sum;
}

const uint32_t expected = 0x2319f98a;
