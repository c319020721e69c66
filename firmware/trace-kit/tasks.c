/* Records from everywhere at once: two threads and the idle one, which preempt one another, and two interrupts of different priority that
 * come in between at odd times. Each counts what it tells, and tells its count each time, so that a record that is torn, out of order or
 * mixed up shows. At the end the program tells how often each one did.
 *
 * The threads are those of ../threads; SysTick switches. Ends in finished() after ROUNDS of the faster interrupt. */
#include "board.h"
#include "cortex_m0.h"
#include "threads/kernel.h"
#include "trace/strobe_trace.h"

#define TICK_CYCLES 4999u
#define ROUND_CYCLES 2903u
#define ROUNDS 1000u
#define STACK_WORDS 96u

/* Any interrupt that nothing else uses. */
#define IRQ_SPARE 31u
#define SCB_ICSR_PENDSVCLR (1u << 27)
#define SCB_ICSR_PENDSTCLR (1u << 25)
#define NVIC_ICPR (*(volatile uint32_t *)0xE000E280u)
#define NVIC_ISPR (*(volatile uint32_t *)0xE000E200u)
#define NVIC_IPR ((volatile uint32_t *)0xE000E400u)

#define FAST 1
#define SLOW 2
#define HIGH 3
#define LOW 4
#define IDLE 5
#define TURN 6
#define TEXT 7
#define TOTAL 16 /* and more by one of the five */
STROBE_NAME(FAST, "fast");
STROBE_NAME(SLOW, "slow");
STROBE_NAME(HIGH, "high");
STROBE_NAME(LOW, "low");
STROBE_NAME(IDLE, "idle");
STROBE_NAME(TURN, "turn");
STROBE_NAME(TEXT, "text");

static volatile uint32_t counts[6];

/* Before each count. */
#define TELL(id) STROBE_VALUE(id, counts[id]++)

/* For the kit: TIM3 and its rounds, which its handler counts. */
static volatile uint32_t rounds;

uint32_t port_clock(void)
{
    uint32_t round = rounds, count = TIM3->cnt;
    if (TIM3->sr & TIM_SR_UIF) {
        count = TIM3->cnt;
        round++;
    }
    return round * ROUND_CYCLES + count;
}

void TIM3_IRQHandler(void)
{
    rounds++;
    TIM3->sr = ~TIM_SR_UIF;
    TELL(FAST);
    if (rounds % 3 == 0) {
        NVIC_ISPR = 1u << IRQ_SPARE;
    }
}

void USB_IRQHandler(void)
{
    TELL(SLOW);
    STROBE_BEGIN(TURN);
    STROBE_END(TURN);
}

static void tell_totals(void)
{
    interrupts_off();
    SYSTICK->csr = 0;
    TIM3->cr1 = 0;
    TIM3->dier = 0;
    SCB_ICSR = SCB_ICSR_PENDSVCLR | SCB_ICSR_PENDSTCLR;
    NVIC_ICPR = 0xFFFFFFFFu;
    for (unsigned id = FAST; id <= IDLE; id++) {
        STROBE_VALUE(TOTAL + id, counts[id]);
    }
    finished();
}

static void high_main(void)
{
    for (;;) {
        thread_sleep(2);
        TELL(HIGH);
        STROBE_WRITE(TEXT, "high\n", 5);
    }
}

static void low_main(void)
{
    for (;;) {
        thread_sleep(3);
        for (unsigned n = 0; n < 4; n++) {
            TELL(LOW);
        }
    }
}

static void idle_main(void)
{
    RCC->apb1enr |= RCC_APB1ENR_TIM3EN;
    TIM3->psc = 0;
    TIM3->arr = ROUND_CYCLES - 1;
    TIM3->dier = TIM_DIER_UIE;
    TIM3->cr1 = TIM_CR1_CEN;
    NVIC_IPR[IRQ_SPARE / 4] = 2u << 30;
    nvic_enable(IRQ_TIM3);
    nvic_enable(IRQ_SPARE);
    while (rounds < ROUNDS) {
        TELL(IDLE);
    }
    tell_totals();
}

int main(void)
{
    static uint32_t high_stack[STACK_WORDS], low_stack[STACK_WORDS], idle_stack[STACK_WORDS];
    thread_create("high", 3, high_main, (struct thread_stack){high_stack, STACK_WORDS});
    thread_create("low", 2, low_main, (struct thread_stack){low_stack, STACK_WORDS});
    thread_create("idle", 0, idle_main, (struct thread_stack){idle_stack, STACK_WORDS});
    kernel_run(TICK_CYCLES);
}
