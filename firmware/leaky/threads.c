/* The threads for the kit's records of the heap: the running one's number, and its name when it is created. */
#include <stdint.h>

#include "kernel.h"
#include "trace/strobe_heap.h"

uintptr_t leaky_thread(void);
void __real_thread_create(const char *name, int priority, void (*entry)(void), struct thread_stack stack);
void __wrap_thread_create(const char *name, int priority, void (*entry)(void), struct thread_stack stack);

uintptr_t leaky_thread(void) { return running() ? running()->uxTCBNumber : 0; }

/* The linker's --wrap=thread_create has calls come here. Threads are numbered from 1 on. */
void __wrap_thread_create(const char *name, int priority, void (*entry)(void), struct thread_stack stack)
{
    static uintptr_t created;
    __real_thread_create(name, priority, entry, stack);
    STROBE_HEAP_THREAD_NAME(++created, name);
}
