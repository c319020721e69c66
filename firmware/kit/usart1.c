#include "board.h"

void usart1_start(uint32_t baud)
{
    RCC->ahbenr |= RCC_AHBENR_IOPAEN;
    RCC->apb2enr |= RCC_APB2ENR_USART1EN;
    pin_alternate(GPIOA, 9, 1);
    USART1->brr = (CPU_HZ + baud / 2) / baud; /* 417 at 115200: 0.08 % slow */
    USART1->cr1 = USART_CR1_TE | USART_CR1_UE;
}

void usart1_send(const char *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        while (!(USART1->isr & USART_ISR_TXE)) {
        }
        USART1->tdr = (uint8_t)bytes[i];
    }
}

void usart1_drain(void)
{
    while (!(USART1->isr & USART_ISR_TC)) {
    }
}
