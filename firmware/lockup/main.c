/* A HardFault inside the HardFault handler: the core gives up and locks (ARMv6-M B1.5.15). */
#include <stdint.h>

static uint32_t words[2];
volatile uint32_t sink;

__attribute__((noipa)) static uint32_t read_word(uintptr_t address)
{
    return *(const volatile uint32_t *)address;
}

/* A post-mortem handler with the very mistake that brought us here. */
void HardFault_Handler(void)
{
    sink = read_word((uintptr_t)words + 2);
    for (;;) {
    }
}

int main(void)
{
    sink = read_word((uintptr_t)words + 1);
    return 0;
}
