//! Floating point: `microfft`, single precision on a core without a floating-point unit.

use core::fmt::{self, Write};
use microfft::real::rfft_256;

/// Transforms three square waves and lists the strongest lines, as exact bits and as decimals.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    for period in [8_usize, 12, 100] {
        let mut samples: [f32; 256] =
            core::array::from_fn(|i| if i % period < period / 2 { 1.0 } else { -1.0 });
        let spectrum = rfft_256(&mut samples);
        let (line, peak) = spectrum
            .iter()
            .map(|value| value.re * value.re + value.im * value.im)
            .enumerate()
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .ok_or(fmt::Error)?;
        writeln!(out, "period {period}: line {line}, power {peak} = {:08x}", peak.to_bits())?;
        let sum = spectrum.iter().fold(0, |sum, value| {
            u32::rotate_left(sum, 1) ^ value.re.to_bits() ^ value.im.to_bits()
        });
        writeln!(out, "all bits folded: {sum:08x}")?;
    }
    Ok(())
}
