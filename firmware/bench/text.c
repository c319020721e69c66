/* Library code: formatting, searching and parsing with newlib-nano. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 50000 };

uint32_t work(void)
{
    char line[64];
    uint32_t sum = 0;
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        snprintf(line, sizeof line, "t=%lu x=%08lx s=%-6s n=%ld", (unsigned long)turn,
                 (unsigned long)(turn * 2654435761u), turn & 1 ? "odd" : "even", (long)turn * -7919);
        const char *number = strrchr(line, '=') + 1;
        sum = sum * 31 + (uint32_t)strtol(number, NULL, 10) + (uint32_t)strlen(line);
    }
    return sum;
}

const uint32_t expected = 0x212db6cf;
