/* Registers of the MPS2 boards with the FPGA images AN385 and AN386, as our programs use them.
 *
 * Written from Application Note AN385 and the CMSDK Technical Reference Manual (ARM DDI 0479). */
#ifndef KIT_MPS2_H
#define KIT_MPS2_H

#include <stdint.h>

#define CPU_HZ 25000000u

/* DDI 0479, 4.3 */
struct cmsdk_uart {
    volatile uint32_t data;
    volatile uint32_t state;
    volatile uint32_t ctrl;
    volatile uint32_t intstatus; /* write 1 to clear */
    volatile uint32_t bauddiv;
};
#define UART0 ((struct cmsdk_uart *)0x40004000u)
#define UART1 ((struct cmsdk_uart *)0x40005000u)
#define UART_STATE_TXFULL (1u << 0)
#define UART_CTRL_TX (1u << 0)
#define UART_CTRL_TX_INTERRUPT (1u << 2)
#define UART_INTERRUPT_TX (1u << 0)
#define UART0_TX_IRQ 1u

/* DDI 0479, 4.1 */
struct cmsdk_timer {
    volatile uint32_t ctrl;
    volatile uint32_t value;
    volatile uint32_t reload;
    volatile uint32_t intstatus;
};
#define TIMER0 ((struct cmsdk_timer *)0x40000000u)
#define TIMER1 ((struct cmsdk_timer *)0x40001000u)
#define TIMER_CTRL_ENABLE (1u << 0)
#define TIMER_CTRL_INTERRUPT (1u << 3)
#define TIMER0_IRQ 8u
#define TIMER1_IRQ 9u

/* DDI 0479, 4.2: one of the two timers */
struct cmsdk_dual_timer {
    volatile uint32_t load;
    volatile uint32_t value;
    volatile uint32_t control;
    volatile uint32_t intclr;
    volatile uint32_t ris;
    volatile uint32_t mis;
    volatile uint32_t bgload;
    uint32_t reserved;
};
#define DUALTIMER ((struct cmsdk_dual_timer *)0x40002000u)
#define DUALTIMER_ONE_SHOT (1u << 0)
#define DUALTIMER_32_BITS (1u << 1)
#define DUALTIMER_INTERRUPT (1u << 5)
#define DUALTIMER_PERIODIC (1u << 6)
#define DUALTIMER_ENABLE (1u << 7)
#define DUALTIMER_IRQ 10u

/* DDI 0479, 4.4 */
struct cmsdk_watchdog {
    volatile uint32_t load;
    volatile uint32_t value;
    volatile uint32_t control;
    volatile uint32_t intclr;
    volatile uint32_t ris;
};
#define WATCHDOG ((struct cmsdk_watchdog *)0x40008000u)
#define WATCHDOG_INTERRUPT (1u << 0)

/* AN385, 4.4 */
#define FPGAIO_LED (*(volatile uint32_t *)0x40028000u)
#define FPGAIO_CLK100HZ (*(volatile uint32_t *)0x40028014u)
#define FPGAIO_COUNTER (*(volatile uint32_t *)0x40028018u)
#define FPGAIO_PRESCALE (*(volatile uint32_t *)0x4002801Cu)

/* AN385, 4.5 */
#define SCC_CFG4 (*(volatile uint32_t *)0x4002F010u)
#define SCC_CFGDATA_RTN (*(volatile uint32_t *)0x4002F0A0u)
#define SCC_CFGCTRL (*(volatile uint32_t *)0x4002F0A8u)
#define SCC_CFGSTAT (*(volatile uint32_t *)0x4002F0ACu)
#define SCC_AID (*(volatile uint32_t *)0x4002FFF8u)
#define SCC_ID (*(volatile uint32_t *)0x4002FFFCu)

/* Transmit only, 8N1; the first _write starts it. */
void uart0_start(uint32_t baud);

#endif
