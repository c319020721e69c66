//! USART1 at 115200 baud on PA9 and PA10 at 48 MHz: prints three lines, then echoes what comes in,
//! both by polling.

#![no_std]
#![no_main]

use core::fmt::Write;
use cortex_m_rt::entry;
use panic_halt as _;
use stm32f0xx_hal::{pac, prelude::*, serial::Serial};

#[entry]
fn main() -> ! {
    let mut p = pac::Peripherals::take().unwrap();
    let mut rcc = p.RCC.configure().sysclk(48.mhz()).freeze(&mut p.FLASH);
    let gpioa = p.GPIOA.split(&mut rcc);
    let pins = cortex_m::interrupt::free(|cs| {
        (gpioa.pa9.into_alternate_af1(cs), gpioa.pa10.into_alternate_af1(cs))
    });
    let mut serial = Serial::usart1(p.USART1, pins, 115_200.bps(), &mut rcc);
    for count in 1..=3 {
        writeln!(serial, "line {count} at {} Hz\r", rcc.clocks.sysclk().0).unwrap();
    }
    loop {
        if let Ok(byte) = nb::block!(serial.read()) {
            nb::block!(serial.write(byte)).unwrap();
        }
    }
}
