//! USART2 at 115200 baud on PA2, blocking, at the 8 MHz of reset; the button on PC13 wakes it by
//! EXTI.

#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_futures::select::{Either, select};
use embassy_stm32::exti::{self, ExtiInput};
use embassy_stm32::gpio::Pull;
use embassy_stm32::usart::{self, UartTx};
use embassy_stm32::{Config, bind_interrupts, interrupt};
use embassy_time::Timer;
use embedded_io::Write;
use panic_halt as _;

bind_interrupts!(struct Interrupts {
    EXTI4_15 => exti::InterruptHandler<interrupt::typelevel::EXTI4_15>;
});

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    let p = embassy_stm32::init(Config::default());
    let mut tx = UartTx::new_blocking(p.USART2, p.PA2, usart::Config::default()).unwrap();
    let mut button = ExtiInput::new(p.PC13, p.EXTI13, Pull::Up, Interrupts);
    writeln!(tx, "ready\r").unwrap();
    for count in 1_u32.. {
        match select(Timer::after_millis(50), button.wait_for_falling_edge()).await {
            Either::First(()) => writeln!(tx, "tick {count}\r").unwrap(),
            Either::Second(()) => writeln!(tx, "button\r").unwrap(),
        }
        tx.blocking_flush().unwrap();
    }
}
