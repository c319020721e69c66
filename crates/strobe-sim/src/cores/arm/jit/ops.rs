//! Each instruction that stays in its block, as compiled code. Mirrors `cortexm::exec`.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::build::Build;
use super::flags::Carry;
use super::memory::Span;
use crate::kernel::device::Size;
use strobe_isa::thumb::insn::{Insn, Reg};
use strobe_isa::thumb::op::Shift;

impl Build<'_> {
    pub(super) fn insn(&mut self, insn: Insn) {
        use Insn::*;
        match insn {
            LslImm { .. } | LsrImm { .. } | AsrImm { .. } => self.shift_imm(insn),
            LslReg { .. } | LsrReg { .. } | AsrReg { .. } | RorReg { .. } => self.shift_reg(insn),
            AddReg { d, n, m } => self.add_to_register(d, n, m),
            SubReg { d, n, m } => {
                let result = self.difference(n, m);
                self.set(d, result);
            }
            AddImm { d, n, imm } => {
                let (a, b) = (self.get(n), self.constant(imm.into()));
                let result = self.add(a, b, None);
                self.set(d, result);
            }
            SubImm { d, n, imm } => {
                let (a, b) = (self.get(n), self.constant(imm.into()));
                let result = self.sub(a, b);
                self.set(d, result);
            }
            MovImm { d, imm } => {
                let value = self.constant(imm.into());
                self.logic(d, value);
            }
            CmpImm { n, imm } => self.compare(n, imm.into()),
            CmpConst { n, value } => self.compare(n, value),
            CmpReg { n, m } => _ = self.difference(n, m),
            Cmn { n, m } => {
                let (a, b) = (self.get(n), self.get(m));
                self.add(a, b, None);
            }
            Adc { d, m } => {
                let (a, b, carry) = (self.get(d), self.get(m), self.carry());
                let result = self.add(a, b, Some(carry));
                self.set(d, result);
            }
            Sbc { d, m } => {
                let (a, b, carry) = (self.get(d), self.get(m), self.carry());
                let b = self.b.ins().bnot(b);
                let result = self.add(a, b, Some(carry));
                self.set(d, result);
            }
            Rsb { d, n } => {
                let (zero, n) = (self.constant(0), self.get(n));
                let result = self.sub(zero, n);
                self.set(d, result);
            }
            And { .. } | Eor { .. } | Tst { .. } | Orr { .. } | Mul { .. } | Bic { .. } => {
                self.logic_register(insn);
            }
            Mvn { d, m } => {
                let value = self.get(m);
                let value = self.b.ins().bnot(value);
                self.logic(d, value);
            }
            AddHi { d, m } => {
                let (a, b) = (self.get(d), self.get(m));
                let sum = self.b.ins().iadd(a, b);
                self.set_any(d, sum);
            }
            MovHi { d, m } => {
                let value = self.get(m);
                self.set_any(d, value);
            }
            AddConst { d, value } => {
                let (a, b) = (self.get(d), self.constant(value));
                let sum = self.b.ins().iadd(a, b);
                self.set_any(d, sum);
            }
            MovConst { d, value } => {
                let value = self.constant(value);
                self.set_any(d, value);
            }
            AddSpImm { d, imm } => {
                let sp = self.get(13);
                let sum = self.b.ins().iadd_imm_s(sp, i64::from(imm));
                self.set(d, sum);
            }
            AdjustSp { imm } => {
                let sp = self.get(13);
                let sum = self.b.ins().iadd_imm_s(sp, i64::from(imm));
                self.set(13, sum);
            }
            Sxth { .. } | Sxtb { .. } | Uxth { .. } | Uxtb { .. } => self.extend(insn),
            Rev { .. } | Rev16 { .. } | Revsh { .. } => self.reverse(insn),
            Nop | Dmb | Dsb => {}
            _ => self.transfer(insn),
        }
    }

    fn add_to_register(&mut self, d: Reg, n: Reg, m: Reg) {
        let (a, b) = (self.get(n), self.get(m));
        let result = self.add(a, b, None);
        self.set(d, result);
    }

    fn difference(&mut self, n: Reg, m: Reg) -> Value {
        let (a, b) = (self.get(n), self.get(m));
        self.sub(a, b)
    }

    fn compare(&mut self, n: Reg, value: u32) {
        let (a, b) = (self.get(n), self.constant(value));
        self.sub(a, b);
    }

    fn logic(&mut self, d: Reg, value: Value) {
        self.set(d, value);
        self.set_nz(value);
    }

    fn logic_register(&mut self, insn: Insn) {
        use Insn::*;
        let (And { d, m }
        | Eor { d, m }
        | Orr { d, m }
        | Mul { d, m }
        | Bic { d, m }
        | Tst { n: d, m }) = insn
        else {
            unreachable!("{insn:?}")
        };
        let (a, b) = (self.get(d), self.get(m));
        let ins = self.b.ins();
        let value = match insn {
            Eor { .. } => ins.bxor(a, b),
            Orr { .. } => ins.bor(a, b),
            Mul { .. } => ins.imul(a, b),
            Bic { .. } => ins.band_not(a, b),
            _ => ins.band(a, b),
        };
        if let Tst { .. } = insn {
            self.set_nz(value);
        } else {
            self.logic(d, value);
        }
    }

    /// Writes R0-R14; the bottom two bits of SP read as zero (B1.4.1).
    pub(super) fn set_any(&mut self, d: Reg, value: Value) {
        let value = if d == 13 { self.b.ins().band_imm_u(value, !3u32 as i64) } else { value };
        self.set(d, value);
    }

    fn shift_imm(&mut self, insn: Insn) {
        let (Insn::LslImm { d, m, imm } | Insn::LsrImm { d, m, imm } | Insn::AsrImm { d, m, imm }) =
            insn
        else {
            unreachable!("{insn:?}")
        };
        let value = self.get(m);
        let by = i64::from(imm);
        let (result, last) = match insn {
            Insn::LslImm { imm: 0, .. } => (value, None),
            Insn::LslImm { .. } => (self.b.ins().ishl_imm_u(value, by), Some(32 - imm)),
            // By 32 in both: the host would shift by 0.
            Insn::LsrImm { imm: 32, .. } => (self.constant(0), Some(31)),
            Insn::LsrImm { .. } => (self.b.ins().ushr_imm_u(value, by), Some(imm - 1)),
            _ => (self.b.ins().sshr_imm_u(value, by.min(31)), Some(imm - 1)),
        };
        self.logic(d, result);
        if let Some(bit) = last {
            self.set_carry(Carry::Bit(value, bit));
        }
    }

    fn shift_reg(&mut self, insn: Insn) {
        use Insn::*;
        let (LslReg { d, m } | LsrReg { d, m } | AsrReg { d, m } | RorReg { d, m }) = insn else {
            unreachable!("{insn:?}")
        };
        let shift = match insn {
            LslReg { .. } => Shift::Lsl,
            LsrReg { .. } => Shift::Lsr,
            AsrReg { .. } => Shift::Asr,
            _ => Shift::Ror,
        };
        let (value, by) = (self.get(d), self.get(m));
        let (result, carry) = self.shift_by(shift, value, by);
        self.logic(d, result);
        self.set_carry(Carry::Value(carry));
    }

    /// Shifts by a register's bottom byte: 0 leaves the carry alone, 33 and more clear it (or, for
    /// ASR, repeat the sign). Done in 64 bits, where the last bit shifted out stays next to the
    /// result.
    pub(super) fn shift_by(&mut self, shift: Shift, value: Value, by: Value) -> (Value, Value) {
        let by = self.b.ins().band_imm_u(by, 0xff);
        let most = self.constant(if shift == Shift::Asr { 32 } else { 33 });
        let clamped = self.b.ins().umin(by, most);
        let (result, out) = match shift {
            Shift::Lsl => {
                let wide = self.b.ins().uextend(types::I64, value);
                let wide = self.b.ins().ishl(wide, clamped);
                (self.b.ins().ireduce(types::I32, wide), self.bit(wide, 32))
            }
            Shift::Ror | Shift::Rrx => {
                let result = self.b.ins().rotr(value, by);
                (result, self.b.ins().ushr_imm_u(result, 31))
            }
            Shift::Lsr | Shift::Asr => {
                let wide = self.b.ins().uextend(types::I64, value);
                let wide = self.b.ins().ishl_imm_u(wide, 32);
                let ins = self.b.ins();
                let wide = match shift {
                    Shift::Lsr => ins.ushr(wide, clamped),
                    _ => ins.sshr(wide, clamped),
                };
                let out = self.bit(wide, 31);
                let wide = self.b.ins().ushr_imm_u(wide, 32);
                (self.b.ins().ireduce(types::I32, wide), out)
            }
        };
        let old = self.carry();
        let none = self.b.ins().icmp_imm_s(IntCC::Equal, by, 0);
        (result, self.b.ins().select(none, old, out))
    }

    /// A bit of a 64-bit value as 0 or 1 in 32 bits.
    fn bit(&mut self, wide: Value, bit: i64) -> Value {
        let value = self.b.ins().ushr_imm_u(wide, bit);
        let value = self.b.ins().ireduce(types::I32, value);
        self.b.ins().band_imm_u(value, 1)
    }

    fn extend(&mut self, insn: Insn) {
        use Insn::*;
        let (Sxth { d, m } | Sxtb { d, m } | Uxth { d, m } | Uxtb { d, m }) = insn else {
            unreachable!("{insn:?}")
        };
        let value = self.get(m);
        let value = match insn {
            Sxth { .. } => self.sign_extend(value, Size::Half),
            Sxtb { .. } => self.sign_extend(value, Size::Byte),
            Uxth { .. } => self.b.ins().band_imm_u(value, 0xffff),
            _ => self.b.ins().band_imm_u(value, 0xff),
        };
        self.set(d, value);
    }

    pub(super) fn sign_extend(&mut self, value: Value, size: Size) -> Value {
        let ty = if size == Size::Byte { types::I8 } else { types::I16 };
        let value = self.b.ins().ireduce(ty, value);
        self.b.ins().sextend(types::I32, value)
    }

    fn reverse(&mut self, insn: Insn) {
        use Insn::*;
        let (Rev { d, m } | Rev16 { d, m } | Revsh { d, m }) = insn else {
            unreachable!("{insn:?}")
        };
        let value = self.get(m);
        let swapped = self.b.ins().bswap(value);
        let value = match insn {
            Rev { .. } => swapped,
            Rev16 { .. } => self.b.ins().rotr_imm_u(swapped, 16),
            // The low halfword's bytes are at the top now, in the other order.
            _ => self.b.ins().sshr_imm_u(swapped, 16),
        };
        self.set(d, value);
    }

    /// Loads and stores.
    fn transfer(&mut self, insn: Insn) {
        use Insn::*;
        match insn {
            LdrLit { t, address } => {
                let value = match self.bus.flash.read(address, Size::Word) {
                    // What a literal in flash holds never changes.
                    Some(value) => {
                        let offset = self.constant(address.wrapping_sub(self.bus.flash.base));
                        let address = self.constant(address);
                        self.read_flash(address, offset, 4);
                        self.constant(value)
                    }
                    None => self.load_ram_at(address),
                };
                self.set(t, value);
            }
            LdrReg { t, n, m } => self.load_indexed(t, n, m, Size::Word, false),
            LdrhReg { t, n, m } => self.load_indexed(t, n, m, Size::Half, false),
            LdrbReg { t, n, m } => self.load_indexed(t, n, m, Size::Byte, false),
            LdrshReg { t, n, m } => self.load_indexed(t, n, m, Size::Half, true),
            LdrsbReg { t, n, m } => self.load_indexed(t, n, m, Size::Byte, true),
            LdrImm { t, n, imm } => self.load_offset(t, n, imm, Size::Word),
            LdrhImm { t, n, imm } => self.load_offset(t, n, imm.into(), Size::Half),
            LdrbImm { t, n, imm } => self.load_offset(t, n, imm.into(), Size::Byte),
            StrReg { t, n, m } => self.store_indexed(t, n, m, Size::Word),
            StrhReg { t, n, m } => self.store_indexed(t, n, m, Size::Half),
            StrbReg { t, n, m } => self.store_indexed(t, n, m, Size::Byte),
            StrImm { t, n, imm } => self.store_offset(t, n, imm, Size::Word),
            StrhImm { t, n, imm } => self.store_offset(t, n, imm.into(), Size::Half),
            StrbImm { t, n, imm } => self.store_offset(t, n, imm.into(), Size::Byte),
            Ldm { n, list } => {
                let end = self.load_multiple(n, list.into(), false);
                // With the base in the list, the loaded value stays.
                if list >> n & 1 == 0 {
                    self.set(n, end);
                }
            }
            Pop { list } => {
                let end = self.load_multiple(13, list.into(), true);
                self.set(13, end);
            }
            Stm { n, list } => {
                let start = self.get(n);
                self.store_multiple(start, list.into());
                let end = self.b.ins().iadd_imm_s(start, 4 * i64::from(list.count_ones()));
                self.set(n, end);
            }
            Push { list } => {
                let sp = self.get(13);
                let start = self.b.ins().iadd_imm_s(sp, -4 * i64::from(list.count_ones()));
                self.store_multiple(start, list);
                self.set(13, start);
            }
            _ => self.wide(insn),
        }
    }

    fn indexed(&mut self, n: Reg, m: Reg) -> Value {
        let (base, offset) = (self.get(n), self.get(m));
        self.b.ins().iadd(base, offset)
    }

    fn at_offset(&mut self, n: Reg, imm: u16) -> Value {
        let base = self.get(n);
        self.plus(base, imm.into())
    }

    fn load_indexed(&mut self, t: Reg, n: Reg, m: Reg, size: Size, signed: bool) {
        let address = self.indexed(n, m);
        let value = self.load(address, size, false);
        let value = if signed { self.sign_extend(value, size) } else { value };
        self.set(t, value);
    }

    fn load_offset(&mut self, t: Reg, n: Reg, imm: u16, size: Size) {
        let address = self.at_offset(n, imm);
        let value = self.load(address, size, n == 13);
        self.set(t, value);
    }

    fn store_indexed(&mut self, t: Reg, n: Reg, m: Reg, size: Size) {
        let (address, value) = (self.indexed(n, m), self.get(t));
        self.store(address, size, value);
    }

    fn store_offset(&mut self, t: Reg, n: Reg, imm: u16, size: Size) {
        let (address, value) = (self.at_offset(n, imm), self.get(t));
        self.store(address, size, value);
    }

    /// Loads registers from ascending words at a base register; returns the address after them.
    fn load_multiple(&mut self, n: Reg, list: u16, stack: bool) -> Value {
        let (start, count) = (self.get(n), list.count_ones());
        self.load_list(start, list, stack);
        self.b.ins().iadd_imm_s(start, 4 * i64::from(count))
    }

    pub(super) fn load_list(&mut self, start: Value, list: u16, stack: bool) {
        let at = self.readable(start, Span::words(list.count_ones()), stack);
        self.load_words(at, list);
    }

    /// Loads registers from words that were checked.
    pub(super) fn load_words(&mut self, at: Value, list: u16) {
        for (number, t) in (0..).zip(registers(list)) {
            let value = self.load_word(at, number);
            self.set(t, value);
        }
    }

    pub(super) fn store_multiple(&mut self, start: Value, list: u16) {
        let at = self.writable(start, Span::words(list.count_ones()));
        for (number, t) in (0..).zip(registers(list)) {
            let value = self.get(t);
            self.store_word(at, number, value);
        }
    }

    /// POP with PC: loads the registers below it and returns where to jump.
    pub(super) fn pop_pc(&mut self, list: u8) -> Value {
        let count = list.count_ones();
        let start = self.get(13);
        let at = self.readable(start, Span::words(count + 1), true);
        let target = self.load_word(at, count);
        self.check_ordinary(target);
        self.load_words(at, list.into());
        let end = self.b.ins().iadd_imm_s(start, 4 * i64::from(count + 1));
        self.set(13, end);
        target
    }
}

/// The registers of a list, lowest first.
fn registers(list: u16) -> impl Iterator<Item = Reg> {
    (0..15).filter(move |i| list >> i & 1 != 0)
}
