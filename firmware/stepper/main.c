/* A motor controller's main loop at a 20 kHz tick: 2400 cycles at 48 MHz, and the question is how
 * many of them are left.
 *
 * TIM3's update interrupt only says that a tick is due. The main loop sleeps in wait_for_tick and
 * works in on_tick, so the cycles from one to the other are the ticks' cost and the sleep is what
 * is left. A tick that comes while the one before is still worked on is counted in missed_ticks.
 *
 * PA0, PA2, PA4: step of axis 0, 1, 2 (a rising edge is a step); PA1, PA3, PA5: direction. */
#include "board.h"
#include "cortex_m0.h"
#include "motion.h"

#define TICK_HZ 20000u
#define TICKS 2000
#define STEP_PINS 0x15u
#define DIRECTION_PINS 0x2au

static const struct line path[] = {
    {{160, 60, -25}},
    {{-50, 130, 90}},
    {{30, -150, 10}},
    {{-140, -40, -75}},
};

/* Left for the debugger: the path is closed, so the positions end at 0. */
struct motion motion;
volatile uint32_t missed_ticks;

static volatile uint32_t ticks_due;

void TIM3_IRQHandler(void)
{
    TIM3->sr = ~TIM_SR_UIF; /* write 0 to clear */
    ticks_due++;
}

static void tick_start(void)
{
    RCC->apb1enr |= RCC_APB1ENR_TIM3EN;
    TIM3->psc = 0;
    TIM3->arr = CPU_HZ / TICK_HZ - 1;
    TIM3->dier = TIM_DIER_UIE;
    TIM3->cr1 = TIM_CR1_CEN;
    nvic_enable(IRQ_TIM3);
}

/* WFI with interrupts masked wakes all the same, and cannot miss one that comes just before it. */
__attribute__((noipa)) static void wait_for_tick(void)
{
    interrupts_off();
    while (ticks_due == 0) {
        wait_for_interrupt();
        interrupts_on();
        interrupts_off();
    }
    missed_ticks += ticks_due - 1;
    ticks_due = 0;
    interrupts_on();
}

/* Bits 0, 1, 2 to bits 0, 2, 4. */
static uint32_t spread(unsigned axes)
{
    return (axes & 1) | (axes & 2) << 1 | (axes & 4) << 2;
}

/* The step pins rise at once and fall after the computation, which is long enough for a driver
 * that asks for a microsecond. So a step goes out one tick after it was decided, without jitter
 * from the arithmetic. */
__attribute__((noipa)) static void on_tick(void)
{
    static unsigned stepping;
    GPIOA->bsrr = spread(stepping);
    stepping = motion_tick(&motion);
    uint32_t direction = spread(motion.backward) << 1;
    GPIOA->bsrr = STEP_PINS << 16 | (DIRECTION_PINS & ~direction) << 16 | direction;
}

int main(void)
{
    clock_to_48mhz(PREFETCH_ON);
    RCC->ahbenr |= RCC_AHBENR_IOPAEN;
    for (unsigned pin = 0; pin < 6; pin++) {
        pin_output(GPIOA, pin);
    }
    motion_start(&motion, path, sizeof path / sizeof path[0]);
    tick_start();
    for (int tick = 0; tick < TICKS; tick++) {
        wait_for_tick();
        on_tick();
    }
    return 0;
}
