//! TIM14's update interrupt toggles PA5 a thousand times a second, PWM of TIM3 dims PA6, the
//! watchdog is fed, and the core sleeps in between: at 48 MHz.

#![no_std]
#![no_main]

use core::cell::RefCell;
use cortex_m::interrupt::{Mutex, free};
use cortex_m_rt::entry;
use panic_halt as _;
use stm32f0xx_hal::gpio::{Output, PushPull, gpioa::PA5};
use stm32f0xx_hal::pac::{self, TIM14, interrupt};
use stm32f0xx_hal::{prelude::*, pwm, timers::Event, timers::Timer, watchdog::Watchdog};

type Shared = (PA5<Output<PushPull>>, Timer<TIM14>);
static SHARED: Mutex<RefCell<Option<Shared>>> = Mutex::new(RefCell::new(None));

#[entry]
fn main() -> ! {
    let mut p = pac::Peripherals::take().unwrap();
    let mut core = cortex_m::Peripherals::take().unwrap();
    let mut rcc = p.RCC.configure().sysclk(48.mhz()).freeze(&mut p.FLASH);
    let gpioa = p.GPIOA.split(&mut rcc);
    let (light, dimmed) =
        free(|cs| (gpioa.pa5.into_push_pull_output(cs), gpioa.pa6.into_alternate_af1(cs)));

    let mut dimmer = pwm::tim3(p.TIM3, dimmed, &mut rcc, 20.khz());
    dimmer.set_duty(dimmer.get_max_duty() / 4);
    dimmer.enable();

    let mut watchdog = Watchdog::new(p.IWDG);
    watchdog.start(10.hz());
    let mut timer = Timer::tim14(p.TIM14, 1.khz(), &mut rcc);
    timer.listen(Event::TimeOut);
    free(|cs| SHARED.borrow(cs).replace(Some((light, timer))));
    unmask(&mut core);
    loop {
        cortex_m::asm::wfi();
        watchdog.feed();
    }
}

#[allow(unsafe_code)]
fn unmask(core: &mut cortex_m::Peripherals) {
    // SAFETY: no critical section is open, so the interrupt cannot break one.
    unsafe {
        core.NVIC.set_priority(pac::Interrupt::TIM14, 1 << 6);
        cortex_m::peripheral::NVIC::unmask(pac::Interrupt::TIM14);
    }
}

#[interrupt]
fn TIM14() {
    free(|cs| {
        if let Some((light, timer)) = SHARED.borrow(cs).borrow_mut().as_mut() {
            light.toggle().unwrap();
            // Clears the update flag.
            timer.wait().ok();
        }
    });
}
