/* A kilobyte to a chain of 74HC595 shift registers on SPI2, by the processor and by DMA.
 *
 * Both phases do the same three things: shift out a frame (12 Mbit/s, 683 us), compute its checksum
 * and print it (921600 baud). The processor does them one after the other; with DMA the frame leaves
 * while the processor goes on. What to look at in a profile, phase by phase:
 *   - send_by_cpu is all waiting, and phase_dma does not have it: the time that DMA frees;
 *   - fletcher16 reads RAM as fast as it can, so it is slower while DMA reads RAM too: what
 *     contention costs. Printing hides that cost, it waits for the USART anyway;
 *   - wait_for_dma sleeps for what is left of the transfer.
 *
 * PB13 SCK, PB15 MOSI, PB12 latch (the registers take over on its rising edge), PA9 text. */
#include <stdio.h>
#include <string.h>

#include "board.h"
#include "cortex_m0.h"

#define LATCH_PIN 12
#define FRAME_BYTES 1024
#define ROUNDS 4
#define SPI2_TX_CHANNEL 5 /* RM0360 table 29 */

static uint8_t frame[FRAME_BYTES];
static volatile int dma_busy;

static void latch_low(void) { GPIOB->bsrr = 1u << (LATCH_PIN + 16); }
static void latch_high(void) { GPIOB->bsrr = 1u << LATCH_PIN; }

static void spi2_start(void)
{
    RCC->ahbenr |= RCC_AHBENR_IOPBEN;
    RCC->apb1enr |= RCC_APB1ENR_SPI2EN;
    pin_output(GPIOB, LATCH_PIN);
    latch_high();
    pin_alternate(GPIOB, 13, 0);
    pin_alternate(GPIOB, 15, 0);
    SPI2->cr2 = SPI_CR2_DS_8BIT;
    SPI2->cr1 = SPI_CR1_MSTR | SPI_CR1_BR_DIV4 | SPI_CR1_SSM | SPI_CR1_SSI | SPI_CR1_SPE;
}

/* Up to four bytes are still in the FIFO when the last one was written; BSY alone may drop
 * between two of them (RM0360 24.5.9). */
static void spi2_drain(void)
{
    while (SPI2->sr & (SPI_SR_FTLVL_MASK | SPI_SR_BSY)) {
    }
}

__attribute__((noipa)) static void send_by_cpu(const uint8_t *bytes, unsigned count)
{
    latch_low();
    for (unsigned i = 0; i < count; i++) {
        while (!(SPI2->sr & SPI_SR_TXE)) {
        }
        SPI2_DR8 = bytes[i];
    }
    spi2_drain();
    latch_high();
}

/* Returns at once; the interrupt handler below ends the transfer. */
__attribute__((noipa)) static void send_by_dma(const uint8_t *bytes, unsigned count)
{
    struct dma_channel_regs *channel = &DMA1->channel[SPI2_TX_CHANNEL - 1];
    dma_busy = 1;
    latch_low();
    channel->cpar = (uint32_t)(uintptr_t)&SPI2->dr;
    channel->cmar = (uint32_t)(uintptr_t)bytes;
    channel->cndtr = count;
    channel->ccr = DMA_CCR_MINC | DMA_CCR_DIR_FROM_MEMORY | DMA_CCR_TCIE | DMA_CCR_EN;
    SPI2->cr2 |= SPI_CR2_TXDMAEN;
}

void DMA1_Channel4_5_IRQHandler(void)
{
    if (DMA1->isr & DMA_ISR_TCIF(SPI2_TX_CHANNEL)) {
        DMA1->ifcr = DMA_IFCR_CGIF(SPI2_TX_CHANNEL);
        DMA1->channel[SPI2_TX_CHANNEL - 1].ccr = 0;
        spi2_drain();
        SPI2->cr2 &= ~SPI_CR2_TXDMAEN;
        latch_high();
        dma_busy = 0;
    }
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

__attribute__((noipa)) static uint32_t fletcher16(const uint8_t *bytes, unsigned count)
{
    uint32_t low = 0, high = 0;
    for (unsigned i = 0; i < count; i++) {
        low += bytes[i];
        high += low;
    }
    return (high % 255) << 8 | low % 255; /* count * count * 255 / 2 fits 32 bits */
}

__attribute__((noipa)) static void print_checksum(const char *sender, uint32_t checksum)
{
    printf("sent by %s: %04lx\n", sender, (unsigned long)checksum);
}

__attribute__((noipa)) static void phase_cpu(void)
{
    send_by_cpu(frame, sizeof frame);
    print_checksum("CPU", fletcher16(frame, sizeof frame));
}

__attribute__((noipa)) static void phase_dma(void)
{
    send_by_dma(frame, sizeof frame);
    print_checksum("DMA", fletcher16(frame, sizeof frame));
    wait_for_dma();
}

/* A light running along the chain. */
static void draw(unsigned round)
{
    memset(frame, 0, sizeof frame);
    for (unsigned i = round; i < sizeof frame; i += ROUNDS) {
        frame[i] = (uint8_t)(1u << (i % 8));
    }
}

int main(void)
{
    clock_to_48mhz(PREFETCH_ON);
    usart1_start(921600);
    spi2_start();
    RCC->ahbenr |= RCC_AHBENR_DMAEN;
    nvic_enable(IRQ_DMA1_CHANNEL4_5);

    for (unsigned round = 0; round < ROUNDS; round++) {
        draw(round);
        phase_cpu();
        phase_dma();
    }
    usart1_drain();
    return 0;
}
