/* What a program allocates, sent to strobe: a record for each call of malloc, calloc, realloc and free, with the address that it returns
 * to, or with so much of the stack that the host can find all callers. docs/kit.md says how to read it and what a call costs.
 *
 * Compile strobe_heap.c and strobe_trace.c with the same settings and have the linker put the wrappers between the program and its
 * allocator; no source is changed:
 *
 *     -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free
 *
 * An allocator with hooks of its own needs no wrapper. In FreeRTOSConfig.h, for one:
 *
 *     #define traceMALLOC(pointer, size) STROBE_HEAP_ALLOCATED(pointer, size)
 *     #define traceFREE(pointer, size) STROBE_HEAP_FREED(pointer)
 */
#ifndef STROBE_HEAP_H
#define STROBE_HEAP_H

#include "strobe_trace.h"

/* Words of the stack that go with each record, from where the allocator was called: a multiple of 8. 0: the return address alone. */
#ifndef STROBE_HEAP_STACK
#define STROBE_HEAP_STACK 0
#endif

/* STROBE_HEAP_THREAD is the name of a function uintptr_t f(void) that returns a handle of the running thread: the pointer to its
 * structure, or its number. It must not allocate, and is called in threads only. Without it threads are not kept apart. A record
 * with the handle comes before the first call of another thread, and every STROBE_HEAP_THREAD_AGAIN records, at most 255: one that is
 * lost leaves the thread unknown for so long. */
#ifndef STROBE_HEAP_THREAD_AGAIN
#define STROBE_HEAP_THREAD_AGAIN 64
#endif

/* What a record is about besides its kind, in the upper three bits of the id; the lower nine are the exception's number, 0 in threads. */
#define STROBE_HEAP_DONE 0u
#define STROBE_HEAP_BEGUN 1u /* of FREE: a block that is being resized, and may stay as it is */

/* What a record of a thread has, by its id. */
#define STROBE_HEAP_RUNS 0u          /* the handle of who makes the calls that follow */
#define STROBE_HEAP_NAMED 0x100u     /* and the length of its name: the handle of a thread whose name follows */
#define STROBE_HEAP_LETTERS 0x200u   /* and which, from 0: four bytes of the name */
#define STROBE_HEAP_LONGEST_NAME 32u /* bytes; what is longer is cut off */

#if STROBE_TRACE

/* A block was allocated (0: it could not be), by the function that calls the one that this is in. */
#define STROBE_HEAP_ALLOCATED(pointer, size) strobe_heap_allocated(pointer, size, STROBE_HEAP_CALLER)

/* A block is about to be freed. Before it is: no other thread can be given it in between. */
#define STROBE_HEAP_FREED(pointer) strobe_heap_freed(pointer, STROBE_HEAP_CALLER)

/* A block is about to be resized, and was (to 0: it could not be). */
#define STROBE_HEAP_RESIZING(pointer) strobe_heap_resizing(pointer, STROBE_HEAP_CALLER)
#define STROBE_HEAP_RESIZED(before, pointer, size)                                                 \
    strobe_heap_resized(before, pointer, size, STROBE_HEAP_CALLER)

/* What the thread of a handle is called. Once for each thread, when it is created or gets its name. */
#ifdef STROBE_HEAP_THREAD
#define STROBE_HEAP_THREAD_NAME(handle, name) strobe_heap_thread_name((uintptr_t)(handle), name)
#else
#define STROBE_HEAP_THREAD_NAME(handle, name) ((void)sizeof(handle), (void)sizeof(name))
#endif

struct strobe_heap_caller {
    void *returns_to;
    const uint32_t *stack; /* as it was when it called */
};

/* GCC and Clang know both without a frame pointer, if the function is not inlined. */
#if STROBE_HEAP_STACK
#define STROBE_HEAP_CALLER                                                                         \
    ((struct strobe_heap_caller){__builtin_return_address(0), __builtin_dwarf_cfa()})
#else
#define STROBE_HEAP_CALLER ((struct strobe_heap_caller){__builtin_return_address(0), 0})
#endif

void strobe_heap_allocated(const void *pointer, uint32_t size, struct strobe_heap_caller caller);
void strobe_heap_freed(const void *pointer, struct strobe_heap_caller caller);
void strobe_heap_resizing(const void *pointer, struct strobe_heap_caller caller);
void strobe_heap_resized(const void *before, const void *pointer, uint32_t size, struct strobe_heap_caller caller);
void strobe_heap_thread_name(uintptr_t thread, const char *name);

#else

#define STROBE_HEAP_ALLOCATED(pointer, size) ((void)sizeof(pointer), (void)sizeof(size))
#define STROBE_HEAP_FREED(pointer) ((void)sizeof(pointer))
#define STROBE_HEAP_RESIZING(pointer) ((void)sizeof(pointer))
#define STROBE_HEAP_RESIZED(before, pointer, size)                                                 \
    ((void)sizeof(before), (void)sizeof(pointer), (void)sizeof(size))
#define STROBE_HEAP_THREAD_NAME(handle, name) ((void)sizeof(handle), (void)sizeof(name))

#endif

#endif
