/* The registers of an STM32F407 and of its trace blocks that these programs touch.
 *
 * Written from RM0090 and from the ARMv7-M Architecture Reference Manual (DDI 0403), C1.7 to C1.10. */
#ifndef TRACE_CHIP_H
#define TRACE_CHIP_H

#include <stdint.h>

#define REG(address) (*(volatile uint32_t *)(address))

/* RM0090 6.3, 3.9 */
#define RCC_CR REG(0x40023800u)
#define RCC_CR_PLLON (1u << 24)
#define RCC_CR_PLLRDY (1u << 25)
#define RCC_PLLCFGR REG(0x40023804u)
#define RCC_CFGR REG(0x40023808u)
#define RCC_APB1ENR REG(0x40023840u)
#define RCC_APB1ENR_TIM2EN (1u << 0)
#define FLASH_ACR REG(0x40023C00u)

/* RM0090 18.4 */
#define TIM2_CR1 REG(0x40000000u)
#define TIM2_DIER REG(0x4000000Cu)
#define TIM2_SR REG(0x40000010u)
#define TIM2_EGR REG(0x40000014u)
#define TIM2_ARR REG(0x4000002Cu)
#define TIM2_IRQ 28u

/* RM0090 38.16.3 */
#define DBGMCU_CR REG(0xE0042004u)
#define DBGMCU_CR_TRACE_IOEN (1u << 5)

/* C1.6.5 */
#define DEMCR REG(0xE000EDFCu)
#define DEMCR_TRCENA (1u << 24)

/* C1.8 */
#define DWT_CTRL REG(0xE0001000u)
#define DWT_CYCCNT REG(0xE0001004u)

/* C1.7; a port takes bytes, halves and words, and says whether it has room. */
#define ITM_PORT8(n) (*(volatile uint8_t *)(0xE0000000u + 4u * (n)))
#define ITM_PORT32(n) REG(0xE0000000u + 4u * (n))
#define ITM_TER REG(0xE0000E00u)
#define ITM_TCR REG(0xE0000E80u)
#define ITM_LAR REG(0xE0000FB0u)

/* C1.10 */
#define TPIU_ACPR REG(0xE0040010u)
#define TPIU_SPPR REG(0xE00400F0u)
#define TPIU_FFCR REG(0xE0040304u)

/* 168 MHz from the internal oscillator, with five wait states, prefetch and both caches. */
void clock_to_168mhz(void);

/* Where these programs end; `strobe run --until finished` stops here. */
_Noreturn void finished(void);

#endif
