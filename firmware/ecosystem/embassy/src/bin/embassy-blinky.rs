//! A light on PA5 that changes every 250 ms, and a second task that counts on PB0 and PB1, on one
//! timer.

#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_stm32::gpio::{AnyPin, Level, Output, Speed};
use embassy_stm32::{Config, Peri};
use embassy_time::{Duration, Ticker, Timer};
use panic_halt as _;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let p = embassy_stm32::init(Config::default());
    let counter =
        count(p.PB0.into(), p.PB1.into()).expect("the task's storage is free at the start");
    spawner.spawn(counter);

    let mut light = Output::new(p.PA5, Level::Low, Speed::Low);
    let mut ticker = Ticker::every(Duration::from_millis(250));
    loop {
        ticker.next().await;
        light.toggle();
    }
}

/// Counts to four in binary, a step each 30 ms, which is not a divisor of the other task's period.
#[embassy_executor::task]
async fn count(low: Peri<'static, AnyPin>, high: Peri<'static, AnyPin>) {
    let mut low = Output::new(low, Level::Low, Speed::Low);
    let mut high = Output::new(high, Level::Low, Speed::Low);
    loop {
        Timer::after_millis(30).await;
        low.toggle();
        if low.is_set_low() {
            high.toggle();
        }
    }
}
