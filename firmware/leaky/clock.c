/* The time of the kit's records in core cycles, from the kernel's tick: SysTick goes round once a tick. */
#include <stdint.h>

#include "cortex_m0.h"

uint32_t kernel_ticks(void); /* of kernel.c with -DKERNEL_TICKS */
uint32_t leaky_clock(void);

/* With interrupts off SysTick may have gone round without being counted; then it is pending, and the count is read anew, because it may
 * have gone round in between. */
uint32_t leaky_clock(void)
{
    uint32_t period = SYSTICK->rvr + 1, rounds = kernel_ticks(), left = SYSTICK->cvr;
    if (SCB_ICSR & (1u << 26)) { /* PENDSTSET */
        left = SYSTICK->cvr;
        rounds++;
    }
    return rounds * period + (period - 1 - left);
}
