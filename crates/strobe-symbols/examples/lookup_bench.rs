//! Measures parsing and batch lookup of one ELF file: `lookup_bench FILE [ADDRESSES]`.
//!
//! The addresses are uniformly distributed over the code by a fixed generator, so that runs are
//! comparable.

use std::error::Error;
use std::time::Instant;

use strobe_symbols::Firmware;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: lookup_bench FILE [ADDRESSES]")?;
    let count: usize = arguments.next().map_or(Ok(1_000_000), |count| count.parse())?;
    let bytes = std::fs::read(&path)?;

    let started = Instant::now();
    let firmware = Firmware::parse(bytes)?;
    let parsed = started.elapsed();

    let addresses = addresses(&firmware, count);
    let started = Instant::now();
    let batch = firmware.frames_batch(&addresses);
    let looked_up = started.elapsed();

    let frames: usize = batch.iter().map(|answer| answer.frames.len()).sum();
    println!("parse:  {:.1} ms, detail {:?}", parsed.as_secs_f64() * 1e3, firmware.detail());
    println!(
        "lookup: {} addresses, {} distinct answers, {frames} frames",
        addresses.len(),
        batch.distinct.len()
    );
    println!(
        "        {:.1} ms, {:.0} lookups/s",
        looked_up.as_secs_f64() * 1e3,
        addresses.len() as f64 / looked_up.as_secs_f64()
    );
    Ok(())
}

fn addresses(firmware: &Firmware, count: usize) -> Vec<u32> {
    let ranges: Vec<_> = firmware.code_ranges().collect();
    let total: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let mut at = state % total.max(1);
        for range in &ranges {
            let size = range.end - range.start;
            if at < size {
                return (range.start + at) as u32 & !1;
            }
            at -= size;
        }
        0
    };
    (0..count).map(|_| next()).collect()
}
