//! Results and flags of arithmetic (DS40002198, the Boolean formulas of each instruction).
//!
//! Each function takes SREG as it was and returns the result with SREG as it is then.

use super::cpu::{C, H, N, S, T, V, Z};

/// Flags that logic changes.
const LOGIC: u8 = S | V | N | Z;
/// Flags that arithmetic changes.
const ARITHMETIC: u8 = H | S | V | N | Z | C;

/// S, N and Z of a result, given V (bit 3).
#[inline(always)]
fn svnz(result: u8, v: u8) -> u8 {
    let n = (result & 0x80) >> 5;
    // S = N eor V, which stand two bits and one bit below it.
    (n << 2 ^ v << 1) | v | n | u8::from(result == 0) << 1
}

/// ADD, ADC.
#[inline(always)]
pub(super) fn add(sreg: u8, d: u8, r: u8, carry: u8) -> (u8, u8) {
    let sum = u32::from(d) + u32::from(r) + u32::from(carry);
    let result = sum as u8;
    let v = ((d ^ result) & (r ^ result) & 0x80) >> 4;
    let h = ((d ^ r ^ result) & 0x10) << 1;
    (result, sreg & !ARITHMETIC | h | svnz(result, v) | (sum >> 8) as u8)
}

/// SUB, CP, NEG and their kind.
#[inline(always)]
pub(super) fn sub(sreg: u8, d: u8, r: u8) -> (u8, u8) {
    subtract(sreg, d, r, 0)
}

/// SBC, CPC, SBCI: Z only ever goes off, so that it holds for a number of several bytes.
#[inline(always)]
pub(super) fn sbc(sreg: u8, d: u8, r: u8) -> (u8, u8) {
    let (result, new) = subtract(sreg, d, r, sreg & C);
    (result, new & (sreg | !Z))
}

#[inline(always)]
fn subtract(sreg: u8, d: u8, r: u8, borrow: u8) -> (u8, u8) {
    let difference = u32::from(d).wrapping_sub(u32::from(r)).wrapping_sub(u32::from(borrow));
    let result = difference as u8;
    let v = ((d ^ r) & (d ^ result) & 0x80) >> 4;
    let h = ((d ^ r ^ result) & 0x10) << 1;
    (result, sreg & !ARITHMETIC | h | svnz(result, v) | (difference >> 8) as u8 & C)
}

/// AND, OR, EOR: flags of the result.
#[inline(always)]
pub(super) fn logic(sreg: u8, result: u8) -> u8 {
    sreg & !LOGIC | svnz(result, 0)
}

/// COM.
#[inline(always)]
pub(super) fn com(sreg: u8, d: u8) -> (u8, u8) {
    (!d, logic(sreg, !d) | C)
}

/// INC.
#[inline(always)]
pub(super) fn inc(sreg: u8, d: u8) -> (u8, u8) {
    let result = d.wrapping_add(1);
    (result, sreg & !LOGIC | svnz(result, u8::from(result == 0x80) << 3))
}

/// DEC.
#[inline(always)]
pub(super) fn dec(sreg: u8, d: u8) -> (u8, u8) {
    let result = d.wrapping_sub(1);
    (result, sreg & !LOGIC | svnz(result, u8::from(result == 0x7f) << 3))
}

/// LSR, ROR and ASR, `top` being what comes in as bit 7.
#[inline(always)]
pub(super) fn shift(sreg: u8, d: u8, top: u8) -> (u8, u8) {
    let (result, c) = (d >> 1 | top, d & 1);
    // V = N eor C.
    let v = (result >> 7 ^ c) << 3;
    (result, sreg & !(LOGIC | C) | svnz(result, v) | c)
}

/// ADIW, `k` being the addend, or SBIW, its negative.
#[inline(always)]
pub(super) fn add_word(sreg: u8, d: u16, k: u16, subtracts: bool) -> (u16, u8) {
    let result = if subtracts { d.wrapping_sub(k) } else { d.wrapping_add(k) };
    let (was, is) = ((d >> 15) as u8, (result >> 15) as u8);
    let (falls, rises) = (was & !is & 1, !was & is & 1);
    let (v, c) = if subtracts { (falls, rises) } else { (rises, falls) };
    let n = is << 2;
    let z = u8::from(result == 0) << 1;
    (result, sreg & !(LOGIC | C) | (n << 2 ^ v << 4) | v << 3 | n | z | c)
}

/// MUL and its family: the flags of a product.
#[inline(always)]
pub(super) fn product(sreg: u8, product: u16) -> u8 {
    sreg & !(Z | C) | (product >> 15) as u8 | u8::from(product == 0) << 1
}

/// The fractional ones: the product is shifted, the carry is what falls out.
#[inline(always)]
pub(super) fn fraction(sreg: u8, full: u16) -> (u16, u8) {
    let result = full << 1;
    (result, sreg & !(Z | C) | (full >> 15) as u8 | u8::from(result == 0) << 1)
}

/// BST.
#[inline(always)]
pub(super) fn store_bit(sreg: u8, d: u8, b: u8) -> u8 {
    sreg & !T | (d >> (b & 7) & 1) << 6
}

/// ADD and ADC without H, S, V and N.
#[inline(always)]
pub(super) fn lean_add(sreg: u8, d: u8, r: u8, carry: u8) -> (u8, u8) {
    let sum = u32::from(d) + u32::from(r) + u32::from(carry);
    let result = sum as u8;
    (result, sreg & !(Z | C) | u8::from(result == 0) << 1 | (sum >> 8) as u8)
}

/// SUB and its kind without H, S, V and N.
#[inline(always)]
pub(super) fn lean_sub(sreg: u8, d: u8, r: u8) -> (u8, u8) {
    (d.wrapping_sub(r), sreg & !(Z | C) | u8::from(d == r) << 1 | u8::from(d < r))
}

/// SBC and its kind without H, S, V and N.
#[inline(always)]
pub(super) fn lean_sbc(sreg: u8, d: u8, r: u8) -> (u8, u8) {
    let difference = u32::from(d).wrapping_sub(u32::from(r)).wrapping_sub(u32::from(sreg & C));
    let result = difference as u8;
    let z = u8::from(result == 0) << 1 & sreg;
    (result, sreg & !(Z | C) | z | (difference >> 8) as u8 & C)
}

/// Logic, INC and DEC without S, V and N.
#[inline(always)]
pub(super) fn lean_logic(sreg: u8, result: u8) -> (u8, u8) {
    (result, sreg & !Z | u8::from(result == 0) << 1)
}

/// LSR and ROR without S, V and N.
#[inline(always)]
pub(super) fn lean_shift(sreg: u8, d: u8, top: u8) -> (u8, u8) {
    let result = d >> 1 | top;
    (result, sreg & !(Z | C) | u8::from(result == 0) << 1 | d & C)
}
