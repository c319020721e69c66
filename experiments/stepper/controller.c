// The motion of firmware/stepper at a tick of TICK_HZ, on an ATmega328P and on an STM32F070: a pin
// is high while a tick is worked on, so that its pulses are the ticks that were kept. A tick that
// comes while the one before is worked on is late, and one that comes behind it is lost.
#include "motion.h"

static const struct line path[] = {
    {{160, 60, -25}},
    {{-50, 130, 90}},
    {{30, -150, 10}},
    {{-140, -40, -75}},
};

#ifdef __AVR__
#include <avr/interrupt.h>
#include <avr/io.h>

static volatile uint8_t due;

ISR(TIMER1_COMPA_vect) { due = 1; }

static void set_up(void)
{
    DDRB |= 1 << PB0;
    OCR1A = F_CPU / TICK_HZ - 1;
    TCCR1B = 1 << WGM12 | 1 << CS10;
    TIMSK1 = 1 << OCIE1A;
    sei();
}

static inline void high(void) { PORTB |= 1 << PB0; }
static inline void low(void) { PORTB &= ~(1 << PB0); }
#else
#include "board.h"
#include "cortex_m0.h"

#ifndef F_CPU
#define F_CPU 48000000u
#endif

static volatile uint32_t due;

void TIM3_IRQHandler(void)
{
    TIM3->sr = ~TIM_SR_UIF;
    due = 1;
}

static void set_up(void)
{
#if F_CPU == 48000000u
    clock_to_48mhz(PREFETCH);
#endif
    RCC->ahbenr |= RCC_AHBENR_IOPBEN;
    pin_output(GPIOB, 8);
    RCC->apb1enr |= RCC_APB1ENR_TIM3EN;
    TIM3->psc = 0;
    TIM3->arr = F_CPU / TICK_HZ - 1;
    TIM3->dier = TIM_DIER_UIE;
    TIM3->cr1 = TIM_CR1_CEN;
    nvic_enable(IRQ_TIM3);
}

static inline void high(void) { GPIOB->bsrr = 1u << 8; }
static inline void low(void) { GPIOB->bsrr = 1u << 24; }
#endif

int main(void)
{
    static struct motion motion;
    set_up();
    motion_start(&motion, path, sizeof path / sizeof path[0]);
    for (;;) {
        while (!due) {
        }
        due = 0;
        high();
        // The path is walked again and again.
        if (motion_finished(&motion))
            motion_start(&motion, path, sizeof path / sizeof path[0]);
        motion_tick(&motion);
        low();
    }
}
