/* The processor's own registers, as the demo firmware uses them.
 *
 * Written from the ARMv6-M Architecture Reference Manual (ARM DDI 0419),
 * chapter B3; only what our programs touch is here. */
#ifndef KIT_CORTEX_M0_H
#define KIT_CORTEX_M0_H

#include <stdint.h>

/* B3.3 System timer, SysTick */
struct systick_regs {
    volatile uint32_t csr; /* 0xE000E010 control and status */
    volatile uint32_t rvr; /* 0xE000E014 reload value, 24 bits */
    volatile uint32_t cvr; /* 0xE000E018 current value, any write clears it */
};
#define SYSTICK ((struct systick_regs *)0xE000E010u)
#define SYSTICK_CSR_ENABLE (1u << 0)
#define SYSTICK_CSR_TICKINT (1u << 1)
#define SYSTICK_CSR_CLKSOURCE_CPU (1u << 2)

/* B3.4 Nested vectored interrupt controller: writing 1 enables, 0 does nothing. */
#define NVIC_ISER (*(volatile uint32_t *)0xE000E100u)

/* B3.2.4 Interrupt control and state register */
#define SCB_ICSR (*(volatile uint32_t *)0xE000ED04u)
#define SCB_ICSR_PENDSVSET (1u << 28)

/* B3.2.11 System handler priority register 3: PendSV in bits 23:22, SysTick in bits 31:30. */
#define SCB_SHPR3 (*(volatile uint32_t *)0xE000ED20u)
#define SCB_SHPR3_PENDSV_LOWEST (3u << 22)

static inline void nvic_enable(unsigned irq) { NVIC_ISER = 1u << irq; }

static inline void interrupts_off(void) { __asm__ volatile("cpsid i" ::: "memory"); }
/* The barrier gives a pending interrupt the chance to come before the next instruction. */
static inline void interrupts_on(void) { __asm__ volatile("cpsie i\n isb" ::: "memory"); }
static inline void wait_for_interrupt(void) { __asm__ volatile("wfi" ::: "memory"); }

/* Interrupts every `cycles` processor cycles (2 to 2^24) from now on. */
static inline void systick_start(uint32_t cycles)
{
    SYSTICK->rvr = cycles - 1;
    SYSTICK->cvr = 0;
    SYSTICK->csr = SYSTICK_CSR_ENABLE | SYSTICK_CSR_TICKINT | SYSTICK_CSR_CLKSOURCE_CPU;
}

#endif
