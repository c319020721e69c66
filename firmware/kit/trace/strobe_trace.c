/* Records over the ITM's stimulus ports (ARMv7-M Architecture Reference Manual, DDI 0403, C1.7).
 *
 * A record is one word on STROBE_TRACE_PORT: kind (4 bits), id (12 bits), number (16 bits). A port takes a word whole, so nobody can
 * come in between its bytes. A value goes to the next port first and the record completes it: a value whose record found no room is
 * followed by another record, or by none, and no record is ever sent whose value found none. So what arrives always fits together.
 *
 * Each record takes the next number, whether it can be sent or not. Interrupts are off from taking the number to sending the record:
 * numbers arrive in order, and the host can tell from them how many are missing and where. LDREX and STREX would keep the counter right but
 * not the order. PRIMASK and not BASEPRI, because a program may use all of its priorities.
 *
 * A port reads as 0 if it has no room, and takes no harm from writes while it is off (C1.7.3), so whether somebody listens need not be asked. */
#include "strobe_trace.h"

#if STROBE_TRACE

#define PORT(n) (*(volatile uint32_t *)(0xE0000000u + 4u * (n)))
#define TEXT_(n) #n
#define TEXT(n) TEXT_(n)

/* Tells the host how to read this: id 4095, then version, sink, port. */
STROBE_NAME(4095, "1 itm " TEXT(STROBE_TRACE_PORT));

static uint16_t number;

__attribute__((always_inline)) static inline uint32_t interrupts_off(void)
{
    uint32_t before;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(before) : : "memory");
    return before;
}

__attribute__((always_inline)) static inline void interrupts_as(uint32_t before)
{
    __asm__ volatile("msr primask, %0" : : "r"(before) : "memory");
}

__attribute__((always_inline)) static inline int send(unsigned port, uint32_t word)
{
    for (unsigned left = STROBE_TRACE_SPIN; !PORT(port); left--) {
        if (!left) {
            return 0;
        }
    }
    PORT(port) = word;
    return 1;
}

/* What carries out of the number when one is added is not stored. Written like this it needs no register that has to be saved. */
__attribute__((always_inline)) static inline uint32_t numbered(uint32_t head)
{
    head |= number;
    number = (uint16_t)(head + 1);
    return head;
}

void strobe_trace_record(uint32_t head)
{
    uint32_t before = interrupts_off();
    send(STROBE_TRACE_PORT, numbered(head));
    interrupts_as(before);
}

void strobe_trace_value(uint32_t head, uint32_t value)
{
    uint32_t before = interrupts_off();
    head = numbered(head);
    if (send(STROBE_TRACE_PORT + 1, value)) {
        send(STROBE_TRACE_PORT, head);
    }
    interrupts_as(before);
}

void strobe_trace_write(uint32_t id, const void *bytes, uint32_t length)
{
    for (const uint8_t *from = bytes; length;) {
        uint32_t word = 0, some = length < 4 ? length : 4;
        for (uint32_t n = 0; n < some; n++) {
            word |= (uint32_t)*from++ << 8 * n;
        }
        strobe_trace_value(STROBE_HEAD(STROBE_KIND_BYTES + some, id), word);
        length -= some;
    }
}

#endif
