//! What `defmt` logs over stimulus port 0, at the 16 MHz that an STM32F407 has after reset: every level, the kinds of arguments, types of its
//! own, and a burst. Ends in `finished`.
#![no_std]
#![no_main]

use core::hint::black_box;

use cortex_m::Peripherals;
use cortex_m::peripheral::DWT;
use defmt::{
    Debug2Format, Display2Format, Format, bitflags, debug, error, info, println, trace, warn,
};

/// Core cycles of a microsecond.
const CYCLES: u32 = 16;
/// Rounds of the loop.
const ROUNDS: u32 = 20;

defmt::timestamp!("{=u32:us}", DWT::cycle_count() / CYCLES);

#[derive(Format)]
struct Sample {
    channel: u8,
    level: i16,
    state: State,
}

#[derive(Clone, Copy, Format)]
enum State {
    Idle,
    Running { since: u32 },
    Failed(Option<u16>),
}

struct Celsius(i16);

impl Format for Celsius {
    fn format(&self, to: defmt::Formatter<'_>) {
        defmt::write!(to, "{=i16}.{=u8} degrees", self.0 / 10, (self.0 % 10).unsigned_abs() as u8);
    }
}

bitflags! {
    struct Flags: u8 {
        const READY = 1;
        const FULL = 2;
        const LATE = 4;
    }
}

/// Long enough that the pin is free again.
#[inline(never)]
fn settle() {
    for n in 0..2000 {
        black_box(n);
    }
}

#[inline(never)]
fn kinds() {
    trace!(
        "u8 {=u8:#04x}, i32 {=i32}, u64 {=u64}, i128 {=i128}",
        0x2a,
        -123_456,
        u64::MAX,
        i128::MIN
    );
    settle();
    debug!("f32 {=f32}, bool {=bool}, char {=char}, usize {=usize:b}", 1.5, true, 'é', 10);
    settle();
    debug!("text {=str}, known text {=istr}", "of the target", defmt::intern!("of the host"));
    settle();
    let bytes = [0u8, 1, 254];
    info!("bytes {=[u8]:02x}, {=[u8]:a}, {=[u8; 3]}", &bytes[..], &b"abc\n"[..], [7, 8, 9]);
    settle();
    info!("bits {0=4..8} and {0=0..4:b} of {0=0..8:x}", 0x5au8);
    settle();
    warn!("flags {}, {}", Flags::READY | Flags::LATE, Flags::empty());
    settle();
    println!("no level, {} and {}", Display2Format(&"shown"), Debug2Format(&Some("formatted")));
    settle();
}

#[inline(never)]
fn round(n: u32) {
    let state = match n % 3 {
        0 => State::Idle,
        1 => State::Running { since: n * 1000 },
        _ => State::Failed((n > 10).then_some(n as u16)),
    };
    let sample = Sample { channel: n as u8, level: 100 - 20 * n as i16, state };
    info!("round {=u32}: {}", n, sample);
    settle();
    settle();
    if n % 5 == 4 {
        let all = [Celsius(215), Celsius(-70), Celsius(sample.level)];
        warn!("measured {=[?]}", all.as_slice());
        settle();
        error!("{} after {}", Err::<(), _>(state), Some(Celsius(sample.level)));
        settle();
    }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    let mut core = Peripherals::take().unwrap();
    core.DCB.enable_trace();
    core.DWT.enable_cycle_counter();
    defmt_itm::enable(core.ITM);
    settle();
    kinds();
    for n in 0..ROUNDS {
        round(n);
    }
    settle();
    finished()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn finished() -> ! {
    loop {
        black_box(());
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    finished()
}
