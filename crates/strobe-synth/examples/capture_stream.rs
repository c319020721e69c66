//! Writes a sigrok session of random bytes on a bus to standard output: what `docs/benchmarks.md`
//! times `strobe bus` and `strobe pins` on.
//!
//! `cargo run -p strobe-synth --example capture_stream -- uart 1000000 >uart.sr` writes 100 M
//! samples, ten to a bit; `spi 1450000` as many of an SPI bus with four samples to a bit.

use std::io::Write;

use strobe_synth::{Line, Rng, SpiWave, UartWave, sigrok};

/// Samples of each member of the session, about as many as sigrok puts there.
const SAMPLES_IN_MEMBER: usize = 4 << 20;

/// Words of one SPI transfer.
const WORDS_IN_TRANSFER: u32 = 16;

fn main() -> std::io::Result<()> {
    let bus = std::env::args().nth(1);
    let words = std::env::args().nth(2).and_then(|n| n.parse::<u32>().ok());
    let session = match (bus.as_deref(), words) {
        (Some("uart"), Some(words)) => uart(words),
        (Some("spi"), Some(words)) => spi(words),
        _ => {
            eprintln!("usage: capture_stream uart|spi WORDS");
            std::process::exit(64);
        }
    };
    let mut out = std::io::stdout().lock();
    out.write_all(&session)?;
    out.flush()
}

fn uart(words: u32) -> Vec<u8> {
    let mut rng = Rng::new(1);
    let mut wave = UartWave::new(10.0);
    wave.rest(20.0);
    for _ in 0..words {
        wave.send(rng.below(256));
    }
    wave.rest(20.0);
    session(&[("RX", &wave.line)], 1, wave.now as u64)
}

fn spi(words: u32) -> Vec<u8> {
    let mut rng = Rng::new(1);
    let mut wave = SpiWave::new((false, false), 2);
    for _ in 0..words.div_ceil(WORDS_IN_TRANSFER) {
        wave.now += 8;
        wave.select(true);
        for _ in 0..WORDS_IN_TRANSFER {
            wave.word(rng.below(256), rng.below(256), 8);
        }
        wave.select(false);
    }
    let [clk, mosi, miso, cs] = &wave.lines;
    let lines = [("CLK", clk), ("MOSI", mosi), ("MISO", miso), ("CS", cs)];
    session(&lines, 8, wave.now + 100)
}

fn session(lines: &[(&str, &Line)], megahertz: u64, samples: u64) -> Vec<u8> {
    sigrok::session(lines, megahertz, samples, SAMPLES_IN_MEMBER)
}
