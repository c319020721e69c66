//! Conversions of the floating-point unit: integers, fixed point, half precision (DDI 0403, A6.4).

use super::fp::fpscr::*;
use super::fp::{DEFAULT_NAN, Fpu, QUIET, Rounding, SIGN, is_nan, is_signalling};
use strobe_isa::thumb::op::Conversion;

impl Fpu {
    /// Executes a conversion of register numbers.
    pub(crate) fn convert(&mut self, op: Conversion, d: u8, m: u8) {
        use Conversion::*;
        let (d, m) = (usize::from(d & 31), self.s[usize::from(m & 31)]);
        let (old, mode) = (self.s[d], self.rounding());
        self.s[d] = match op {
            HalfBottomToSingle => self.half_to_single(m as u16),
            HalfTopToSingle => self.half_to_single((m >> 16) as u16),
            SingleToHalfBottom => old & 0xffff_0000 | u32::from(self.single_to_half(m)),
            SingleToHalfTop => old & 0xffff | u32::from(self.single_to_half(m)) << 16,
            UnsignedToSingle => self.round_in(f64::from(m), mode),
            SignedToSingle => self.round_in(f64::from(m as i32), mode),
            SingleToUnsigned => self.integer_from(m, 0, 0.0, U32_MAX, Rounding::Zero),
            SingleToSigned => self.integer_from(m, 0, I32_MIN, I32_MAX, Rounding::Zero),
            SingleToUnsignedRounded => self.integer_from(m, 0, 0.0, U32_MAX, mode),
            SingleToSignedRounded => self.integer_from(m, 0, I32_MIN, I32_MAX, mode),
        };
    }

    /// VCVT between floating and fixed point: towards zero one way, to nearest the other.
    pub(crate) fn convert_fixed(
        &mut self,
        to_fixed: bool,
        signed: bool,
        half: bool,
        d: u8,
        fraction: u8,
    ) {
        let d = usize::from(d & 31);
        let value = self.s[d];
        self.s[d] = if to_fixed {
            let (low, high) = match (signed, half) {
                (true, false) => (I32_MIN, I32_MAX),
                (true, true) => (f64::from(i16::MIN), f64::from(i16::MAX)),
                (false, false) => (0.0, U32_MAX),
                (false, true) => (0.0, f64::from(u16::MAX)),
            };
            self.integer_from(value, fraction, low, high, Rounding::Zero)
        } else {
            let integer = match (signed, half) {
                (true, false) => f64::from(value as i32),
                (true, true) => f64::from(value as i16),
                (false, false) => f64::from(value),
                (false, true) => f64::from(value as u16),
            };
            self.round_in(integer / power_of_two(fraction), Rounding::Nearest)
        };
    }

    /// FPToFixed: what does not fit saturates and is invalid; a NaN is zero. Signed results
    /// narrower than a word are sign extended.
    fn integer_from(
        &mut self,
        bits: u32,
        fraction: u8,
        low: f64,
        high: f64,
        mode: Rounding,
    ) -> u32 {
        let value = self.operand(bits) * power_of_two(fraction);
        if is_nan(bits) {
            self.raise(IOC);
            return 0;
        }
        let rounded = to_integral(value, mode);
        let result = rounded.clamp(low, high);
        if result != rounded {
            self.raise(IOC);
        } else if rounded != value {
            self.raise(IXC);
        }
        result as i64 as u32
    }

    fn half_to_single(&mut self, half: u16) -> u32 {
        let sign = u32::from(half & 0x8000) << 16;
        let (exponent, fraction) = (half >> 10 & 31, half & 0x3ff);
        if exponent == 31 && self.fpscr() & AHP == 0 {
            return match fraction {
                0 => sign | 0x7f80_0000,
                fraction => {
                    if fraction & 0x200 == 0 {
                        self.raise(IOC);
                    }
                    let kept = sign | 0x7f80_0000 | QUIET | u32::from(fraction) << 13;
                    if self.fpscr() & DN != 0 { DEFAULT_NAN } else { kept }
                }
            };
        }
        let magnitude = if exponent == 0 {
            f32::from(fraction) * HALF_ULP
        } else {
            f32::from(fraction | 0x400) * HALF_ULP * (1u32 << (exponent - 1)) as f32
        };
        sign | magnitude.to_bits()
    }

    /// Half-precision results are never flushed to zero.
    fn single_to_half(&mut self, single: u32) -> u16 {
        let sign = (single >> 16) as u16 & 0x8000;
        let alternative = self.fpscr() & AHP != 0;
        let value = self.operand(single).abs();
        if is_nan(single) {
            if is_signalling(single) || alternative {
                self.raise(IOC);
            }
            return match (alternative, self.fpscr() & DN != 0) {
                (true, _) => sign,
                (false, true) => 0x7e00,
                (false, false) => sign | 0x7e00 | (single >> 13) as u16 & 0x1ff,
            };
        }
        if value.is_infinite() {
            if alternative {
                self.raise(IOC);
            }
            return sign | if alternative { 0x7fff } else { 0x7c00 };
        }
        // In units of the last place: 2^-24 up to the smallest normal number, 2^-14, and one more
        // bit for each doubling from there on.
        let doublings = (exponent(value) + 14).max(0);
        let units = value / f64::from(HALF_ULP) / power_of_two(doublings as u8);
        let mode = match (self.rounding(), single & SIGN != 0) {
            // On the magnitude up and down change sides.
            (Rounding::Up, true) => Rounding::Down,
            (Rounding::Down, true) => Rounding::Up,
            (mode, _) => mode,
        };
        let rounded = to_integral(units, mode);
        // The leading bit, if any, counts as one exponent; a carry out of the fraction as the next.
        let magnitude = rounded as u32 + ((doublings as u32) << 10);
        let limit = if alternative { 0x8000 } else { 0x7c00 };
        if magnitude >= limit {
            if alternative {
                self.raise(IOC);
                return sign | 0x7fff;
            }
            self.raise(OFC | IXC);
            let to_infinity = matches!(mode, Rounding::Nearest | Rounding::Up);
            return sign | if to_infinity { 0x7c00 } else { 0x7bff };
        }
        if rounded != units {
            let tiny = value < f64::from(HALF_ULP) * 1024.0;
            self.raise(if tiny { UFC | IXC } else { IXC });
        }
        sign | magnitude as u16
    }
}

const I32_MIN: f64 = i32::MIN as f64;
const I32_MAX: f64 = i32::MAX as f64;
const U32_MAX: f64 = u32::MAX as f64;
/// The smallest half-precision number, 2^-24.
const HALF_ULP: f32 = 1.0 / 16_777_216.0;

fn power_of_two(exponent: u8) -> f64 {
    f64::from_bits((1023 + u64::from(exponent)) << 52)
}

/// The binary exponent of a normal double; a single is one, be it denormal.
fn exponent(value: f64) -> i32 {
    (value.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

fn to_integral(value: f64, mode: Rounding) -> f64 {
    match mode {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Up => value.ceil(),
        Rounding::Down => value.floor(),
        Rounding::Zero => value.trunc(),
    }
}
