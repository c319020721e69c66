/* SPI2 with words of nine bits at 12 MHz; the processor feeds it, word by word. */
#include "display.h"

void wires_begin(void)
{
    RCC->apb1enr |= RCC_APB1ENR_SPI2EN;
    SPI2->cr2 = SPI_CR2_DS_9BIT;
    SPI2->cr1 = SPI_CR1_MSTR | SPI_CR1_BR_DIV4 | SPI_CR1_SSM | SPI_CR1_SSI | SPI_CR1_BIDIMODE |
                SPI_CR1_BIDIOE | SPI_CR1_SPE;
    pin_alternate(GPIOB, SCL_PIN, 0);
    pin_alternate(GPIOB, SDA_PIN, 0);
}

void wires_send(const uint16_t *words, unsigned count)
{
    for (const uint16_t *end = words + count; words < end; words++) {
        while (!(SPI2->sr & SPI_SR_TXE)) {
        }
        SPI2_DR16 = *words;
    }
}

void wires_finish(void)
{
    while (SPI2->sr & (SPI_SR_FTLVL_MASK | SPI_SR_BSY)) {
    }
}
