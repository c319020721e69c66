//! FPv4-SP: registers and arithmetic, bit by bit as the manual has it (DDI 0403, A2.5 and A6).
//!
//! The host's own floating point does the work. Single-precision operands and what is computed of
//! them fit a double, either exactly or, rounded to odd, with all that a later rounding to single
//! needs (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008). So every
//! operation is one or two of the host's on doubles, and `Fpu::round` alone knows rounding modes,
//! flushing to zero and the flags. Soft-float crates were considered: none has all of square root,
//! four rounding modes and tininess detected before rounding, which is what Arm does.

use strobe_isa::thumb::op::FpOp;

/// Registers of the floating-point unit.
#[derive(Debug, Clone, Default)]
pub struct Fpu {
    /// S0 to S31; a double is two of them, the lower half first.
    pub s: [u32; 32],
    pub(crate) fpscr: u32,
}

/// Bits of FPSCR (A2.5.3).
pub(crate) mod fpscr {
    pub(crate) const IOC: u32 = 1 << 0;
    pub(crate) const DZC: u32 = 1 << 1;
    pub(crate) const OFC: u32 = 1 << 2;
    pub(crate) const UFC: u32 = 1 << 3;
    pub(crate) const IXC: u32 = 1 << 4;
    pub(crate) const IDC: u32 = 1 << 7;
    pub(crate) const FZ: u32 = 1 << 24;
    pub(crate) const DN: u32 = 1 << 25;
    pub(crate) const AHP: u32 = 1 << 26;
    /// NZCV, AHP, DN, FZ, RMode, IDC, IXC, UFC, OFC, DZC, IOC.
    pub(crate) const WRITABLE: u32 = 0xf7c0_009f;
}
use fpscr::*;

/// FPSCR.RMode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounding {
    Nearest,
    Up,
    Down,
    Zero,
}

pub(super) const SIGN: u32 = 1 << 31;
pub(super) const DEFAULT_NAN: u32 = 0x7fc0_0000;
pub(super) const QUIET: u32 = 1 << 22;

pub(super) fn is_nan(bits: u32) -> bool {
    bits & !SIGN > 0x7f80_0000
}

pub(super) fn is_signalling(bits: u32) -> bool {
    is_nan(bits) && bits & QUIET == 0
}

impl Fpu {
    /// FPSCR.
    pub fn fpscr(&self) -> u32 {
        self.fpscr
    }

    /// Sets FPSCR as VMSR does: reserved bits stay zero.
    pub fn set_fpscr(&mut self, value: u32) {
        self.fpscr = value & WRITABLE;
    }

    pub(super) fn raise(&mut self, flags: u32) {
        self.fpscr |= flags;
    }

    pub(super) fn rounding(&self) -> Rounding {
        match self.fpscr >> 22 & 3 {
            0 => Rounding::Nearest,
            1 => Rounding::Up,
            2 => Rounding::Down,
            _ => Rounding::Zero,
        }
    }

    /// Executes an operation of register numbers.
    pub(crate) fn operate(&mut self, op: FpOp, d: u8, n: u8, m: u8) {
        let (d, n, m) =
            (usize::from(d & 31), self.s[usize::from(n & 31)], self.s[usize::from(m & 31)]);
        let old = self.s[d];
        self.s[d] = match op {
            FpOp::Add => self.add(n, m),
            FpOp::Sub => self.add_negated(n, m),
            FpOp::Mul => self.mul(n, m),
            FpOp::Nmul => self.mul(n, m) ^ SIGN,
            FpOp::Div => self.div(n, m),
            FpOp::Mla => {
                let product = self.mul(n, m);
                self.add(old, product)
            }
            FpOp::Mls => {
                let product = self.mul(n, m);
                self.add(old, product ^ SIGN)
            }
            FpOp::Nmla => {
                let product = self.mul(n, m);
                self.add(old ^ SIGN, product ^ SIGN)
            }
            FpOp::Nmls => {
                let product = self.mul(n, m);
                self.add(old ^ SIGN, product)
            }
            FpOp::Fma => self.fma(old, n, m),
            FpOp::Fms => self.fma(old, n ^ SIGN, m),
            FpOp::Fnma => self.fma(old ^ SIGN, n ^ SIGN, m),
            FpOp::Fnms => self.fma(old ^ SIGN, n, m),
            FpOp::Mov => m,
            FpOp::Abs => m & !SIGN,
            FpOp::Neg => m ^ SIGN,
            FpOp::Sqrt => self.sqrt(m),
            FpOp::Cmp => return self.compare(old, m, false),
            FpOp::CmpE => return self.compare(old, m, true),
            FpOp::CmpZero => return self.compare(old, 0, false),
            FpOp::CmpEZero => return self.compare(old, 0, true),
        };
    }

