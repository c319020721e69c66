/* Vector table, start-up and exit for a Cortex-M with flash at 0 and RAM at 0x20000000, and nothing else. */
#include "bench.h"

#include <stddef.h>

extern uint32_t stack_top, data_load, data_start, data_end, bss_start, bss_end;
extern char heap_start;

/* SYS_EXIT (Arm semihosting 2.0, 5.5): 0x20026 is success, 0x20023 a run-time error. */
static void finish(int ok)
{
    register uint32_t operation __asm__("r0") = 0x18;
    register uint32_t reason __asm__("r1") = ok ? 0x20026 : 0x20023;
    __asm__ volatile("bkpt 0xab" : : "r"(operation), "r"(reason) : "memory");
    for (;;) {
    }
}

static void fault(void)
{
    finish(0);
}

/* Programs that switch threads have their own. */
__attribute__((weak)) void pend_sv(void)
{
    finish(0);
}

void reset(void)
{
#if __ARM_FP
    *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20; /* CPACR: full access to the floating-point unit */
    __asm__ volatile("dsb\n\tisb" : : : "memory");
#endif
    for (uint32_t *to = &data_start, *from = &data_load; to < &data_end;) {
        *to++ = *from++;
    }
    for (uint32_t *to = &bss_start; to < &bss_end;) {
        *to++ = 0;
    }
    finish(work() == expected);
}

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    [0] = &stack_top, [1] = reset, [2] = fault, [3] = fault, [4] = fault, [5] = fault, [6] = fault, [14] = pend_sv,
};

/* newlib's allocator wants this; the programs need a few hundred bytes at most. */
void *_sbrk(ptrdiff_t bytes)
{
    static char *end = &heap_start;
    char *before = end;
    end += bytes;
    return before;
}
