/* A calculator: compiles expressions to byte code and runs it, over and over with other values. Its machine is one big
 * `switch`, which compilers make jumps through a table of; its compiler finds names and operators with the library's
 * string functions. Each result is compared with what C's own operators give; exits with the number of differences. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef STM32F070
#include "board.h"
#endif

enum op { NUMBER, VALUE, ADD, SUBTRACT, MULTIPLY, DIVIDE, MODULO, AND, OR, XOR, SHIFT, NEGATE, DOUBLE, END };

enum { MOST_CODE = 64, MOST_STACK = 16, VALUES = 4, ROUNDS = 40 };

static const char operators[] = "+-*/%&|^<";
static const char names[] = "abcd";

/* Reverse Polish notation: digits, names, operators, '~' for a change of sign and '"' for twice. */
__attribute__((noipa)) static unsigned compile(const char *text, uint8_t code[MOST_CODE])
{
    unsigned length = 0;
    for (const char *end = text + strlen(text); text < end; text++) {
        const char *name = memchr(names, *text, sizeof names - 1);
        const char *operator = strchr(operators, *text);
        if (*text >= '0' && *text <= '9') {
            code[length++] = NUMBER;
            code[length++] = *text - '0';
        } else if (name) {
            code[length++] = VALUE;
            code[length++] = name - names;
        } else if (operator) {
            code[length++] = ADD + (operator - operators);
        } else {
            code[length++] = *text == '~' ? NEGATE : DOUBLE;
        }
    }
    code[length++] = END;
    return length;
}

__attribute__((noipa)) static int32_t run(const uint8_t *code, const int32_t values[VALUES])
{
    int32_t stack[MOST_STACK], *top = stack - 1;
    for (;;) {
        switch ((enum op)*code++) {
        case NUMBER: *++top = *code++; break;
        case VALUE: *++top = values[*code++]; break;
        case ADD: top--, top[0] += top[1]; break;
        case SUBTRACT: top--, top[0] -= top[1]; break;
        case MULTIPLY: top--, top[0] *= top[1]; break;
        case DIVIDE: top--, top[0] /= top[1] | 1; break;
        case MODULO: top--, top[0] %= top[1] | 1; break;
        case AND: top--, top[0] &= top[1]; break;
        case OR: top--, top[0] |= top[1]; break;
        case XOR: top--, top[0] ^= top[1]; break;
        case SHIFT: top--, top[0] <<= top[1] & 7; break;
        case NEGATE: top[0] = -top[0]; break;
        case DOUBLE: top[0] *= 2; break;
        case END: return *top;
        }
    }
}

static const char *const expressions[] = {"ab+cd-*", "a7&b\"c~^+", "ab/cd%|5<", "a~b~*c\"d\"*+3/"};

__attribute__((noipa)) static int32_t expected(unsigned which, const int32_t v[VALUES])
{
    int32_t a = v[0], b = v[1], c = v[2], d = v[3];
    switch (which) {
    case 0: return (a + b) * (c - d);
    case 1: return (a & 7) + (b * 2 ^ -c);
    case 2: return (a / (b | 1) | c % (d | 1)) << 5;
    default: return (-a * -b + c * 2 * (d * 2)) / 3;
    }
}

int main(void)
{
#ifdef STM32F070
    clock_to_48mhz(PREFETCH_ON);
    usart1_start(115200);
#endif
    unsigned wrong = 0, longest = 0;
    for (unsigned which = 0; which < sizeof expressions / sizeof *expressions; which++) {
        int32_t values[VALUES] = {1, 2, 3, 5};
        for (unsigned round = 0; round < ROUNDS; round++) {
            uint8_t code[MOST_CODE];
            unsigned length = compile(expressions[which], code);
            longest = length > longest ? length : longest;
            wrong += run(code, values) != expected(which, values);
            for (unsigned i = 0; i < VALUES; i++) {
                values[i] = (values[i] * 109 + 7 * (int32_t)which + 1) & 0xfff;
            }
        }
    }
    printf("longest program: %u bytes, wrong results: %u\n", longest, wrong);
#ifdef STM32F070
    usart1_drain();
#endif
    return (int)wrong;
}
