/* An STM32F070 at 48 MHz. Records as bytes wait in a ring until USART1 takes them by interrupt, at 1 Mbaud; its clock is SysTick. */
#include "port.h"

#include "board.h"
#include "cortex_m0.h"
#include "trace/strobe_trace.h"

#define IRQ_USART1 27u
#define USART_CR1_TXEIE (1u << 7)

#define RING 4096u

static uint8_t ring[RING];
static volatile uint16_t in, out;

void USART1_IRQHandler(void)
{
    uint16_t at = out;
    if (at == in) {
        USART1->cr1 &= ~USART_CR1_TXEIE;
        return;
    }
    USART1->tdr = ring[at % RING];
    out = at + 1;
}

#if STROBE_TRACE_OVER == STROBE_OVER_SINK
/* With interrupts off. */
void strobe_trace_sink(const uint8_t *bytes, uint8_t length)
{
    uint16_t at = in;
    if (RING - (uint16_t)(at - out) < length) {
        return;
    }
    for (uint8_t n = 0; n < length; n++) {
        ring[at++ % RING] = bytes[n];
    }
    in = at;
    USART1->cr1 |= USART_CR1_TXEIE;
}
#endif

#define PERIOD 48000u
#define SCB_ICSR_PENDSTSET (1u << 26)

static volatile uint32_t ticks;

void SysTick_Handler(void) { ticks++; }

/* Cycles since SysTick began. With interrupts off it may have gone round without being counted; then it is pending, and the count is read anew,
 * because it may have gone round in between. */
uint32_t port_clock(void)
{
    uint32_t rounds = ticks, left = SYSTICK->cvr;
    if (SCB_ICSR & SCB_ICSR_PENDSTSET) {
        left = SYSTICK->cvr;
        rounds++;
    }
    return rounds * PERIOD + (PERIOD - 1 - left);
}

void port_start(void)
{
    clock_to_48mhz(PREFETCH_ON);
    usart1_start(1000000);
    nvic_enable(IRQ_USART1);
    systick_start(PERIOD);
}

void port_finish(void)
{
    while (out != in) {
    }
    usart1_drain();
    SYSTICK->csr = 0;
}
