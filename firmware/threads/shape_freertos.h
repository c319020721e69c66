/* Structures and variables named as in FreeRTOS, as far as a debugger needs them. */
#ifndef THREADS_SHAPE_H
#define THREADS_SHAPE_H

#include <stdint.h>

typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef uint32_t StackType_t;

struct xLIST;

typedef struct xLIST_ITEM {
    uint32_t xItemValue;
    struct xLIST *volatile pxContainer;
} ListItem_t;

typedef struct xLIST {
    volatile UBaseType_t uxNumberOfItems;
} List_t;

typedef struct tskTaskControlBlock {
    volatile StackType_t *pxTopOfStack;
    ListItem_t xStateListItem;
    ListItem_t xEventListItem;
    UBaseType_t uxPriority;
    StackType_t *pxStack;
    char pcTaskName[12];
    UBaseType_t uxTCBNumber;
} tskTCB;
typedef tskTCB TCB_t;
typedef TCB_t thread_t;

extern TCB_t *volatile pxCurrentTCB;
extern List_t pxReadyTasksLists[5];
extern List_t xSuspendedTaskList;

#define SHAPE_VARIABLES          \
    TCB_t *volatile pxCurrentTCB; \
    List_t pxReadyTasksLists[5];  \
    List_t xSuspendedTaskList;

static inline thread_t *running(void) { return pxCurrentTCB; }
static inline void set_running(thread_t *thread) { pxCurrentTCB = thread; }

static inline void describe(thread_t *t, const char *name, int priority, unsigned number, uint32_t *stack)
{
    for (unsigned i = 0; i + 1 < sizeof t->pcTaskName && name[i] != 0; i++) {
        t->pcTaskName[i] = name[i];
    }
    t->uxPriority = (UBaseType_t)priority;
    t->uxTCBNumber = number;
    t->pxStack = stack;
}

static inline int priority_of(const thread_t *t) { return (int)t->uxPriority; }
static inline uint32_t *saved_stack(const thread_t *t) { return (uint32_t *)t->pxTopOfStack; }
static inline void save_stack(thread_t *t, uint32_t *saved) { t->pxTopOfStack = saved; }
static inline int is_ready(const thread_t *t)
{
    return t->xStateListItem.pxContainer != &xSuspendedTaskList;
}
static inline void set_ready(thread_t *t, int ready)
{
    t->xStateListItem.pxContainer = ready ? &pxReadyTasksLists[t->uxPriority] : &xSuspendedTaskList;
}

#endif
