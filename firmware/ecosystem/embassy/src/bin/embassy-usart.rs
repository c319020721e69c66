//! USART1 at 115200 baud on PA9 and PA10, both ways by DMA, at 48 MHz: prints a line every 100 ms
//! and echoes what comes in.

#![no_std]
#![no_main]

use core::fmt::Write;
use embassy_executor::Spawner;
use embassy_futures::select::{Either, select};
use embassy_stm32::rcc::{Pll, PllMul, PllPreDiv, PllSource, Sysclk};
use embassy_stm32::usart::{self, Uart};
use embassy_stm32::{Config, bind_interrupts, dma, peripherals};
use embassy_time::{Duration, Instant, Ticker};
use heapless::String;
use panic_halt as _;

bind_interrupts!(struct Interrupts {
    USART1 => usart::InterruptHandler<peripherals::USART1>;
    DMA1_CHANNEL2_3 => dma::InterruptHandler<peripherals::DMA1_CH2>,
        dma::InterruptHandler<peripherals::DMA1_CH3>;
});

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    let mut config = Config::default();
    config.rcc.pll = Some(Pll { src: PllSource::HSI, prediv: PllPreDiv::DIV2, mul: PllMul::MUL12 });
    config.rcc.sys = Sysclk::PLL1_P;
    let p = embassy_stm32::init(config);

    let settings = usart::Config::default();
    let uart =
        Uart::new(p.USART1, p.PA10, p.PA9, p.DMA1_CH2, p.DMA1_CH3, Interrupts, settings).unwrap();
    let (mut tx, mut rx) = uart.split();
    let mut ticker = Ticker::every(Duration::from_millis(100));
    let mut received = [0; 32];
    let mut count = 0;
    loop {
        match select(ticker.next(), rx.read_until_idle(&mut received)).await {
            Either::First(()) => {
                count += 1;
                let mut line: String<48> = String::new();
                let millis = Instant::now().as_millis();
                writeln!(line, "line {count} at {millis} ms\r").unwrap();
                tx.write(line.as_bytes()).await.unwrap();
            }
            Either::Second(Ok(length)) => tx.write(&received[..length]).await.unwrap(),
            Either::Second(Err(_)) => tx.write(b"?\r\n").await.unwrap(),
        }
    }
}
