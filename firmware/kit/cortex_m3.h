/* The processor's own registers beyond those that a Cortex-M0 has too (cortex_m0.h).
 *
 * Written from the ARMv7-M Architecture Reference Manual (ARM DDI 0403), chapters B1 and B3. */
#ifndef KIT_CORTEX_M3_H
#define KIT_CORTEX_M3_H

#include "cortex_m0.h"

/* B3.4.4 Enables of interrupts 32 to 63 */
#define NVIC_ISER1 (*(volatile uint32_t *)0xE000E104u)
/* B3.4.9 Priorities, a byte each */
#define NVIC_IPR ((volatile uint8_t *)0xE000E400u)
/* B3.2.10 to B3.2.12 */
#define SCB_CCR (*(volatile uint32_t *)0xE000ED14u)
#define SCB_CCR_DIV_0_TRP (1u << 4)
#define SCB_SHCSR (*(volatile uint32_t *)0xE000ED24u)
#define SCB_SHCSR_USGFAULTENA (1u << 18)
#define SCB_CFSR (*(volatile uint32_t *)0xE000ED28u)
#define SCB_CFSR_DIVBYZERO (1u << 25)

/* Bit-band alias of a bit: the alias word of bit 0 of `address` is 32 times as far into its region. */
#define BIT_BAND(address, bit)                                                                     \
    (*(volatile uint32_t *)(((uintptr_t)(address) & 0xF0000000u) + 0x02000000u +                   \
                            ((uintptr_t)(address) & 0x000FFFFFu) * 32u + (bit) * 4u))

/* B1.4.2 The number of the exception being handled */
static inline uint32_t ipsr(void)
{
    uint32_t value;
    __asm__ volatile("mrs %0, ipsr" : "=r"(value));
    return value;
}

static inline void nvic_enable_any(unsigned irq)
{
    *(volatile uint32_t *)(0xE000E100u + irq / 32u * 4u) = 1u << irq % 32u;
}

#endif
