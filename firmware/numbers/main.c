/* Arithmetic that a Cortex-M4 is bought for: single-precision signal processing, saturating fixed point with the DSP
 * instructions, and what the library makes of doubles. Every result is checked against another way to it; exits with the
 * number of checks that failed. */
#include <arm_acle.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t random_state = 0x2545f491;

static uint32_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

static int failures;

static void check(const char *what, int ok)
{
    printf("%-12s %s\n", what, ok ? "ok" : "FAILED");
    failures += !ok;
}

/* --- a Fourier transform, there and back --- */

enum { POINTS = 1024 };
static float re[POINTS], im[POINTS], before[POINTS];

__attribute__((noipa)) static void transform(float direction)
{
    for (unsigned i = 0, j = 0; i < POINTS; i++) {
        if (i < j) {
            float r = re[i], m = im[i];
            re[i] = re[j], im[i] = im[j];
            re[j] = r, im[j] = m;
        }
        unsigned bit = POINTS / 2;
        for (; j & bit; bit /= 2) {
            j &= ~bit;
        }
        j |= bit;
    }
    for (unsigned span = 1; span < POINTS; span *= 2) {
        for (unsigned k = 0; k < span; k++) {
            float angle = direction * 3.14159265f * (float)k / (float)span;
            float c = cosf(angle), s = sinf(angle);
            for (unsigned i = k; i < POINTS; i += 2 * span) {
                float r = re[i + span] * c - im[i + span] * s;
                float m = re[i + span] * s + im[i + span] * c;
                re[i + span] = re[i] - r, im[i + span] = im[i] - m;
                re[i] += r, im[i] += m;
            }
        }
    }
}

static void fourier(void)
{
    for (unsigned i = 0; i < POINTS; i++) {
        before[i] = re[i] = (float)(int32_t)next_random() / 2147483648.0f;
        im[i] = 0;
    }
    transform(-1);
    transform(1);
    float worst = 0;
    for (unsigned i = 0; i < POINTS; i++) {
        worst = fmaxf(worst, fabsf(re[i] / (float)POINTS - before[i]));
    }
    check("fourier", worst < 1e-5f);
}

/* --- a filter in 16 bits: by pairs with the DSP instructions, and one by one --- */

enum { TAPS = 32, SAMPLES = 512 };
static int16_t taps[TAPS] __attribute__((aligned(4)));
static int16_t samples[SAMPLES + TAPS] __attribute__((aligned(4)));

__attribute__((noipa)) static int16_t filter_pairs(const int16_t *x)
{
    int64_t sum = 0;
    for (int i = 0; i < TAPS; i += 2) {
        int32_t pair, tap;
        memcpy(&pair, x + i, sizeof pair);
        memcpy(&tap, taps + i, sizeof tap);
        sum = __smlald(pair, tap, sum);
    }
    return (int16_t)__ssat((int32_t)(sum >> 15), 16);
}

__attribute__((noipa)) static int16_t filter_plain(const int16_t *x)
{
    int64_t sum = 0;
    for (int i = 0; i < TAPS; i++) {
        sum += (int32_t)x[i] * taps[i];
    }
    sum >>= 15;
    return (int16_t)(sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : sum);
}

static void filter(void)
{
    for (int i = 0; i < TAPS; i++) {
        taps[i] = (int16_t)next_random();
    }
    for (int i = 0; i < SAMPLES + TAPS; i++) {
        samples[i] = (int16_t)next_random();
    }
    int same = 1, saturated = 0;
    for (int i = 0; i < SAMPLES; i++) {
        int16_t a = filter_pairs(samples + i), b = filter_plain(samples + i);
        same &= a == b;
        saturated += a == INT16_MAX || a == INT16_MIN;
    }
    check("filter", same && saturated > 0 && saturated < SAMPLES);
}

/* --- four bytes at once: the sum of absolute differences and a saturating mix --- */

