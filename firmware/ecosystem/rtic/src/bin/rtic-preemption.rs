//! Tasks of three priorities share a value: who interrupts whom, and what a lock keeps out.
#![no_main]
#![no_std]

use panic_semihosting as _;

#[rtic::app(device = lm3s6965)]
mod app {
    use cortex_m_semihosting::{debug, hprintln};
    use lm3s6965::Interrupt;

    #[shared]
    struct Shared {
        steps: u32,
    }

    #[local]
    struct Local {
        rounds: u32,
    }

    #[init]
    fn init(_: init::Context) -> (Shared, Local) {
        hprintln!("init");
        rtic::pend(Interrupt::GPIOA);
        (Shared { steps: 0 }, Local { rounds: 0 })
    }

    #[idle(shared = [steps])]
    fn idle(mut cx: idle::Context) -> ! {
        cx.shared.steps.lock(|steps| hprintln!("idle after {} steps", steps));
        for _ in 0..2 {
            rtic::pend(Interrupt::GPIOA);
            hprintln!("idle goes on");
        }
        debug::exit(debug::EXIT_SUCCESS);
        loop {
            cortex_m::asm::nop();
        }
    }

    #[task(binds = GPIOA, priority = 1, shared = [steps], local = [rounds])]
    fn low(mut cx: low::Context) {
        *cx.local.rounds += 1;
        hprintln!("low begins round {}", cx.local.rounds);
        cx.shared.steps.lock(|steps| {
            *steps += 1;
            rtic::pend(Interrupt::GPIOB);
            hprintln!("low holds the lock, medium waits, high does not");
            rtic::pend(Interrupt::GPIOC);
            *steps *= 2;
        });
        hprintln!("low ends");
    }

    #[task(binds = GPIOB, priority = 2, shared = [steps])]
    fn medium(mut cx: medium::Context) {
        cx.shared.steps.lock(|steps| {
            *steps += 10;
            hprintln!("  medium at {} steps", steps);
        });
    }

    #[task(binds = GPIOC, priority = 3)]
    fn high(_: high::Context) {
        hprintln!("    high");
    }
}
