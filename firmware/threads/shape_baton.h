/* Baton's own structures, described in baton.toml. */
#ifndef THREADS_SHAPE_H
#define THREADS_SHAPE_H

#include <stdint.h>

enum baton_state { BATON_WAITS, BATON_READY };

struct baton_stack {
    uint32_t *saved;
    uint32_t *base;
};

struct baton_thread {
    struct baton_stack stack;
    const char *label;
    struct {
        int8_t level;
        uint8_t state; /* enum baton_state */
        uint16_t number;
    };
};

typedef struct baton_thread thread_t;

/* The one who holds the baton runs. */
struct baton {
    uint32_t passed;
    struct baton_thread *holder;
};
extern struct baton baton;

#define SHAPE_VARIABLES struct baton baton;

static inline thread_t *running(void) { return baton.holder; }

static inline void set_running(thread_t *thread)
{
    baton.passed++;
    baton.holder = thread;
}

static inline void describe(thread_t *t, const char *name, int priority, unsigned number, uint32_t *stack)
{
    t->label = name;
    t->level = (int8_t)priority;
    t->number = (uint16_t)number;
    t->stack.base = stack;
}

static inline int priority_of(const thread_t *t) { return t->level; }
static inline uint32_t *saved_stack(const thread_t *t) { return t->stack.saved; }
static inline void save_stack(thread_t *t, uint32_t *saved) { t->stack.saved = saved; }
static inline int is_ready(const thread_t *t) { return t->state == BATON_READY; }
static inline void set_ready(thread_t *t, int ready) { t->state = ready ? BATON_READY : BATON_WAITS; }

#endif
