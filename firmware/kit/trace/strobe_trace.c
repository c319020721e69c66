/* Records, and the three ways that they may go.
 *
 * The head of a record is a word: kind (4 bits), id (12 bits), number (16 bits). Each record takes the next number, whether it can be sent
 * or not. Interrupts are off from taking the number to sending the record: numbers arrive in order, and the host can tell from them how many
 * are missing and where. LDREX and STREX would keep the counter right but not the order. PRIMASK and not BASEPRI, because a program
 * may use all of its priorities. */
#include "strobe_trace.h"

#if STROBE_TRACE

#define TEXT_(n) #n
#define TEXT(n) TEXT_(n)

static uint16_t number;

#ifdef __AVR__

typedef uint8_t interrupts;

__attribute__((always_inline)) static inline interrupts interrupts_off(void)
{
    interrupts before;
    __asm__ volatile("in %0, __SREG__\n\tcli" : "=r"(before) : : "memory");
    return before;
}

__attribute__((always_inline)) static inline void interrupts_as(interrupts before)
{
    __asm__ volatile("out __SREG__, %0" : : "r"(before) : "memory");
}

#else

typedef uint32_t interrupts;

__attribute__((always_inline)) static inline interrupts interrupts_off(void)
{
    interrupts before;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(before) : : "memory");
    return before;
}

__attribute__((always_inline)) static inline void interrupts_as(interrupts before)
{
    __asm__ volatile("msr primask, %0" : : "r"(before) : "memory");
}

#endif

/* What carries out of the number when one is added is not stored. Written like this it needs no register that has to be saved. */
__attribute__((always_inline)) static inline uint32_t numbered(uint32_t head)
{
    head |= number;
    number = (uint16_t)(head + 1);
    return head;
}

#if STROBE_TRACE_OVER == STROBE_OVER_ITM

/* Stimulus ports (ARMv7-M Architecture Reference Manual, DDI 0403, C1.7). A port takes a word whole, so nobody can come in between its
 * bytes. A value goes to the next port first and the head completes it: a value whose head found no room is followed by another record, or
 * by none, and no head is ever sent whose value found none. So what arrives always fits together.
 *
 * A port reads as 0 if it has no room, and takes no harm from writes while it is off (C1.7.3), so whether somebody listens need not be
 * asked. */

/* Tells the host how to read this: id 4095, then version, way, port. */
STROBE_NAME(4095, "1 itm " TEXT(STROBE_TRACE_PORT));

#define PORT(n) (*(volatile uint32_t *)(0xE0000000u + 4u * (n)))

#if STROBE_TRACE_SPIN
#define ITM_TER (*(volatile uint32_t *)0xE0000E00u) /* C1.7.4 */
#define ITM_TCR (*(volatile uint32_t *)0xE0000E80u) /* C1.7.6 */

/* A port that is off reads as 0, too: nobody is to wait for that. */
__attribute__((always_inline)) static inline int may_get_room(unsigned port)
{
    return ITM_TCR & 1 && ITM_TER >> port & 1;
}
#else
#define may_get_room(port) 1
#endif

__attribute__((always_inline)) static inline int send(unsigned port, uint32_t word)
{
    for (unsigned left = STROBE_TRACE_SPIN; !PORT(port); left--) {
        if (!left || !may_get_room(port)) {
            return 0;
        }
    }
    PORT(port) = word;
    return 1;
}

void strobe_trace_start(void) {}

void strobe_trace_record(uint32_t head)
{
    interrupts before = interrupts_off();
    send(STROBE_TRACE_PORT, numbered(head));
    interrupts_as(before);
}

void strobe_trace_value(uint32_t head, uint32_t value)
{
    interrupts before = interrupts_off();
    head = numbered(head);
    if (send(STROBE_TRACE_PORT + 1, value)) {
        send(STROBE_TRACE_PORT, head);
    }
    interrupts_as(before);
}

void strobe_trace_words(uint32_t head, const uint32_t *words, uint32_t count)
{
    interrupts before = interrupts_off();
    head = numbered(head);
    uint32_t sent = 0;
    while (sent < count && send(STROBE_TRACE_PORT + 1, words[sent])) {
        sent++;
    }
    if (sent == count) {
        send(STROBE_TRACE_PORT, head);
    }
    interrupts_as(before);
}

#else

/* A frame of bytes: one with bit 7 set, then the words (head, time, value if there is one), each as five bytes of seven bits, the least
 * significant first. The first byte makes the exclusive or of all of them 0x80. So a frame begins where bit 7 is set and nowhere else, and
 * what is damaged shows. It is the same for any carrier: none keeps words together. */
#define RECORD_BYTES 11
#define VALUE_BYTES 16
#define WORD_BYTES 5
#define MOST_BYTES (RECORD_BYTES + WORD_BYTES * STROBE_MOST_WORDS)

#ifdef STROBE_TRACE_CLOCK

uint32_t STROBE_TRACE_CLOCK(void);
#define NOW() STROBE_TRACE_CLOCK()

void strobe_trace_start(void) {}

#elif defined(__ARM_ARCH_7M__) || defined(__ARM_ARCH_7EM__) || defined(__ARM_ARCH_8M_MAIN__)

#define REG(address) (*(volatile uint32_t *)(address))
#define DEMCR REG(0xE000EDFCu)    /* DDI 0403, C1.6.5 */
#define DWT_CTRL REG(0xE0001000u) /* C1.8.7 */
#define NOW() REG(0xE0001004u)    /* DWT_CYCCNT, C1.8.8 */

