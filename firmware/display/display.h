/* A display with an ST7787-style controller on three wires: PB12 select, PB13 clock, PB15 data both ways. */
#ifndef DISPLAY_H
#define DISPLAY_H

#include <stdint.h>

#include "board.h"

#define WIDTH 240
#define HEIGHT 320

#define CS_PIN 12
#define SCL_PIN 13
#define SDA_PIN 15

/* Nine bits to a word: the first says data, not a command. */
#define DATA 0x100u

/* SPI and DMA with words of nine bits (RM0360 chapters 10 and 24). */
#define SPI2_DR16 (*(volatile uint16_t *)&SPI2->dr)
#define SPI_CR1_BIDIOE (1u << 14)
#define SPI_CR1_BIDIMODE (1u << 15)
#define SPI_CR2_DS_9BIT (8u << 8)
#define DMA_CCR_PSIZE_16 (1u << 8)
#define DMA_CCR_MSIZE_16 (1u << 10)

enum command {
    RDDID = 0x04,
    SLPOUT = 0x11,
    DISPON = 0x29,
    CASET = 0x2a,
    RASET = 0x2b,
    RAMWR = 0x2c,
    RAMRD = 0x2e,
    COLMOD = 0x3a,
};

static inline void select_display(void) { GPIOB->bsrr = 1u << (CS_PIN + 16); }
static inline void deselect_display(void) { GPIOB->bsrr = 1u << CS_PIN; }

/* What a driver does: bitbang.c, spi.c and dma.c have one each. */

/* Clock and data are the driver's, at rest. The port's clock is on. */
void wires_begin(void);
/* Words of nine bits, one after the other. The driver may go on sending after it has returned: the words must stay as
 * they are until the next call but one, or until wires_finish. */
void wires_send(const uint16_t *words, unsigned count);
/* Returns when the last bit has been sent. */
void wires_finish(void);

/* read.c: by hand, whatever the driver. */

/* What the display answers to a command after so many clocks: 24 bits. */
uint32_t read_answer(enum command command, unsigned dummy_clocks);

#endif
