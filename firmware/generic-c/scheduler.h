/* Cooperative threads on the process stack, switched by PendSV: the way a small kernel does it. */
#ifndef GENERIC_C_SCHEDULER_H
#define GENERIC_C_SCHEDULER_H

typedef void (*thread_entry)(unsigned argument);

/* Adds a thread that starts at the next yield; at most two. */
void thread_create(thread_entry entry, unsigned argument);

/* Turns the caller into the first thread, runs until every created thread has returned, and puts
 * the caller back on the main stack. */
void threads_run(void);

/* Gives the processor to the next thread. */
void thread_yield(void);

#endif
