/* Structures and variables named as in NuttX, as far as a debugger needs them. */
#ifndef THREADS_SHAPE_H
#define THREADS_SHAPE_H

#include <stdint.h>
#include <string.h>

typedef int16_t pid_t_;

typedef struct dq_entry_s {
    struct dq_entry_s *flink;
    struct dq_entry_s *blink;
} dq_entry_t;

typedef struct dq_queue_s {
    dq_entry_t *head;
    dq_entry_t *tail;
} dq_queue_t;

enum tstate_e {
    TSTATE_TASK_INVALID,
    TSTATE_TASK_PENDING,
    TSTATE_TASK_READYTORUN,
    TSTATE_TASK_RUNNING,
    TSTATE_TASK_INACTIVE,
    TSTATE_WAIT_SEM,
};

struct tcb_s {
    struct tcb_s *flink;
    struct tcb_s *blink;
    pid_t_ pid;
    uint8_t sched_priority;
    uint8_t task_state; /* enum tstate_e */
    void *stack_alloc_ptr;
    void *stack_base_ptr;
    struct {
        uint32_t *regs;
    } xcp;
    char name[32];
};
typedef struct tcb_s thread_t;

extern volatile dq_queue_t g_readytorun;

#define SHAPE_VARIABLES volatile dq_queue_t g_readytorun;

static inline thread_t *running(void) { return (thread_t *)g_readytorun.head; }
static inline void set_running(thread_t *thread)
{
    thread->task_state = TSTATE_TASK_RUNNING;
    g_readytorun.head = (dq_entry_t *)thread;
}

static inline void describe(thread_t *t, const char *name, int priority, unsigned number, uint32_t *stack)
{
    strncpy(t->name, name, sizeof t->name - 1);
    t->sched_priority = (uint8_t)priority;
    t->pid = (pid_t_)number;
    t->stack_alloc_ptr = t->stack_base_ptr = stack;
}

static inline int priority_of(const thread_t *t) { return t->sched_priority; }
static inline uint32_t *saved_stack(const thread_t *t) { return t->xcp.regs; }
static inline void save_stack(thread_t *t, uint32_t *saved) { t->xcp.regs = saved; }
static inline int is_ready(const thread_t *t) { return t->task_state <= TSTATE_TASK_RUNNING; }
static inline void set_ready(thread_t *t, int ready)
{
    volatile enum tstate_e state = ready ? TSTATE_TASK_READYTORUN : TSTATE_WAIT_SEM;
    t->task_state = (uint8_t)state;
}

#endif
