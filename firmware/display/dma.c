/* SPI2 as in spi.c, fed by DMA. The processor may do something else meanwhile, and sleeps if it has nothing to do. */
#include "cortex_m0.h"
#include "display.h"

#define SPI2_TX_CHANNEL 5 /* RM0360 table 29 */

static volatile int dma_busy;

void wires_begin(void)
{
    RCC->apb1enr |= RCC_APB1ENR_SPI2EN;
    RCC->ahbenr |= RCC_AHBENR_DMAEN;
    SPI2->cr2 = SPI_CR2_DS_9BIT | SPI_CR2_TXDMAEN;
    SPI2->cr1 = SPI_CR1_MSTR | SPI_CR1_BR_DIV4 | SPI_CR1_SSM | SPI_CR1_SSI | SPI_CR1_BIDIMODE |
                SPI_CR1_BIDIOE | SPI_CR1_SPE;
    pin_alternate(GPIOB, SCL_PIN, 0);
    pin_alternate(GPIOB, SDA_PIN, 0);
    nvic_enable(IRQ_DMA1_CHANNEL4_5);
}

void DMA1_Channel4_5_IRQHandler(void)
{
    DMA1->ifcr = DMA_IFCR_CGIF(SPI2_TX_CHANNEL);
    DMA1->channel[SPI2_TX_CHANNEL - 1].ccr = 0;
    dma_busy = 0;
}

/* WFI with interrupts masked wakes all the same, and cannot miss one that comes just before it. */
__attribute__((noipa)) static void wait_for_dma(void)
{
    interrupts_off();
    while (dma_busy) {
        wait_for_interrupt();
        interrupts_on();
        interrupts_off();
    }
    interrupts_on();
}

void wires_send(const uint16_t *words, unsigned count)
{
    struct dma_channel_regs *channel = &DMA1->channel[SPI2_TX_CHANNEL - 1];
    wait_for_dma();
    dma_busy = 1;
    channel->cpar = (uint32_t)(uintptr_t)&SPI2->dr;
    channel->cmar = (uint32_t)(uintptr_t)words;
    channel->cndtr = count;
    channel->ccr = DMA_CCR_MINC | DMA_CCR_DIR_FROM_MEMORY | DMA_CCR_PSIZE_16 | DMA_CCR_MSIZE_16 |
                   DMA_CCR_TCIE | DMA_CCR_EN;
}

void wires_finish(void)
{
    wait_for_dma();
    while (SPI2->sr & (SPI_SR_FTLVL_MASK | SPI_SR_BSY)) {
    }
}
