/* What the STM32F070 programs share: clock, pins, console. */
#ifndef KIT_BOARD_H
#define KIT_BOARD_H

#include <stdint.h>

#include "stm32f0.h"

#define CPU_HZ 48000000u

enum prefetch { PREFETCH_OFF, PREFETCH_ON };

/* From the 8 MHz reset clock to 48 MHz: internal oscillator / 2 * 12, one flash wait state. */
void clock_to_48mhz(enum prefetch prefetch);

/* The port's clock must be on. */
void pin_output(struct gpio_regs *port, unsigned pin);
void pin_alternate(struct gpio_regs *port, unsigned pin, unsigned function);

/* Transmit only, 8N1 on PA9, at 48 MHz. */
void usart1_start(uint32_t baud);
void usart1_send(const char *bytes, unsigned count);
/* Waits until the last stop bit has left the pin. */
void usart1_drain(void);

/* Where every STM32F070 program with an end ends; `strobe run --until finished` stops here. */
_Noreturn void finished(void);

#endif
