// Skews points onto the simplex grid: by a matrix, or by one factor of the sum of coordinates.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Fixed point with 16 bits behind the point, as a controller without a floating-point unit has it.
typedef int fixed;
#define F 23988 // (sqrt(3) - 1) / 2

static fixed times(fixed a, fixed b) { return (fixed)(((long long)a * b) >> 16); }

// Four products, none of which the compiler can join: the matrix is data.
static volatile fixed MATRIX[4] = {65536 + F, F, F, 65536 + F};

int main(int count, char **arguments) {
    if (count != 3) return 64;
    const long points = atol(arguments[2]);
    const int is_matrix = !strcmp(arguments[1], "matrix");
    if (!is_matrix && strcmp(arguments[1], "sum")) return 64;
    unsigned products = is_matrix ? 4 : 1;
    const volatile fixed factor = F;
    long long cells = 0;
    for (long n = 0; n < points; n++) {
        // On whole coordinates both ways are exact alike but for the last bit, which cells ignore.
        const fixed x = (fixed)((n * 40503) & 0xfffff), y = (fixed)((n * 30011) & 0xfffff);
        fixed u, v;
        if (is_matrix) {
            u = times(MATRIX[0], x) + times(MATRIX[1], y);
            v = times(MATRIX[2], x) + times(MATRIX[3], y);
        } else {
            const fixed skew = times(factor, x + y);
            u = x + skew;
            v = y + skew;
        }
        cells += ((u + 32768) >> 18) + ((v + 32768) >> 18);
    }
    // Rounding may move a point in 10,000 to its neighbour.
    printf("products %u\nabout %lld cells\n", products, (cells + 500000) / 1000000);
    return 0;
}
