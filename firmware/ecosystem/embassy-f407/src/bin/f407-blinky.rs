//! The green LED changes every 250 ms on the internal oscillator; the red one with every second change.

#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_stm32::gpio::{Level, Output, Speed};
use embassy_time::{Duration, Ticker};
use panic_halt as _;

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    let p = embassy_stm32::init(Default::default());
    let mut green = Output::new(p.PD12, Level::Low, Speed::Low);
    let mut red = Output::new(p.PD14, Level::Low, Speed::Low);
    let mut ticker = Ticker::every(Duration::from_millis(250));
    loop {
        ticker.next().await;
        green.toggle();
        if green.is_set_low() {
            red.toggle();
        }
    }
}
