/* The vector table of a Cortex-M3 or M4: IRQ_LINES says how many interrupts the chip has. All of them
 * arrive at one handler, which finds out its number from IPSR. */
#include <stdint.h>

extern uint32_t _stack_top[];

_Noreturn void Reset_Handler(void);

__attribute__((noinline)) void Default_Handler(void)
{
    for (;;) {
    }
}

#define HANDLER(name) void name(void) __attribute__((weak, alias("Default_Handler")))

HANDLER(NMI_Handler);
HANDLER(HardFault_Handler);
HANDLER(MemManage_Handler);
HANDLER(BusFault_Handler);
HANDLER(UsageFault_Handler);
HANDLER(SVC_Handler);
HANDLER(PendSV_Handler);
HANDLER(SysTick_Handler);
HANDLER(IRQ_Handler);

union vector {
    void (*handler)(void);
    uint32_t *stack_top;
};

__attribute__((section(".vectors"), used)) static const union vector vectors[16 + IRQ_LINES] = {
    [0] = {.stack_top = _stack_top},
    [1] = {Reset_Handler},
    [2] = {NMI_Handler},
    [3] = {HardFault_Handler},
    [4] = {MemManage_Handler},
    [5] = {BusFault_Handler},
    [6] = {UsageFault_Handler},
    [11] = {SVC_Handler},
    [14] = {PendSV_Handler},
    [15] = {SysTick_Handler},
    [16 ... 16 + IRQ_LINES - 1] = {IRQ_Handler},
};
