/* Structures and variables named as in Zephyr, as far as a debugger needs them. */
#ifndef THREADS_SHAPE_H
#define THREADS_SHAPE_H

#include <stdint.h>
#include <string.h>

struct rbnode {
    struct rbnode *children[2];
};

typedef struct {
    void *head;
    void *tail;
} sys_dnode_t;

struct _thread_base {
    union {
        sys_dnode_t qnode_dlist;
        struct rbnode qnode_rb;
    };
    void *pended_on;
    uint8_t user_options;
    uint8_t thread_state; /* 2: pending, 0x80: queued */
    union {
        struct {
            int8_t prio; /* the lower the better */
            uint8_t sched_locked;
        };
        uint16_t preempt;
    };
};

struct k_thread {
    struct _thread_base base;
    struct {
        uint32_t *psp;
    } callee_saved;
    char name[32];
    struct {
        uintptr_t start;
        uint32_t size;
    } stack_info;
};
typedef struct k_thread thread_t;

struct _cpu {
    uint32_t nested;
    char *irq_stack;
    struct k_thread *current;
};

struct z_kernel {
    struct _cpu cpus[1];
};
extern struct z_kernel _kernel;

#define SHAPE_VARIABLES struct z_kernel _kernel;

static inline thread_t *running(void) { return *(thread_t *volatile *)&_kernel.cpus[0].current; }
static inline void set_running(thread_t *thread) { _kernel.cpus[0].current = thread; }

static inline void describe(thread_t *t, const char *name, int priority, unsigned number, uint32_t *stack)
{
    (void)number;
    strncpy(t->name, name, sizeof t->name - 1);
    t->base.prio = (int8_t)-priority;
    t->stack_info.start = (uintptr_t)stack;
}

static inline int priority_of(const thread_t *t) { return -t->base.prio; }
static inline uint32_t *saved_stack(const thread_t *t) { return t->callee_saved.psp; }
static inline void save_stack(thread_t *t, uint32_t *saved) { t->callee_saved.psp = saved; }
static inline int is_ready(const thread_t *t) { return (t->base.thread_state & 2) == 0; }
static inline void set_ready(thread_t *t, int ready) { t->base.thread_state = ready ? 0x80 : 2; }

#endif
