/* Clock, console and exit of the LM3S6965 programs; nothing ever arrives at the console. */
#include "lm3s6965.h"

#include <unistd.h>

/* Data sheet 5.3: off the PLL, power it, wait for it, on to it. */
void clock_to_50mhz(void)
{
    uint32_t rcc = (SYSCTL_RCC | RCC_BYPASS) & ~RCC_USESYSDIV;
    SYSCTL_RCC = rcc;
    rcc &= ~(RCC_XTAL_MASK | RCC_OSCSRC_MASK | RCC_PWRDN | RCC_MOSCDIS);
    SYSCTL_RCC = rcc | RCC_XTAL_8MHZ;
    rcc = (rcc | RCC_XTAL_8MHZ | RCC_USESYSDIV | RCC_SYSDIV(4u)) & ~(RCC_SYSDIV_MASK & ~RCC_SYSDIV(4u));
    SYSCTL_RCC = rcc;
    while (!(SYSCTL_RIS & RIS_PLL_LOCKED)) {
    }
    SYSCTL_RCC = rcc & ~RCC_BYPASS;
}

void uart0_start(uint32_t baud)
{
    SYSCTL_RCGC1 |= 1u;
    SYSCTL_RCGC2 |= 1u;
    GPIO_AFSEL(PORTA) |= 3u;
    GPIO_DEN(PORTA) |= 3u;
    uint32_t divisor = (CPU_HZ * 4u + baud / 2u) / baud;
    UART0->ctl = 0;
    UART0->ibrd = divisor / 64u;
    UART0->fbrd = divisor % 64u;
    UART0->lcrh = UART_LCRH_8_BITS | UART_LCRH_FIFOS;
    UART0->ctl = UART_CTL_ENABLE | UART_CTL_TX;
}

int _write(int file, const char *bytes, int count)
{
    (void)file;
    for (int i = 0; i < count; i++) {
        while (UART0->fr & UART_FR_TXFF) {
        }
        UART0->dr = (uint8_t)bytes[i];
    }
    return count;
}

int _read(int file, char *bytes, int count)
{
    (void)file;
    (void)bytes;
    (void)count;
    return 0;
}
