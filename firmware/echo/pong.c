/* Returns each byte that USART1 (PA9, PA10; 500 kbit/s) receives, one greater. */
#include "board.h"
#include "cortex_m0.h"

#define USART1_IRQ 27u
#define USART_CR1_RE (1u << 2)
#define USART_CR1_RXNEIE (1u << 5)

void USART1_IRQHandler(void)
{
    USART1->tdr = (uint8_t)(USART1->rdr + 1);
}

int main(void)
{
    clock_to_48mhz(PREFETCH_ON);
    usart1_start(500000);
    pin_alternate(GPIOA, 10, 1);
    USART1->cr1 |= USART_CR1_RE | USART_CR1_RXNEIE;
    nvic_enable(USART1_IRQ);
    for (;;) {
        wait_for_interrupt();
    }
}
