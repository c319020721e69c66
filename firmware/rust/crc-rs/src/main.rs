//! A checksum, a sort and some formatting: what small Rust firmware spends its time on.
//!
//! The same CRC-32 is computed bit by bit and by table, so that a profile shows the two side by side;
//! the sort is core's, generic and inlined, so that its frames show how a profile names them. The exit
//! code is the number of checks that failed.

#![no_std]
#![no_main]

mod crc32;

use core::fmt::Write;

use cortex_m_rt::entry;
use cortex_m_semihosting::hio::{self, HostStream};

/// `SYS_EXIT_EXTENDED` and its reason, which the semihosting crate does not name.
const EXIT_EXTENDED: usize = 0x20;
const STOPPED_APPLICATION_EXIT: u32 = 0x20026;

/// The check value every CRC catalogue gives for the digits 1 to 9.
const CHECK_INPUT: &[u8] = b"123456789";
const CHECK_CRC: u32 = 0xcbf4_3926;

#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    sensor: u8,
    celsius_hundredths: i16,
}

#[entry]
fn main() -> ! {
    let failures = match hio::hstdout() {
        Ok(mut console) => run(&mut console).unwrap_or(100),
        Err(()) => 101,
    };
    exit(failures)
}

/// Prints what it does and returns how many checks failed.
fn run(console: &mut HostStream) -> Result<u32, core::fmt::Error> {
    let mut failures = 0;

    let mut message = [0u8; 1024];
    fill(&mut message);
    let slow = crc32::bit_by_bit(&message);
    let fast = crc32::by_table(&message);
    writeln!(console, "crc32 of {} bytes: {slow:08x} bit by bit, {fast:08x} by table", message.len())?;
    failures += u32::from(slow != fast);
    failures += u32::from(crc32::by_table(CHECK_INPUT) != CHECK_CRC);

    let mut readings = [Reading::default(); 200];
    take(&mut readings);
    readings.sort_unstable_by_key(|reading| (reading.celsius_hundredths, reading.sensor));
    failures += u32::from(!readings.is_sorted_by_key(|reading| reading.celsius_hundredths));
    writeln!(console, "coldest {:?}", readings[0])?;
    writeln!(console, "hottest {:?}", readings[readings.len() - 1])?;
    let median = readings[readings.len() / 2].celsius_hundredths;
    writeln!(console, "median {}.{:02} degrees", median / 100, median % 100)?;

    writeln!(console, "{failures} checks failed")?;
    Ok(failures)
}

/// Bytes that look random and are the same every time.
fn fill(bytes: &mut [u8]) {
    let mut state = 1u32;
    for byte in bytes {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (state >> 24) as u8;
    }
}

/// A day's temperatures, between 10 and 30 degrees.
fn take(readings: &mut [Reading]) {
    let mut state = 2u32;
    for (index, reading) in readings.iter_mut().enumerate() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        reading.sensor = (index % 8) as u8;
        reading.celsius_hundredths = 1000 + ((state >> 16) % 2000) as i16;
    }
}

fn exit(code: u32) -> ! {
    let block = [STOPPED_APPLICATION_EXIT, code];
    // SAFETY: SYS_EXIT_EXTENDED reads the two words of the block and does not return.
    unsafe { cortex_m_semihosting::syscall(EXIT_EXTENDED, &block) };
    loop {}
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    exit(102)
}
