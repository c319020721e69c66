//! Tasks that wait for times of their own, on SysTick.
#![no_main]
#![no_std]

use panic_semihosting as _;
use rtic_monotonics::systick_monotonic;

systick_monotonic!(Mono, 1000);

#[rtic::app(device = lm3s6965, dispatchers = [SSI0, UART0])]
mod app {
    use super::Mono;
    use cortex_m_semihosting::{debug, hprintln};
    use rtic_monotonics::Monotonic;
    use rtic_monotonics::fugit::ExtU32;

    #[shared]
    struct Shared {}

    #[local]
    struct Local {}

    #[init]
    fn init(cx: init::Context) -> (Shared, Local) {
        Mono::start(cx.core.SYST, 12_000_000);
        slow::spawn().expect("it does not run yet");
        quick::spawn().expect("it does not run yet");
        impatient::spawn().expect("it does not run yet");
        (Shared {}, Local {})
    }

    #[task(priority = 1)]
    async fn slow(_: slow::Context) {
        for round in 1..=2 {
            Mono::delay(100.millis()).await;
            hprintln!("slow, round {}", round);
        }
        debug::exit(debug::EXIT_SUCCESS);
    }

    #[task(priority = 1)]
    async fn quick(_: quick::Context) {
        for round in 1.. {
            Mono::delay(30.millis()).await;
            hprintln!("  quick, round {}", round);
        }
    }

    #[task(priority = 2)]
    async fn impatient(_: impatient::Context) {
        let late = Mono::timeout_after(45.millis(), Mono::delay(70.millis())).await.is_err();
        hprintln!("    gave up: {}", late);
        let early = Mono::timeout_after(45.millis(), Mono::delay(20.millis())).await.is_err();
        hprintln!("    gave up: {}", early);
    }
}
