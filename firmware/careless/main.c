/* How programs that only ever met an emulator print: no clock, no baud rate, no look whether there is room, and
 * only those bits set that the emulator asks for. A chip would print little of it or nothing. */
#include <stdint.h>

int main(void)
{
#ifdef UART_CTRL
    *(volatile uint32_t *)UART_CTRL = 1;
#endif
    static const char text[] = "printed without any preparation,\nfaster than any line could carry it\n";
    for (const char *at = text; *at; at++) {
        *(volatile uint32_t *)UART_DATA = (uint8_t)*at;
    }
    return 0;
}