    /// Rounding to nearest with nothing to flush and the inexact flag set already: the host's own
    /// operation is the answer if its result is an ordinary number, for then no other flag is
    /// raised.
    #[inline(always)]
    fn shortcut(&self, compute: impl FnOnce() -> f32) -> Option<u32> {
        if self.fpscr & (FZ | 3 << 22 | IXC) != IXC {
            return None;
        }
        let result = compute();
        // Above the smallest normal number: what was rounded up to it was tiny before.
        (result.abs() > f32::MIN_POSITIVE && result.abs() <= f32::MAX).then(|| result.to_bits())
    }

    fn add(&mut self, a: u32, b: u32) -> u32 {
        if let Some(sum) = self.shortcut(|| f32::from_bits(a) + f32::from_bits(b)) {
            return sum;
        }
        let (x, y) = (self.operand(a), self.operand(b));
        if let Some(nan) = self.nans(&[a, b]) {
            return nan;
        }
        self.sum(x, y)
    }

    /// a - b: like adding the negated b, but a NaN keeps its sign.
    fn add_negated(&mut self, a: u32, b: u32) -> u32 {
        if is_nan(b) { self.add(a, b) } else { self.add(a, b ^ SIGN) }
    }

    /// Numbers and infinities, each exact.
    fn sum(&mut self, x: f64, y: f64) -> u32 {
        let sum = x + y;
        if sum.is_nan() {
            return self.invalid();
        }
        if sum == 0.0 && x.is_sign_negative() != y.is_sign_negative() {
            return if self.rounding() == Rounding::Down { SIGN } else { 0 };
        }
        if sum.is_infinite() {
            return (sum as f32).to_bits();
        }
        // Knuth's two-sum: what the addition lost.
        let part = sum - x;
        let lost = (x - (sum - part)) + (y - part);
        self.round(to_odd(sum, lost))
    }

    fn mul(&mut self, a: u32, b: u32) -> u32 {
        if let Some(product) = self.shortcut(|| f32::from_bits(a) * f32::from_bits(b)) {
            return product;
        }
        let (x, y) = (self.operand(a), self.operand(b));
        if let Some(nan) = self.nans(&[a, b]) {
            return nan;
        }
        // 24 by 24 bits: exact, unless infinity meets zero.
        let product = x * y;
        if product.is_nan() { self.invalid() } else { self.round(product) }
    }

    fn div(&mut self, a: u32, b: u32) -> u32 {
        if let Some(quotient) = self.shortcut(|| f32::from_bits(a) / f32::from_bits(b)) {
            return quotient;
        }
        let (x, y) = (self.operand(a), self.operand(b));
        if let Some(nan) = self.nans(&[a, b]) {
            return nan;
        }
        let quotient = x / y;
        if quotient.is_nan() {
            return self.invalid();
        }
        if y == 0.0 && x.is_finite() {
            self.raise(DZC);
        }
        if quotient == 0.0 || quotient.is_infinite() {
            return (quotient as f32).to_bits();
        }
        let remainder = (-quotient).mul_add(y, x);
        let lost = if y < 0.0 { -remainder } else { remainder };
        self.round(to_odd(quotient, lost))
    }

    fn sqrt(&mut self, a: u32) -> u32 {
        if let Some(root) = self.shortcut(|| f32::from_bits(a).sqrt()) {
            return root;
        }
        let x = self.operand(a);
        if let Some(nan) = self.nans(&[a]) {
            return nan;
        }
        if x < 0.0 {
            return self.invalid();
        }
        let root = x.sqrt();
        if root == 0.0 || root.is_infinite() {
            return (root as f32).to_bits();
        }
        let lost = (-root).mul_add(root, x);
        self.round(to_odd(root, lost))
    }

