//! The green LED changes every 250 ms by polling SysTick, with floating-point arithmetic in between.

#![no_std]
#![no_main]

use cortex_m_rt::entry;
use panic_halt as _;
use stm32f4xx_hal::{pac, prelude::*, rcc::Config};

#[entry]
fn main() -> ! {
    let p = pac::Peripherals::take().unwrap();
    let core = cortex_m::Peripherals::take().unwrap();
    let mut rcc = p.RCC.freeze(Config::hse(8.MHz()).sysclk(168.MHz()));
    let gpiod = p.GPIOD.split(&mut rcc);
    let mut green = gpiod.pd12.into_push_pull_output();
    let mut delay = core.SYST.delay(&rcc.clocks);
    let mut seconds = 0.0f32;
    loop {
        delay.delay_ms(250u32);
        seconds += 0.25;
        green.set_state((seconds * 4.0 % 2.0 >= 1.0).into());
    }
}
