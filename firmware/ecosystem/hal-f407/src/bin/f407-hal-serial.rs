//! USART2 at 115200 baud on PA2 and PA3 at 168 MHz from the crystal: prints three lines, then echoes what comes
//! in, both by polling.

#![no_std]
#![no_main]

use core::fmt::Write;
use cortex_m_rt::entry;
use panic_halt as _;
use stm32f4xx_hal::{pac, prelude::*, rcc::Config, serial};

#[entry]
fn main() -> ! {
    let p = pac::Peripherals::take().unwrap();
    let mut rcc = p.RCC.freeze(Config::hse(8.MHz()).sysclk(168.MHz()));
    let gpioa = p.GPIOA.split(&mut rcc);
    let settings = serial::Config::default().baudrate(115_200.bps());
    let mut serial: serial::Serial<_> =
        p.USART2.serial((gpioa.pa2, gpioa.pa3), settings, &mut rcc).unwrap();
    for count in 1..=3 {
        writeln!(serial, "line {count} at {} Hz\r", rcc.clocks.sysclk().raw()).unwrap();
    }
    loop {
        if let Ok(byte) = nb::block!(serial.read()) {
            nb::block!(serial.write(byte)).unwrap();
        }
    }
}