    /// addend + a * b, rounded once (FPMulAdd).
    fn fma(&mut self, addend: u32, a: u32, b: u32) -> u32 {
        let (z, x, y) = (self.operand(addend), self.operand(a), self.operand(b));
        let product = x * y;
        let undefined_product = product.is_nan() && !is_nan(a) && !is_nan(b);
        if undefined_product && is_nan(addend) && !is_signalling(addend) {
            return self.invalid();
        }
        if let Some(nan) = self.nans(&[addend, a, b]) {
            return nan;
        }
        if undefined_product { self.invalid() } else { self.sum(product, z) }
    }

    /// FPCompare: the flags in FPSCR.
    fn compare(&mut self, a: u32, b: u32, quiet_is_invalid: bool) {
        let (x, y) = (self.operand(a), self.operand(b));
        let unordered = is_nan(a) || is_nan(b);
        if is_signalling(a) || is_signalling(b) || unordered && quiet_is_invalid {
            self.raise(IOC);
        }
        let nzcv = match x.partial_cmp(&y) {
            _ if unordered => 0b0011,
            Some(std::cmp::Ordering::Less) => 0b1000,
            Some(std::cmp::Ordering::Equal) => 0b0110,
            _ => 0b0010,
        };
        self.fpscr = self.fpscr & 0x0fff_ffff | nzcv << 28;
    }

    /// FPUnpack: the number, flushed to zero if that is asked for. A NaN's value means nothing.
    pub(super) fn operand(&mut self, bits: u32) -> f64 {
        let is_denormal = bits & 0x7f80_0000 == 0 && bits & !SIGN != 0;
        if is_denormal && self.fpscr & FZ != 0 {
            self.raise(IDC);
            return f64::from(f32::from_bits(bits & SIGN));
        }
        f64::from(f32::from_bits(bits))
    }

    /// FPProcessNaNs: the first signalling operand, else the first quiet one, made quiet.
    fn nans(&mut self, operands: &[u32]) -> Option<u32> {
        let signalling = operands.iter().find(|&&x| is_signalling(x));
        if signalling.is_some() {
            self.raise(IOC);
        }
        let nan = *signalling.or_else(|| operands.iter().find(|&&x| is_nan(x)))?;
        Some(if self.fpscr & DN != 0 { DEFAULT_NAN } else { nan | QUIET })
    }

    pub(super) fn invalid(&mut self) -> u32 {
        self.raise(IOC);
        DEFAULT_NAN
    }

    /// FPRound in FPSCR's mode.
    fn round(&mut self, value: f64) -> u32 {
        self.round_in(value, self.rounding())
    }

    /// FPRound to single precision, with its flags. The value is exact or rounded to odd.
    pub(super) fn round_in(&mut self, value: f64, mode: Rounding) -> u32 {
        let nearest = value as f32;
        if value == 0.0 || value.is_infinite() {
            return nearest.to_bits();
        }
        // Arm detects tininess before rounding.
        let tiny = value.abs() < f64::from(f32::MIN_POSITIVE);
        if tiny && self.fpscr & FZ != 0 {
            self.raise(UFC);
            return nearest.to_bits() & SIGN;
        }
        let back = f64::from(nearest);
        let result = match mode {
            Rounding::Up if back < value => nearest.next_up(),
            Rounding::Down if back > value => nearest.next_down(),
            Rounding::Zero if back > value && value > 0.0 => nearest.next_down(),
            Rounding::Zero if back < value && value < 0.0 => nearest.next_up(),
            _ => nearest,
        };
        if back != value {
            self.raise(if tiny { UFC | IXC } else { IXC });
        }
        // Rounded down to the largest number it is still an overflow, if it was more than an ulp
        // above.
        if result.is_infinite() || value.abs() >= TWO_TO_128 {
            self.raise(OFC | IXC);
        }
        result.to_bits()
    }
}

const TWO_TO_128: f64 = 2.0 * (1u128 << 127) as f64;

/// Of a sum rounded to nearest and what that lost (only its sign matters), the sum rounded to odd:
/// if inexact, the one of the two neighbours whose last bit is set.
fn to_odd(rounded: f64, lost: f64) -> f64 {
    if lost == 0.0 || rounded.to_bits() & 1 != 0 {
        rounded
    } else if lost > 0.0 {
        rounded.next_up()
    } else {
        rounded.next_down()
    }
}
