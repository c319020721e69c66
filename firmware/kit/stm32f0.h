/* Registers of the STM32F070, as the demo firmware uses them.
 *
 * Written from the reference manual RM0360; only the blocks, registers and bits
 * that our programs touch are here. Offsets are in the comments because a
 * missing `reserved` word is the commonest mistake in such a file. */
#ifndef KIT_STM32F0_H
#define KIT_STM32F0_H

#include <stdint.h>

/* RM0360 chapter 3: embedded flash memory */
#define FLASH_ACR (*(volatile uint32_t *)0x40022000u)
#define FLASH_ACR_LATENCY_1 (1u << 0) /* one wait state: required above 24 MHz */
#define FLASH_ACR_PRFTBE (1u << 4)    /* prefetch buffer enable */

/* RM0360 chapter 7: reset and clock control */
struct rcc_regs {
    volatile uint32_t cr;       /* 0x00 */
    volatile uint32_t cfgr;     /* 0x04 */
    volatile uint32_t cir;      /* 0x08 */
    volatile uint32_t apb2rstr; /* 0x0C */
    volatile uint32_t apb1rstr; /* 0x10 */
    volatile uint32_t ahbenr;   /* 0x14 */
    volatile uint32_t apb2enr;  /* 0x18 */
    volatile uint32_t apb1enr;  /* 0x1C */
};
#define RCC ((struct rcc_regs *)0x40021000u)
#define RCC_CR_HSION (1u << 0)
#define RCC_CR_HSIRDY (1u << 1)
#define RCC_CR_PLLON (1u << 24)
#define RCC_CR_PLLRDY (1u << 25)
#define RCC_CFGR_SW_MASK (3u << 0)
#define RCC_CFGR_SW_HSI (0u << 0)
#define RCC_CFGR_SW_PLL (2u << 0)
#define RCC_CFGR_SWS_MASK (3u << 2)
#define RCC_CFGR_SWS_HSI (0u << 2)
#define RCC_CFGR_SWS_PLL (2u << 2)
#define RCC_CFGR_HPRE_MASK (15u << 4)
#define RCC_CFGR_PPRE_MASK (7u << 8)
#define RCC_CFGR_PLLSRC_MASK (3u << 15) /* 00: HSI / 2 */
#define RCC_CFGR_PLLMUL_MASK (15u << 18)
#define RCC_CFGR_PLLMUL_12 (10u << 18)
#define RCC_AHBENR_DMAEN (1u << 0)
#define RCC_AHBENR_IOPAEN (1u << 17)
#define RCC_AHBENR_IOPBEN (1u << 18)
#define RCC_APB2ENR_USART1EN (1u << 14)
#define RCC_APB1ENR_TIM3EN (1u << 1)
#define RCC_APB1ENR_SPI2EN (1u << 14)

/* RM0360 chapter 8: general-purpose I/Os */
struct gpio_regs {
    volatile uint32_t moder;   /* 0x00 two bits per pin */
    volatile uint32_t otyper;  /* 0x04 */
    volatile uint32_t ospeedr; /* 0x08 two bits per pin */
    volatile uint32_t pupdr;   /* 0x0C two bits per pin */
    volatile uint32_t idr;     /* 0x10 */
    volatile uint32_t odr;     /* 0x14 */
    volatile uint32_t bsrr;    /* 0x18 set in bits 15:0, reset in bits 31:16 */
    volatile uint32_t lckr;    /* 0x1C */
    volatile uint32_t afr[2];  /* 0x20 four bits per pin */
    volatile uint32_t brr;     /* 0x28 */
};
#define GPIOA ((struct gpio_regs *)0x48000000u)
#define GPIOB ((struct gpio_regs *)0x48000400u)
#define GPIO_MODE_OUTPUT 1u
#define GPIO_MODE_ALTERNATE 2u

