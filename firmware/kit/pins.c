#include "board.h"

static void set_mode(struct gpio_regs *port, unsigned pin, uint32_t mode)
{
    port->moder = (port->moder & ~(3u << (2 * pin))) | (mode << (2 * pin));
}

void pin_output(struct gpio_regs *port, unsigned pin)
{
    set_mode(port, pin, GPIO_MODE_OUTPUT);
}

void pin_alternate(struct gpio_regs *port, unsigned pin, unsigned function)
{
    unsigned shift = 4 * (pin % 8);
    port->afr[pin / 8] = (port->afr[pin / 8] & ~(15u << shift)) | (function << shift);
    /* 12 MHz edges need the fast output stage. */
    port->ospeedr |= 3u << (2 * pin);
    set_mode(port, pin, GPIO_MODE_ALTERNATE);
}
