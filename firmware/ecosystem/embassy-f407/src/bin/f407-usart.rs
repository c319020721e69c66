//! USART2 at 115200 baud on PA2 and PA3, both ways by DMA, at 168 MHz from the crystal: prints a line every
//! 100 ms and echoes what comes in.

#![no_std]
#![no_main]

use core::fmt::Write;
use embassy_executor::Spawner;
use embassy_futures::select::{Either, select};
use embassy_stm32::rcc::{
    AHBPrescaler, APBPrescaler, Hse, HseMode, Pll, PllMul, PllPDiv, PllPreDiv, PllQDiv, PllSource, Sysclk,
};
use embassy_stm32::time::Hertz;
use embassy_stm32::usart::{self, Uart};
use embassy_stm32::{Config, bind_interrupts, dma, peripherals};
use embassy_time::{Duration, Instant, Ticker};
use heapless::String;
use panic_halt as _;

bind_interrupts!(struct Interrupts {
    USART2 => usart::InterruptHandler<peripherals::USART2>;
    DMA1_STREAM5 => dma::InterruptHandler<peripherals::DMA1_CH5>;
    DMA1_STREAM6 => dma::InterruptHandler<peripherals::DMA1_CH6>;
});

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    let mut config = Config::default();
    config.rcc.hse = Some(Hse { freq: Hertz(8_000_000), mode: HseMode::Oscillator });
    config.rcc.pll_src = PllSource::HSE;
    config.rcc.pll = Some(Pll {
        prediv: PllPreDiv::DIV4,
        mul: PllMul::MUL168,
        divp: Some(PllPDiv::DIV2),
        divq: Some(PllQDiv::DIV7),
        divr: None,
    });
    config.rcc.sys = Sysclk::PLL1_P;
    config.rcc.ahb_pre = AHBPrescaler::DIV1;
    config.rcc.apb1_pre = APBPrescaler::DIV4;
    config.rcc.apb2_pre = APBPrescaler::DIV2;
    let p = embassy_stm32::init(config);

    let settings = usart::Config::default();
    let uart =
        Uart::new(p.USART2, p.PA3, p.PA2, p.DMA1_CH6, p.DMA1_CH5, Interrupts, settings).unwrap();
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
