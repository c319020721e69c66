/* The vector table. Handlers a program does not define stop in Default_Handler. */
#include <stdint.h>

extern uint32_t _stack_top[];

_Noreturn void Reset_Handler(void);

__attribute__((noinline)) void Default_Handler(void)
{
    for (;;) {
    }
}

#define HANDLER(name) void name(void) __attribute__((weak, alias("Default_Handler")))

HANDLER(NMI_Handler);
HANDLER(HardFault_Handler);
HANDLER(SVC_Handler);
HANDLER(PendSV_Handler);
HANDLER(SysTick_Handler);

#ifdef STM32F070
HANDLER(WWDG_IRQHandler);
HANDLER(RTC_IRQHandler);
HANDLER(FLASH_IRQHandler);
HANDLER(RCC_IRQHandler);
HANDLER(EXTI0_1_IRQHandler);
HANDLER(EXTI2_3_IRQHandler);
HANDLER(EXTI4_15_IRQHandler);
HANDLER(DMA1_Channel1_IRQHandler);
HANDLER(DMA1_Channel2_3_IRQHandler);
HANDLER(DMA1_Channel4_5_IRQHandler);
HANDLER(ADC_IRQHandler);
HANDLER(TIM1_BRK_UP_TRG_COM_IRQHandler);
HANDLER(TIM1_CC_IRQHandler);
HANDLER(TIM3_IRQHandler);
HANDLER(TIM6_IRQHandler);
HANDLER(TIM14_IRQHandler);
HANDLER(TIM15_IRQHandler);
HANDLER(TIM16_IRQHandler);
HANDLER(TIM17_IRQHandler);
HANDLER(I2C1_IRQHandler);
HANDLER(I2C2_IRQHandler);
HANDLER(SPI1_IRQHandler);
HANDLER(SPI2_IRQHandler);
HANDLER(USART1_IRQHandler);
HANDLER(USART2_IRQHandler);
HANDLER(USART3_4_IRQHandler);
HANDLER(USB_IRQHandler);
#endif

union vector {
    void (*handler)(void);
    uint32_t *stack_top;
};

__attribute__((section(".vectors"), used)) static const union vector vectors[] = {
    {.stack_top = _stack_top},
    {Reset_Handler},
    {NMI_Handler},
    {HardFault_Handler},
    {0},
    {0},
    {0},
    {0},
    {0},
    {0},
    {0},
    {SVC_Handler},
    {0},
    {0},
    {PendSV_Handler},
    {SysTick_Handler},
#ifdef STM32F070
    /* RM0360 table 32. All 32 entries: the founding loop stands directly behind them. */
    {WWDG_IRQHandler},
    {0},
    {RTC_IRQHandler},
    {FLASH_IRQHandler},
    {RCC_IRQHandler},
    {EXTI0_1_IRQHandler},
    {EXTI2_3_IRQHandler},
    {EXTI4_15_IRQHandler},
    {0},
    {DMA1_Channel1_IRQHandler},
    {DMA1_Channel2_3_IRQHandler},
    {DMA1_Channel4_5_IRQHandler},
    {ADC_IRQHandler},
    {TIM1_BRK_UP_TRG_COM_IRQHandler},
    {TIM1_CC_IRQHandler},
    {0},
    {TIM3_IRQHandler},
    {TIM6_IRQHandler},
    {0},
    {TIM14_IRQHandler},
    {TIM15_IRQHandler},
    {TIM16_IRQHandler},
    {TIM17_IRQHandler},
    {I2C1_IRQHandler},
    {I2C2_IRQHandler},
    {SPI1_IRQHandler},
    {SPI2_IRQHandler},
    {USART1_IRQHandler},
    {USART2_IRQHandler},
    {USART3_4_IRQHandler},
    {0},
    {USB_IRQHandler},
#endif
};
