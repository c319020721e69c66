/* Registers of the LM3S6965, as our programs use them. Written from its data sheet; sections are named. */
#ifndef KIT_LM3S6965_H
#define KIT_LM3S6965_H

#include <stdint.h>

#define CPU_HZ 50000000u

#define REGISTER(address) (*(volatile uint32_t *)(address))

/* 5.4 System control */
#define SYSCTL_DID0 REGISTER(0x400FE000u)
#define SYSCTL_DID1 REGISTER(0x400FE004u)
#define SYSCTL_DC(n) REGISTER(0x400FE008u + ((n) ? 4u + 4u * (n) : 0u))
#define SYSCTL_RIS REGISTER(0x400FE050u)
#define SYSCTL_MISC REGISTER(0x400FE058u)
#define SYSCTL_RCC REGISTER(0x400FE060u)
#define SYSCTL_RCGC1 REGISTER(0x400FE104u)
#define SYSCTL_RCGC2 REGISTER(0x400FE108u)
#define RIS_PLL_LOCKED (1u << 6)
#define RCC_SYSDIV(n) (((n) - 1u) << 23)
#define RCC_SYSDIV_MASK (0xFu << 23)
#define RCC_USESYSDIV (1u << 22)
#define RCC_PWRDN (1u << 13)
#define RCC_BYPASS (1u << 11)
#define RCC_XTAL_8MHZ (0xEu << 6)
#define RCC_XTAL_MASK (0xFu << 6)
#define RCC_OSCSRC_MASK (3u << 4)
#define RCC_MOSCDIS (1u << 0)

/* 8.5 GPIO; data goes through a mask in the address */
#define GPIO_DATA(base, mask) REGISTER((base) + ((mask) << 2))
#define GPIO_DIR(base) REGISTER((base) + 0x400u)
#define GPIO_AFSEL(base) REGISTER((base) + 0x420u)
#define GPIO_DEN(base) REGISTER((base) + 0x51Cu)
#define PORTA 0x40004000u
#define PORTF 0x40025000u

/* 12.5 UART */
struct pl011 {
    volatile uint32_t dr;
    uint32_t reserved0[5];
    volatile uint32_t fr;
    uint32_t reserved1[2];
    volatile uint32_t ibrd;
    volatile uint32_t fbrd;
    volatile uint32_t lcrh;
    volatile uint32_t ctl;
};
#define UART0 ((struct pl011 *)0x4000C000u)
#define UART_FR_BUSY (1u << 3)
#define UART_FR_TXFF (1u << 5)
#define UART_LCRH_8_BITS (3u << 5)
#define UART_LCRH_FIFOS (1u << 4)
#define UART_CTL_ENABLE (1u << 0)
#define UART_CTL_TX (1u << 8)

/* 9.4 Timer module */
struct gptm {
    volatile uint32_t cfg;
    volatile uint32_t tamr;
    volatile uint32_t tbmr;
    volatile uint32_t ctl;
    uint32_t reserved[2];
    volatile uint32_t imr;
    volatile uint32_t ris;
    volatile uint32_t mis;
    volatile uint32_t icr;
    volatile uint32_t tailr;
};
#define TIMER(n) ((struct gptm *)(0x40030000u + 0x1000u * (n)))
#define TIMER_ONE_SHOT 1u
#define TIMER_PERIODIC 2u
#define TIMER_TIMEOUT 1u
#define TIMER0A_IRQ 19u
#define TIMER3A_IRQ 35u

/* From the internal oscillator to 50 MHz: the crystal's 8 MHz through the PLL, divided by 4. */
void clock_to_50mhz(void);
/* Transmit only, 8N1 on PA1, at 50 MHz. */
void uart0_start(uint32_t baud);

#endif
