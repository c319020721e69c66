/* Start-up for a processor with a floating-point unit: the unit must be on before the first function that uses its
 * registers, and the compiler may use them anywhere. */
#include <stdint.h>

#define Reset_Handler start
#include "startup.c"
#undef Reset_Handler

/* ARMv7-M Architecture Reference Manual (DDI 0403), B3.2.20: full access to CP10 and CP11. */
#define CPACR (*(volatile uint32_t *)0xE000ED88u)

_Noreturn void Reset_Handler(void)
{
    CPACR |= 0xFu << 20;
    __asm__ volatile("dsb\n isb" ::: "memory");
    start();
}
