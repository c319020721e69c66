/* The order matters: wait states go up before the clock does (RM0360 3.2.1), and the PLL
 * is configured while it is off (RM0360 7.2.3). */
#include "board.h"

void clock_to_48mhz(enum prefetch prefetch)
{
    RCC->cr |= RCC_CR_HSION;
    while (!(RCC->cr & RCC_CR_HSIRDY)) {
    }
    RCC->cfgr = (RCC->cfgr & ~RCC_CFGR_SW_MASK) | RCC_CFGR_SW_HSI;
    while ((RCC->cfgr & RCC_CFGR_SWS_MASK) != RCC_CFGR_SWS_HSI) {
    }
    RCC->cfgr &= ~(RCC_CFGR_HPRE_MASK | RCC_CFGR_PPRE_MASK);

    FLASH_ACR = FLASH_ACR_LATENCY_1 | (prefetch == PREFETCH_ON ? FLASH_ACR_PRFTBE : 0);

    RCC->cr &= ~RCC_CR_PLLON;
    while (RCC->cr & RCC_CR_PLLRDY) {
    }
    RCC->cfgr = (RCC->cfgr & ~(RCC_CFGR_PLLSRC_MASK | RCC_CFGR_PLLMUL_MASK)) | RCC_CFGR_PLLMUL_12;
    RCC->cr |= RCC_CR_PLLON;
    while (!(RCC->cr & RCC_CR_PLLRDY)) {
    }
    RCC->cfgr = (RCC->cfgr & ~RCC_CFGR_SW_MASK) | RCC_CFGR_SW_PLL;
    while ((RCC->cfgr & RCC_CFGR_SWS_MASK) != RCC_CFGR_SWS_PLL) {
    }
}
