//! Waits for the link, then sends frames of growing length and says on USART1 (PB6) what comes back: with a
//! loopback plug, the same. At 168 MHz from a crystal of 12 MHz, as the Olimex STM32-E407 has.

#![no_std]
#![no_main]

use core::fmt::Write;
use core::future::poll_fn;
use core::task::Poll;
use embassy_executor::Spawner;
use embassy_net_driver::{Driver, LinkState, RxToken, TxToken};
use embassy_stm32::eth::{self, Ethernet, PacketQueue};
use embassy_stm32::rcc::{
    APBPrescaler, Hse, HseMode, Pll, PllMul, PllPDiv, PllPreDiv, PllQDiv, PllSource, Sysclk,
};
use embassy_stm32::time::Hertz;
use embassy_stm32::usart::UartTx;
use embassy_stm32::{Config, bind_interrupts};
use embassy_time::Timer;
use heapless::String;
use panic_halt as _;

bind_interrupts!(struct Interrupts {
    ETH => eth::InterruptHandler;
});

const OWN: [u8; 6] = [2, 0, 0, 0, 4, 7];

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    let mut config = Config::default();
    config.rcc.hse = Some(Hse { freq: Hertz(12_000_000), mode: HseMode::Oscillator });
    config.rcc.pll_src = PllSource::HSE;
    config.rcc.pll = Some(Pll {
        prediv: PllPreDiv::DIV6,
        mul: PllMul::MUL168,
        divp: Some(PllPDiv::DIV2),
        divq: Some(PllQDiv::DIV7),
        divr: None,
    });
    config.rcc.sys = Sysclk::PLL1_P;
    config.rcc.apb1_pre = APBPrescaler::DIV4;
    config.rcc.apb2_pre = APBPrescaler::DIV2;
    let p = embassy_stm32::init(config);
    let mut uart = UartTx::new_blocking(p.USART1, p.PB6, Default::default()).unwrap();
    let mut say = |line: core::fmt::Arguments| {
        let mut text: String<64> = String::new();
        text.write_fmt(line).and_then(|()| text.write_str("\r\n")).unwrap();
        uart.blocking_write(text.as_bytes()).unwrap();
    };

    let mut queue = PacketQueue::<4, 4>::new();
    let mut device = Ethernet::new(
        &mut queue, p.ETH, Interrupts, p.PA1, p.PA7, p.PC4, p.PC5, p.PB12, p.PB13, p.PB11, OWN,
        p.ETH_SMA, p.PA2, p.PC1,
    );
    while poll_fn(|cx| Poll::Ready(device.link_state(cx))).await == LinkState::Down {
        Timer::after_millis(1).await;
    }
    say(format_args!("link up"));
    for length in [60, 61, 400, 1514] {
        let frame = |at: usize| match at {
            0..6 => OWN[at],
            12 => 0x88,
            13 => 0xb5,
            _ => (at * 7) as u8,
        };
        poll_fn(|cx| match device.transmit(cx) {
            Some(token) => Poll::Ready(token.consume(length, |buffer| {
                buffer.iter_mut().enumerate().for_each(|(at, byte)| *byte = frame(at));
            })),
            None => Poll::Pending,
        })
        .await;
        let (received, same) = poll_fn(|cx| match device.receive(cx) {
            Some((token, _)) => Poll::Ready(token.consume(|buffer| {
                let same = buffer.iter().enumerate().take(length).all(|(at, &byte)| byte == frame(at));
                (buffer.len(), same)
            })),
            None => Poll::Pending,
        })
        .await;
        say(format_args!("sent {length}, received {received}, same {same}"));
    }
}