/* RM0360 chapter 10: DMA controller; channels are numbered from 1. */
struct dma_channel_regs {
    volatile uint32_t ccr;   /* +0x00 */
    volatile uint32_t cndtr; /* +0x04 */
    volatile uint32_t cpar;  /* +0x08 */
    volatile uint32_t cmar;  /* +0x0C */
    uint32_t reserved;       /* +0x10 */
};
struct dma_regs {
    volatile uint32_t isr;              /* 0x00 */
    volatile uint32_t ifcr;             /* 0x04 */
    struct dma_channel_regs channel[5]; /* 0x08, channel 1 first */
};
#define DMA1 ((struct dma_regs *)0x40020000u)
#define DMA_CCR_EN (1u << 0)
#define DMA_CCR_TCIE (1u << 1)
#define DMA_CCR_DIR_FROM_MEMORY (1u << 4)
#define DMA_CCR_MINC (1u << 7)
#define DMA_ISR_TCIF(channel) (1u << (4 * ((channel)-1) + 1))
#define DMA_IFCR_CGIF(channel) (1u << (4 * ((channel)-1)))

/* RM0360 chapter 15: general-purpose timer TIM3 */
struct tim_regs {
    volatile uint32_t cr1;   /* 0x00 */
    volatile uint32_t cr2;   /* 0x04 */
    volatile uint32_t smcr;  /* 0x08 */
    volatile uint32_t dier;  /* 0x0C */
    volatile uint32_t sr;    /* 0x10 */
    volatile uint32_t egr;   /* 0x14 */
    volatile uint32_t ccmr1; /* 0x18 */
    volatile uint32_t ccmr2; /* 0x1C */
    volatile uint32_t ccer;  /* 0x20 */
    volatile uint32_t cnt;   /* 0x24 */
    volatile uint32_t psc;   /* 0x28 */
    volatile uint32_t arr;   /* 0x2C */
};
#define TIM3 ((struct tim_regs *)0x40000400u)
#define TIM_CR1_CEN (1u << 0)
#define TIM_DIER_UIE (1u << 0)
#define TIM_SR_UIF (1u << 0)

/* RM0360 chapter 23: universal synchronous asynchronous receiver transmitter */
struct usart_regs {
    volatile uint32_t cr1;  /* 0x00 */
    volatile uint32_t cr2;  /* 0x04 */
    volatile uint32_t cr3;  /* 0x08 */
    volatile uint32_t brr;  /* 0x0C */
    volatile uint32_t gtpr; /* 0x10 */
    volatile uint32_t rtor; /* 0x14 */
    volatile uint32_t rqr;  /* 0x18 */
    volatile uint32_t isr;  /* 0x1C */
    volatile uint32_t icr;  /* 0x20 */
    volatile uint32_t rdr;  /* 0x24 */
    volatile uint32_t tdr;  /* 0x28 */
};
#define USART1 ((struct usart_regs *)0x40013800u)
#define USART_CR1_UE (1u << 0)
#define USART_CR1_TE (1u << 3)
#define USART_ISR_TC (1u << 6)
#define USART_ISR_TXE (1u << 7)

/* RM0360 chapter 24: serial peripheral interface */
struct spi_regs {
    volatile uint32_t cr1; /* 0x00 */
    volatile uint32_t cr2; /* 0x04 */
    volatile uint32_t sr;  /* 0x08 */
    volatile uint32_t dr;  /* 0x0C */
};
#define SPI2 ((struct spi_regs *)0x40003800u)
/* A byte-wide write puts one frame into the transmit FIFO, a wider one puts two. */
#define SPI2_DR8 (*(volatile uint8_t *)&SPI2->dr)
#define SPI_CR1_MSTR (1u << 2)
#define SPI_CR1_BR_DIV4 (1u << 3)
#define SPI_CR1_SPE (1u << 6)
#define SPI_CR1_SSI (1u << 8)
#define SPI_CR1_SSM (1u << 9)
#define SPI_CR2_TXDMAEN (1u << 1)
#define SPI_CR2_DS_8BIT (7u << 8)
#define SPI_SR_TXE (1u << 1)
#define SPI_SR_BSY (1u << 7)
#define SPI_SR_FTLVL_MASK (3u << 11)

/* RM0360 table 32: positions in the vector table, counted from the first interrupt */
#define IRQ_DMA1_CHANNEL4_5 11u
#define IRQ_TIM3 16u

#endif
