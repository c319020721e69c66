/* A tour of an MPS2 board: what the devices are and that they do what their manual says, printed on UART0.
 * Nothing that is printed depends on how fast the core is. */
#include "mps2.h"

#include <stdio.h>

#include "cortex_m3.h"

static volatile unsigned timer0_ticks, timer1_ticks, dual_ticks, nested, systicks, nmis, tx_interrupts;
static volatile unsigned usage_fault;
static const char *volatile message;

void IRQ_Handler(void)
{
    switch (ipsr() - 16u) {
    case TIMER0_IRQ:
        TIMER0->intstatus = 1;
        timer0_ticks++;
        /* The other timer has a higher priority: it comes in between. */
        unsigned before = timer1_ticks;
        while (timer0_ticks == 3 && timer1_ticks == before) {
        }
        nested += timer1_ticks != before;
        break;
    case TIMER1_IRQ:
        TIMER1->intstatus = 1;
        timer1_ticks++;
        break;
    case DUALTIMER_IRQ:
        DUALTIMER[1].intclr = 1;
        dual_ticks++;
        break;
    case UART0_TX_IRQ:
        UART0->intstatus = UART_INTERRUPT_TX;
        tx_interrupts++;
        if (*message) {
            UART0->data = (uint8_t)*message++;
        } else {
            UART0->ctrl &= ~UART_CTRL_TX_INTERRUPT;
            message = 0;
        }
        break;
    }
}

void SysTick_Handler(void)
{
    systicks++;
}

void NMI_Handler(void)
{
    nmis++;
    WATCHDOG->intclr = 1;
    WATCHDOG->control = 0;
}

void UsageFault_Handler(void)
{
    usage_fault = SCB_CFSR;
    /* The division gives 0 once its trap is off. */
    SCB_CFSR = usage_fault;
    SCB_CCR &= ~SCB_CCR_DIV_0_TRP;
}

static void identify(void)
{
    printf("SCC: image AN%x, AID %08x, board revision %x\n", (unsigned)(SCC_ID >> 4 & 0xfff),
           (unsigned)SCC_AID, (unsigned)SCC_CFG4);
    for (unsigned device = 0; device < 3; device++) {
        SCC_CFGCTRL = 1u << 31 | 1u << 20 | device;
        while (!(SCC_CFGSTAT & 1u)) {
        }
        printf("oscillator %u: %u Hz\n", device, (unsigned)SCC_CFGDATA_RTN);
    }
}

static void timers(void)
{
    NVIC_IPR[TIMER0_IRQ] = 0x80;
    NVIC_IPR[TIMER1_IRQ] = 0x40;
    nvic_enable(TIMER0_IRQ);
    nvic_enable(TIMER1_IRQ);
    nvic_enable(DUALTIMER_IRQ);
    TIMER0->reload = TIMER0->value = 49999;
    TIMER1->reload = TIMER1->value = 29999;
    TIMER0->ctrl = TIMER1->ctrl = TIMER_CTRL_ENABLE | TIMER_CTRL_INTERRUPT;
    while (timer0_ticks < 6) {
        wait_for_interrupt();
    }
    TIMER0->ctrl = TIMER1->ctrl = 0;
    printf("timers: %u ticks, one of them interrupted: %s\n", timer0_ticks, nested ? "yes" : "no");
    DUALTIMER[1].load = 1000;
    DUALTIMER[1].control = DUALTIMER_ENABLE | DUALTIMER_32_BITS | DUALTIMER_INTERRUPT | DUALTIMER_ONE_SHOT;
    while (!dual_ticks) {
    }
    printf("dual timer: one shot, %u tick, value %u\n", dual_ticks, (unsigned)DUALTIMER[1].value);
    systick_start(25000);
    while (systicks < 4) {
        wait_for_interrupt();
    }
    SYSTICK->csr = 0;
    printf("SysTick: %u ticks\n", systicks);
    uint32_t start = FPGAIO_CLK100HZ;
    while (FPGAIO_CLK100HZ - start < 2) {
    }
    printf("FPGAIO: the 100 Hz counter counts\n");
    FPGAIO_LED = 2;
    printf("LEDs: %x\n", (unsigned)FPGAIO_LED);
}

static void watchdog(void)
{
    WATCHDOG->load = 5000;
    WATCHDOG->control = WATCHDOG_INTERRUPT;
    while (!nmis) {
    }
    printf("watchdog: %u non-maskable interrupt\n", nmis);
}

static void core(void)
{
    static volatile uint32_t word = 0xA5A50000u;
    BIT_BAND(&word, 0) = 1;
    BIT_BAND(&word, 31) = 0;
    printf("bit-band: %08x, bit 16 is %u\n", (unsigned)word, (unsigned)BIT_BAND(&word, 16));
    SCB_SHCSR |= SCB_SHCSR_USGFAULTENA;
    SCB_CCR |= SCB_CCR_DIV_0_TRP;
    volatile int zero = 0, quotient = 7 / zero;
    printf("7 / 0 = %d, CFSR %08x\n", quotient, (unsigned)usage_fault);
}

/* The transmit interrupt sends the rest of what one write begins. */
static void interrupt_driven(void)
{
    while (UART0->state & UART_STATE_TXFULL) {
    }
    message = "sent by interrupt\n";
    nvic_enable(UART0_TX_IRQ);
    UART0->ctrl |= UART_CTRL_TX_INTERRUPT;
    UART0->data = (uint8_t)*message++;
    /* Between the question and the sleep no interrupt may come; it wakes all the same. */
    interrupts_off();
    while (message) {
        wait_for_interrupt();
        interrupts_on();
        interrupts_off();
    }
    interrupts_on();
    printf("%u transmit interrupts\n", tx_interrupts);
}

int main(void)
{
    uart0_start(115200);
    identify();
    timers();
    watchdog();
    core();
    interrupt_driven();
    return 0;
}
