/* A thermometer whose report is made of integers, and one debug print with a %f, which brings some 14 KB of formatting
 * and double-precision arithmetic along. `strobe size` names it, `strobe size --why _printf_float` shows the chain.
 *
 * newlib-nano's printf knows %f only if the linker is asked for it: -u _printf_float. With -DWITHOUT_DEBUG the print is
 * not there, and neither is the option: that is what it costs.
 *
 * Exits with 0 if the mean is right. */
#include <stdint.h>
#include <stdio.h>

#define SAMPLES 16u

/* Raw readings of a sensor: 1/256 degree. */
static const int16_t readings[SAMPLES] = {
    5504, 5511, 5498, 5507, 5520, 5493, 5502, 5509, 5515, 5490, 5503, 5508, 5512, 5499, 5501, 5506,
};

#ifndef WITHOUT_DEBUG
static void debug_print(const char *name, float value)
{
    printf("debug: %s is %.3f\n", name, (double)value);
}
#endif

/* Thousandths of a degree. */
static int32_t milli(int32_t raw)
{
    return raw * 1000 / 256;
}

static void report(unsigned number, int32_t thousandths)
{
    printf("%2u  %ld.%03ld\n", number, (long)(thousandths / 1000), (long)(thousandths % 1000));
}

int main(void)
{
    int32_t sum = 0;
    for (unsigned n = 0; n < SAMPLES; n++) {
        report(n, milli(readings[n]));
        sum += readings[n];
    }
    int32_t mean = sum / (int32_t)SAMPLES;
#ifndef WITHOUT_DEBUG
    debug_print("mean", (float)mean / 256);
#endif
    return milli(mean) == 21500 ? 0 : 1;
}
