/* Indirect branches: a stack machine that adds up the lengths of all Collatz chains below a limit. */
#include "bench.h"

enum { LIMIT = 13000 };

enum op { PUSH, LOAD, STORE, ADD, TRIPLE_PLUS_ONE, HALVE, IS_ODD, LESS, JUMP_IF_ZERO, JUMP, HALT };
enum variable { START, VALUE, LENGTH, SUM, END };
enum label { NEXT = 2, CHAIN = 10, EVEN = 20, STEP = 22, CHAIN_ENDS = 28, DONE = 37 };

struct instruction {
    uint8_t op, operand;
};

static const struct instruction program[] = {
    {PUSH, 1}, {STORE, START},
    [NEXT] = {LOAD, START}, {LOAD, END}, {LESS, 0}, {JUMP_IF_ZERO, DONE},
    {LOAD, START}, {STORE, VALUE}, {PUSH, 0}, {STORE, LENGTH},
    [CHAIN] = {PUSH, 1}, {LOAD, VALUE}, {LESS, 0}, {JUMP_IF_ZERO, CHAIN_ENDS},
    {LOAD, VALUE}, {IS_ODD, 0}, {JUMP_IF_ZERO, EVEN},
    {LOAD, VALUE}, {TRIPLE_PLUS_ONE, 0}, {JUMP, STEP},
    [EVEN] = {LOAD, VALUE}, {HALVE, 0},
    [STEP] = {STORE, VALUE}, {LOAD, LENGTH}, {PUSH, 1}, {ADD, 0}, {STORE, LENGTH}, {JUMP, CHAIN},
    [CHAIN_ENDS] = {LOAD, SUM}, {LOAD, LENGTH}, {ADD, 0}, {STORE, SUM},
    {LOAD, START}, {PUSH, 1}, {ADD, 0}, {STORE, START}, {JUMP, NEXT},
    [DONE] = {HALT, 0},
};

uint32_t work(void)
{
    uint32_t variables[5] = {[END] = LIMIT};
    uint32_t stack[4], *top = stack;
    for (const struct instruction *at = program;; at++) {
        switch ((enum op)at->op) {
        case PUSH: *top++ = at->operand; break;
        case LOAD: *top++ = variables[at->operand]; break;
        case STORE: variables[at->operand] = *--top; break;
        case ADD: top--; top[-1] += top[0]; break;
        case TRIPLE_PLUS_ONE: top[-1] = 3 * top[-1] + 1; break;
        case HALVE: top[-1] >>= 1; break;
        case IS_ODD: top[-1] &= 1; break;
        case LESS: top--; top[-1] = top[-1] < top[0]; break;
        case JUMP_IF_ZERO:
            if (*--top == 0) {
                at = &program[at->operand] - 1;
            }
            break;
        case JUMP: at = &program[at->operand] - 1; break;
        case HALT: return variables[SUM];
        }
    }
}

const uint32_t expected = 0x0011561c;
