/* A tour of the LM3S6965: what the devices are and that they do what the data sheet says, printed on UART0.
 * Nothing that is printed depends on how fast the core is. */
#include "lm3s6965.h"

#include <stdio.h>

#include "cortex_m3.h"

static volatile unsigned timer0_ticks, timer3_ticks, systicks, switches;

void IRQ_Handler(void)
{
    switch (ipsr() - 16u) {
    case TIMER0A_IRQ:
        TIMER(0)->icr = TIMER_TIMEOUT;
        timer0_ticks++;
        break;
    case TIMER3A_IRQ:
        TIMER(3)->icr = TIMER_TIMEOUT;
        timer3_ticks++;
        break;
    }
}

void SysTick_Handler(void)
{
    systicks++;
    SCB_ICSR = SCB_ICSR_PENDSVSET;
}

void PendSV_Handler(void)
{
    switches++;
}

static void identify(void)
{
    printf("DID0 %08x DID1 %08x\n", (unsigned)SYSCTL_DID0, (unsigned)SYSCTL_DID1);
    for (unsigned n = 0; n < 5; n++) {
        printf("DC%u %08x\n", n, (unsigned)SYSCTL_DC(n));
    }
    uint32_t dc0 = SYSCTL_DC(0);
    printf("%u KiB flash, %u KiB SRAM\n", (unsigned)((dc0 & 0xffff) + 1) * 2, (unsigned)((dc0 >> 16) + 1) / 4);
}

static void timers(void)
{
    SYSCTL_RCGC1 |= 1u << 16 | 1u << 19;
    TIMER(0)->cfg = 0;
    TIMER(0)->tamr = TIMER_PERIODIC;
    TIMER(0)->tailr = CPU_HZ / 1000u;
    TIMER(0)->imr = TIMER_TIMEOUT;
    TIMER(3)->cfg = 0;
    TIMER(3)->tamr = TIMER_ONE_SHOT;
    TIMER(3)->tailr = CPU_HZ / 500u;
    TIMER(3)->imr = TIMER_TIMEOUT;
    nvic_enable_any(TIMER0A_IRQ);
    nvic_enable_any(TIMER3A_IRQ);
    TIMER(0)->ctl = 1;
    TIMER(3)->ctl = 1;
    while (timer0_ticks < 5) {
        wait_for_interrupt();
    }
    TIMER(0)->ctl = 0;
    printf("timer 0: %u ticks; timer 3: %u tick, enabled %u\n", timer0_ticks, timer3_ticks,
           (unsigned)TIMER(3)->ctl & 1u);
    systick_start(CPU_HZ / 1000u);
    while (systicks < 3) {
        wait_for_interrupt();
    }
    SYSTICK->csr = 0;
    printf("SysTick: %u ticks, PendSV %u times\n", systicks, switches);
}

static void pins(void)
{
    SYSCTL_RCGC2 |= 1u << 5;
    GPIO_DIR(PORTF) = 1;
    GPIO_DEN(PORTF) = 1;
    GPIO_DATA(PORTF, 1u) = 0xff;
    printf("PF0 %u", (unsigned)GPIO_DATA(PORTF, 1u));
    BIT_BAND(PORTF + (1u << 2), 0) = 0;
    printf(", by bit-band %u\n", (unsigned)GPIO_DATA(PORTF, 1u));
}

int main(void)
{
    clock_to_50mhz();
    uart0_start(115200);
    identify();
    timers();
    pins();
    return 0;
}
