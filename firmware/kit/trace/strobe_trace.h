/* Marks, timed regions, values and channels that a program sends to strobe. docs/kit.md says how to use it and what a call costs.
 *
 *     #include "strobe_trace.h"
 *
 *     #define FILTER 1
 *     STROBE_NAME(FILTER, "filter");          // kept in the ELF file, not in flash
 *
 *     STROBE_BEGIN(FILTER);
 *     ...
 *     STROBE_END(FILTER);
 *
 * Compile strobe_trace.c with the same settings. With -DSTROBE_TRACE=0 nothing of this is in the program: arguments are not evaluated.
 *
 * A call never waits unless STROBE_TRACE_SPIN lets it: what there is no room for is dropped, and the numbers of the records show it.
 * Calls may come from any task and any interrupt that PRIMASK (AVR: the I bit) holds back; not from NMI or HardFault, and not from code
 * without privilege, which cannot set PRIMASK. */
#ifndef STROBE_TRACE_H
#define STROBE_TRACE_H

#include <stdint.h>

#ifndef STROBE_TRACE
#define STROBE_TRACE 1
#endif

/* What records go over: stimulus ports of the ITM; a buffer in RAM that a debug probe reads (RTT); or a function of the program's own. */
#define STROBE_OVER_ITM 1
#define STROBE_OVER_RTT 2
#define STROBE_OVER_SINK 3
#ifndef STROBE_TRACE_OVER
#define STROBE_TRACE_OVER STROBE_OVER_ITM
#endif

/* Over ITM: the stimulus port of records; the next one takes their values. Both must be enabled by whoever listens. */
#ifndef STROBE_TRACE_PORT
#define STROBE_TRACE_PORT 30
#endif

/* Over ITM: how many more times to look, with interrupts off, whether a port has room for a word. */
#ifndef STROBE_TRACE_SPIN
#define STROBE_TRACE_SPIN 0
#endif

/* Over RTT: bytes of the buffer. A record takes 11, each word of values 5 more. */
#ifndef STROBE_TRACE_RTT_BYTES
#define STROBE_TRACE_RTT_BYTES 1024
#endif

/* Over RTT and a sink each record has the time, from a function of the program's: uint32_t STROBE_TRACE_CLOCK(void). It counts up through all
 * 32 bits and is called with interrupts off. Without this macro it is the cycle counter of ARMv7-M and ARMv8-M mainline, which
 * STROBE_START sets going. STROBE_TRACE_TICK is how many cycles of the core a tick of that clock takes: a number, without suffix. */
#ifndef STROBE_TRACE_TICK
#define STROBE_TRACE_TICK 1
#endif

/* What a record is, in the upper four bits of its word. None is 0, so that a word of zeros is no record. */
#define STROBE_KIND_MARK 1u
#define STROBE_KIND_BEGIN 2u
#define STROBE_KIND_END 3u
#define STROBE_KIND_VALUE 4u
#define STROBE_KIND_SIGNED 5u
#define STROBE_KIND_BYTES 7u /* 8 to 11: one to four bytes of a channel */
/* What strobe_heap.h reports, with so many words each. */
#define STROBE_KIND_FREE 6u      /* 2: pointer, return address */
#define STROBE_KIND_ALLOCATE 12u /* 3: pointer, size, return address */
#define STROBE_KIND_RESIZE 13u   /* 4: pointer, size, return address, the pointer before */
#define STROBE_KIND_STACK 14u    /* 9: an address, and the words of the stack from there */
#define STROBE_KIND_THREAD 15u   /* 1: a thread, or a part of its name */
#define STROBE_MOST_WORDS 9u

/* Ids are 0 to 4094. */
#define STROBE_HEAD(kind, id) ((uint32_t)(kind) << 28 | ((uint32_t)(id) & 0xFFFu) << 16)

#if STROBE_TRACE

/* Sets the cycle counter going, if that is the clock. Once, before the first record. */
#define STROBE_START() strobe_trace_start()

/* Something happened. */
#define STROBE_MARK(id) strobe_trace_record(STROBE_HEAD(STROBE_KIND_MARK, id))

/* A region begins, and ends. Regions may nest, also with themselves. */
#define STROBE_BEGIN(id) strobe_trace_record(STROBE_HEAD(STROBE_KIND_BEGIN, id))
#define STROBE_END(id) strobe_trace_record(STROBE_HEAD(STROBE_KIND_END, id))

/* What a variable is now, without and with a sign. */
#define STROBE_VALUE(id, value)                                                                    \
    strobe_trace_value(STROBE_HEAD(STROBE_KIND_VALUE, id), (uint32_t)(value))
#define STROBE_SIGNED(id, value)                                                                   \
    strobe_trace_value(STROBE_HEAD(STROBE_KIND_SIGNED, id), (uint32_t)(value))

/* Bytes of a channel, four to a record. */
#define STROBE_WRITE(id, bytes, length) strobe_trace_write(id, bytes, length)

/* The name of an id, at file scope. `id` must be a number or a macro that is one, since the assembler has to read it. The section has
 * no address: it is in the ELF file only. */
#define STROBE_NAME(id, name) STROBE_NAME_(id, name)
#define STROBE_NAME_(id, name)                                                                     \
    __asm__(".pushsection .strobe_names,\"\",%progbits\n"                                          \
            ".byte (" #id ") & 255, (" #id ") >> 8\n"                                              \
            ".asciz \"" name "\"\n"                                                                \
            ".popsection")

void strobe_trace_start(void);
void strobe_trace_record(uint32_t head);
void strobe_trace_value(uint32_t head, uint32_t value);
void strobe_trace_write(uint32_t id, const void *bytes, uint32_t length);

/* A record with so many words, at most STROBE_MOST_WORDS. */
void strobe_trace_words(uint32_t head, const uint32_t *words, uint32_t count);

#if STROBE_TRACE_OVER == STROBE_OVER_SINK
/* The program's own. It takes all of these bytes or none (11 and 5 for each word of values), and is called with interrupts off: put them into a buffer and return. */
void strobe_trace_sink(const uint8_t *bytes, uint8_t length);
#endif

#else

/* sizeof does not evaluate what it is of, and keeps a variable used. */
#define STROBE_START() ((void)0)
#define STROBE_MARK(id) ((void)0)
#define STROBE_BEGIN(id) ((void)0)
#define STROBE_END(id) ((void)0)
#define STROBE_VALUE(id, value) ((void)sizeof(value))
#define STROBE_SIGNED(id, value) ((void)sizeof(value))
#define STROBE_WRITE(id, bytes, length) ((void)sizeof(bytes), (void)sizeof(length))
#define STROBE_NAME(id, name) _Static_assert(1, "")

#endif

#endif
