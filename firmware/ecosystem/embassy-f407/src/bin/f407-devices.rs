//! Asks the discovery board's devices who they are and prints it on USART2 (PA2), blocking: the random number
//! generator, the audio codec on I2C1 (PB6, PB9), SPI1 with MISO at what it idles at, the CRC unit.

#![no_std]
#![no_main]

use core::fmt::Write;
use embassy_executor::Spawner;
use embassy_stm32::crc::Crc;
use embassy_stm32::i2c::I2c;
use embassy_stm32::rcc::{
    APBPrescaler, Hse, HseMode, Pll, PllMul, PllPDiv, PllPreDiv, PllQDiv, PllSource, Sysclk, mux,
};
use embassy_stm32::rng::{self, Rng};
use embassy_stm32::spi::Spi;
use embassy_stm32::time::Hertz;
use embassy_stm32::usart::UartTx;
use embassy_stm32::{Config, bind_interrupts, peripherals};
use heapless::String;
use panic_halt as _;

bind_interrupts!(struct Interrupts {
    RNG => rng::InterruptHandler<peripherals::RNG>;
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
    config.rcc.apb1_pre = APBPrescaler::DIV4;
    config.rcc.apb2_pre = APBPrescaler::DIV2;
    config.rcc.mux.clk48sel = mux::Clk48sel::PLL1_Q;
    let p = embassy_stm32::init(config);

    let mut uart = UartTx::new_blocking(p.USART2, p.PA2, Default::default()).unwrap();
    let mut say = |line: String<64>| uart.blocking_write(line.as_bytes()).unwrap();
    let mut rng = Rng::new(p.RNG, Interrupts);
    let (first, second) = (rng.next_u32(), rng.next_u32());
    say(line(format_args!("random {}", first != second)));

    let mut i2c = I2c::new_blocking(p.I2C1, p.PB6, p.PB9, Default::default());
    let mut id = [0];
    let codec = i2c.blocking_write_read(0x4a, &[1], &mut id);
    say(line(format_args!("codec {:?} {:#04x}", codec.is_ok(), id[0])));
    let nobody = i2c.blocking_read(0x20, &mut id);
    say(line(format_args!("nobody {nobody:?}")));

    let mut spi = Spi::new_blocking(p.SPI1, p.PA5, p.PA7, p.PA6, Default::default());
    let mut bytes = [1u8, 2, 3];
    spi.blocking_transfer_in_place(&mut bytes).unwrap();
    say(line(format_args!("spi {bytes:?}")));

    let mut crc = Crc::new(p.CRC);
    crc.reset();
    say(line(format_args!("crc {:#010x}", crc.feed_words(&[0x3132_3334]))));
}

fn line(text: core::fmt::Arguments) -> String<64> {
    let mut line = String::new();
    line.write_fmt(text).and_then(|()| line.write_str("\r\n")).unwrap();
    line
}
