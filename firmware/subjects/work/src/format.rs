//! Formatting: `ryu` beside the standard library's own decimal conversion, which must agree on
//! every value.

use crate::data::Stream;
use core::fmt::{self, Write};

/// The edges of the double format, then random bit patterns; both printers, and reading back what
/// they printed.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    let mut buffer = ryu::Buffer::new();
    for value in [0.0, -0.0, 1.0, 0.1, 1e21, 5e-324, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY] {
        writeln!(out, "{} {value} {value:e} {value:.3?}", buffer.format(value))?;
    }

    let mut stream = Stream::new(0xf0a7);
    let mut restored = 0;
    let mut digits = 0;
    for _ in 0..200 {
        let bits = u64::from(stream.word()) << 32 | u64::from(stream.word());
        let value = f64::from_bits(bits);
        let text = buffer.format(value);
        digits += text.len();
        let back: f64 = text.parse().map_err(|_| fmt::Error)?;
        restored += u32::from(back.to_bits() == bits || value.is_nan());
    }
    writeln!(out, "restored {restored} of 200 from {digits} digits")?;

    for power in 0..20 {
        let value = 7_u64.pow(power);
        writeln!(
            out,
            "|{value:>20}|{value:<20}|{value:^+20}|{value:#020x}|{:5.1}|",
            power as f32 / 3.0
        )?;
    }
    Ok(())
}