void strobe_trace_start(void)
{
    DEMCR |= 1u << 24; /* TRCENA */
    DWT_CTRL |= 1u;    /* CYCCNTENA */
}

#else
#error "this core has no cycle counter: name a function that tells time with STROBE_TRACE_CLOCK (and STROBE_TRACE_TICK)"
#endif

/* Puts a word; returns the exclusive or of its bytes. */
__attribute__((always_inline)) static inline uint8_t put(uint8_t *to, uint32_t word)
{
#ifdef __AVR__
    /* Byte by byte: it shifts one bit at a time. */
    uint8_t a = (uint8_t)word, b = (uint8_t)(word >> 8), c = (uint8_t)(word >> 16),
            d = (uint8_t)(word >> 24);
    to[0] = a & 0x7F;
    to[1] = (uint8_t)(b << 1 | a >> 7) & 0x7F;
    to[2] = (uint8_t)(c << 2 | b >> 6) & 0x7F;
    to[3] = (uint8_t)(d << 3 | c >> 5) & 0x7F;
    to[4] = d >> 4;
#else
    to[0] = word & 0x7F;
    to[1] = word >> 7 & 0x7F;
    to[2] = word >> 14 & 0x7F;
    to[3] = word >> 21 & 0x7F;
    to[4] = (uint8_t)(word >> 28);
#endif
    return to[0] ^ to[1] ^ to[2] ^ to[3] ^ to[4];
}

#if STROBE_TRACE_OVER == STROBE_OVER_RTT

STROBE_NAME(4095, "1 rtt " TEXT(STROBE_TRACE_TICK));

_Static_assert(STROBE_TRACE_RTT_BYTES >= 2 * MOST_BYTES, "no room for records");

static uint8_t buffer[STROBE_TRACE_RTT_BYTES];

/* SEGGER's layout: the id, how many buffers there are in each direction, and the only one. Ready before the first instruction of main, so that
 * nothing has to be started. A program that has SEGGER's own must not have a second: it hands frames on from a sink. */
struct {
    char id[16];
    int32_t ups, downs;
    struct {
        const char *name;
        uint8_t *buffer;
        uint32_t size;
        volatile uint32_t write; /* ours */
        volatile uint32_t read;  /* the probe's */
        uint32_t flags;          /* 0: what finds no room is dropped */
    } up;
} _SEGGER_RTT = {"SEGGER RTT", 1, 0, {"strobe", buffer, sizeof buffer, 0, 0, 0}};

/* Where so many bytes fit in one piece, or null. What is left at the end of the buffer gets zeros, which are no part of a frame. The probe's
 * offset is only compared: whatever it wrote there, nothing goes outside of the buffer. */
__attribute__((always_inline)) static inline uint8_t *room(uint32_t length)
{
    uint32_t write = _SEGGER_RTT.up.write, read = _SEGGER_RTT.up.read;
    if (sizeof buffer - write > length) {
        return read > write && read - write <= length ? 0 : buffer + write;
    }
    if (read > write || read <= length) {
        return 0;
    }
    for (; write < sizeof buffer; write++) {
        buffer[write] = 0;
        __asm__ volatile("" : : : "memory"); /* or it becomes a call of memset */
    }
    return buffer;
}

/* The probe must not see the offset before the bytes. */
__attribute__((always_inline)) static inline void sent(const uint8_t *end)
{
    __asm__ volatile("dmb" : : : "memory");
    _SEGGER_RTT.up.write = (uint32_t)(end - buffer);
}

#define BEGIN(length)                                                                              \
    uint8_t *frame = room(length);                                                                 \
    if (frame)
#define END(length) sent(frame + (length))
#define BEGIN_SOME(length) BEGIN(length)
#define END_SOME(length) END(length)

#else

STROBE_NAME(4095, "1 bytes " TEXT(STROBE_TRACE_TICK));

#define BEGIN(length) uint8_t frame[length];
#define END(length) strobe_trace_sink(frame, length)
#define BEGIN_SOME(length) BEGIN(MOST_BYTES)
#define END_SOME(length) END((uint8_t)(length))

#endif

void strobe_trace_record(uint32_t head)
{
    interrupts before = interrupts_off();
    head = numbered(head);
    BEGIN(RECORD_BYTES)
    {
        frame[0] = 0x80 ^ put(frame + 1, head) ^ put(frame + 6, NOW());
        END(RECORD_BYTES);
    }
    interrupts_as(before);
}

void strobe_trace_value(uint32_t head, uint32_t value)
{
    interrupts before = interrupts_off();
    head = numbered(head);
    BEGIN(VALUE_BYTES)
    {
        frame[0] = 0x80 ^ put(frame + 1, head) ^ put(frame + 6, NOW()) ^ put(frame + 11, value);
        END(VALUE_BYTES);
    }
    interrupts_as(before);
}

void strobe_trace_words(uint32_t head, const uint32_t *words, uint32_t count)
{
    interrupts before = interrupts_off();
    head = numbered(head);
    uint32_t length = RECORD_BYTES + WORD_BYTES * count;
    BEGIN_SOME(length)
    {
        uint8_t check = 0x80 ^ put(frame + 1, head) ^ put(frame + 6, NOW());
        for (uint32_t n = 0; n < count; n++) {
            check ^= put(frame + RECORD_BYTES + WORD_BYTES * n, words[n]);
        }
        frame[0] = check;
        END_SOME(length);
    }
    interrupts_as(before);
}

#endif

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
