//! A light on PA5 that changes every 250 ms, timed by polling SysTick, at the 8 MHz of reset.

#![no_std]
#![no_main]

use cortex_m_rt::entry;
use panic_halt as _;
use stm32f0xx_hal::{delay::Delay, pac, prelude::*};

#[entry]
fn main() -> ! {
    let mut p = pac::Peripherals::take().unwrap();
    let core = cortex_m::Peripherals::take().unwrap();
    let mut rcc = p.RCC.configure().sysclk(8.mhz()).freeze(&mut p.FLASH);
    let gpioa = p.GPIOA.split(&mut rcc);
    let mut light = cortex_m::interrupt::free(|cs| gpioa.pa5.into_push_pull_output(cs));
    let mut delay = Delay::new(core.SYST, &rcc);
    loop {
        delay.delay_ms(250_u16);
        light.toggle().unwrap();
    }
}