static void pixels(void)
{
    int same = 1;
    for (int turn = 0; turn < 2000; turn++) {
        uint32_t a = next_random(), b = next_random();
        uint32_t sad = 7, mixed = 0, greatest = 0;
        for (int byte = 0; byte < 32; byte += 8) {
            int x = a >> byte & 255, y = b >> byte & 255;
            sad += (uint32_t)abs(x - y);
            mixed |= (uint32_t)(x + y > 255 ? 255 : x + y) << byte;
            greatest |= (uint32_t)(x > y ? x : y) << byte;
        }
        (void)__usub8(a, b);
        same &= __sel(a, b) == greatest && __usada8(a, b, 7) == sad && __uqadd8(a, b) == mixed;
    }
    check("pixels", same);
}

/* --- linear equations, with the unit's division, square root and fused multiplication --- */

enum { SIZE = 12 };
static float matrix[SIZE][SIZE + 1], original[SIZE][SIZE + 1];

__attribute__((noipa)) static void eliminate(void)
{
    for (int column = 0; column < SIZE; column++) {
        int pivot = column;
        for (int row = column; row < SIZE; row++) {
            if (fabsf(matrix[row][column]) > fabsf(matrix[pivot][column])) {
                pivot = row;
            }
        }
        for (int i = 0; i <= SIZE; i++) {
            float other = matrix[pivot][i];
            matrix[pivot][i] = matrix[column][i];
            matrix[column][i] = other;
        }
        for (int row = 0; row < SIZE; row++) {
            if (row == column) {
                continue;
            }
            float factor = matrix[row][column] / matrix[column][column];
            for (int i = column; i <= SIZE; i++) {
                matrix[row][i] = fmaf(-factor, matrix[column][i], matrix[row][i]);
            }
        }
    }
}

static void equations(void)
{
    for (int row = 0; row < SIZE; row++) {
        for (int i = 0; i <= SIZE; i++) {
            matrix[row][i] = original[row][i] = (float)(int32_t)next_random() / 65536.0f;
        }
    }
    eliminate();
    float error = 0, scale = 0;
    for (int row = 0; row < SIZE; row++) {
        float sum = 0;
        for (int i = 0; i < SIZE; i++) {
            sum += original[row][i] * matrix[i][SIZE] / matrix[i][i];
        }
        error += (sum - original[row][SIZE]) * (sum - original[row][SIZE]);
        scale += original[row][SIZE] * original[row][SIZE];
    }
    check("equations", sqrtf(error) < 1e-3f * sqrtf(scale));
}

/* --- integers and doubles --- */

static void division(void)
{
    int right = 1;
    for (int turn = 0; turn < 2000; turn++) {
        uint32_t n = next_random() >> (turn & 31), d = next_random() >> (turn / 32 & 31);
        int32_t sn = (int32_t)next_random(), sd = (int32_t)next_random() >> (turn & 31);
        if (d == 0 || sd == 0) {
            continue;
        }
        right &= n / d * d + n % d == n && n % d < d;
        right &= (int64_t)(sn / sd) * sd + sn % sd == sn;
        uint64_t wide = (uint64_t)n << 20 | d;
        right &= wide / d * d + wide % d == wide;
    }
    check("division", right);
}

static void doubles(void)
{
    double sum = 0, product = 1;
    for (int i = 1; i <= 200; i++) {
        sum += 1.0 / (double)i / (double)i;
        product *= sqrt(1.0 + 1.0 / (double)i);
    }
    /* Within a hundred-thousandth of what they converge to or telescope to. */
    check("doubles", fabs(sum - 1.6399465460) < 1e-9 && fabs(product * product - 201) < 1e-9);
}

static void functions(void)
{
    float worst = 0;
    for (int i = -200; i < 200; i++) {
        float x = (float)i / 17.0f;
        worst = fmaxf(worst, fabsf(sinf(x) * sinf(x) + cosf(x) * cosf(x) - 1));
        worst = fmaxf(worst, fabsf(logf(expf(x / 4)) - x / 4));
        worst = fmaxf(worst, fabsf(tanf(atanf(x)) - x) / (1 + fabsf(x) * fabsf(x)));
    }
    check("functions", worst < 1e-5f);
}

int main(void)
{
    fourier();
    filter();
    pixels();
    equations();
    division();
    doubles();
    functions();
    return failures;
}
