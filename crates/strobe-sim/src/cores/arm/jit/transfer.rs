//! Loads, stores and jumps through memory that ARMv7-M adds, as compiled code. Mirrors
//! `cortexm::exec_mem` and `cortexm::exec_branch`.

use cranelift_codegen::ir::{InstBuilder, Value};

use super::build::Build;
use super::memory::Span;
use crate::kernel::device::Size;
use strobe_isa::thumb::insn::{Insn, NO_REG, Reg};
use strobe_isa::thumb::op::{Direction, Index, Width};

impl Build<'_> {
    pub(super) fn moved(&mut self, n: Reg, imm: i16) -> Value {
        let base = self.get(n);
        self.plus(base, imm.into())
    }

    /// The address to access, and the base to write back if the form does.
    fn indexed_address(&mut self, n: Reg, index: Index, imm: i16) -> (Value, Option<Value>) {
        let moved = self.moved(n, imm);
        match index {
            Index::Offset => (moved, None),
            Index::Pre => (moved, Some(moved)),
            Index::Post => (self.get(n), Some(moved)),
        }
    }

    fn write_back(&mut self, n: Reg, base: Option<Value>) {
        if let Some(base) = base {
            self.set_any(n, base);
        }
    }

    /// Where consecutive words lie, and the base after them.
    pub(super) fn span(&mut self, n: Reg, direction: Direction, words: u32) -> (Value, Value) {
        let base = self.get(n);
        match direction {
            Direction::Up => (base, self.b.ins().iadd_imm_s(base, 4 * i64::from(words))),
            Direction::Down => {
                let start = self.b.ins().iadd_imm_s(base, -4 * i64::from(words));
                (start, start)
            }
        }
    }

    fn load_width(&mut self, width: Width, address: Value, stack: bool) -> Value {
        match width {
            Width::Word => self.load(address, Size::Word, stack),
            Width::Half => self.load(address, Size::Half, stack),
            Width::Byte => self.load(address, Size::Byte, stack),
            Width::SignedHalf => {
                let value = self.load(address, Size::Half, stack);
                self.sign_extend(value, Size::Half)
            }
            Width::SignedByte => {
                let value = self.load(address, Size::Byte, stack);
                self.sign_extend(value, Size::Byte)
            }
        }
    }

    fn store_width(&mut self, width: Width, address: Value, value: Value) {
        let size = match width {
            Width::Word => Size::Word,
            Width::Half | Width::SignedHalf => Size::Half,
            Width::Byte | Width::SignedByte => Size::Byte,
        };
        self.store(address, size, value);
    }

    fn with_register_offset(&mut self, n: Reg, m: Reg, by: u8) -> Value {
        let (base, offset) = (self.get(n), self.get(m));
        let offset = self.b.ins().ishl_imm_u(offset, i64::from(by & 31));
        self.b.ins().iadd(base, offset)
    }

    pub(super) fn transfer_wide(&mut self, insn: Insn) {
        use Insn::*;
        match insn {
            Load { width, t, n, index, imm } => {
                let (address, base) = self.indexed_address(n, index, imm);
                let value = self.load_width(width, address, n == 13);
                self.write_back(n, base);
                self.set_any(t, value);
            }
            LoadReg { width, t, n, m, by } => {
                let address = self.with_register_offset(n, m, by);
                let value = self.load_width(width, address, false);
                self.set_any(t, value);
            }
            LoadAt { width, t, address } => {
                let address = self.constant(address);
                let value = self.load_width(width, address, false);
                self.set_any(t, value);
            }
            Store { width, t, n, index, imm } => {
                let (address, base) = self.indexed_address(n, index, imm);
                let value = self.get(t);
                self.store_width(width, address, value);
                self.write_back(n, base);
            }
            StoreReg { width, t, n, m, by } => {
                let (address, value) = (self.with_register_offset(n, m, by), self.get(t));
                self.store_width(width, address, value);
            }
            LoadDual { t, t2, n, index, imm } => {
                let (address, base) = self.indexed_address(n, index, imm);
                self.load_two(address, t, t2, n == 13);
                self.write_back(n, base);
            }
            LoadDualAt { t, t2, address } => {
                let address = self.constant(address);
                self.load_two(address, t, t2, false);
            }
            StoreDual { t, t2, n, index, imm } => {
                let (address, base) = self.indexed_address(n, index, imm);
                let values = [self.get(t), self.get(t2)];
                let at = self.writable(address, Span::words(2));
                self.store_word(at, 0, values[0]);
                self.store_word(at, 1, values[1]);
                self.write_back(n, base);
            }
            LoadMultiple { direction, writeback, n, list } => {
                let (start, base) = self.span(n, direction, list.count_ones());
                self.load_list(start, list, n == 13);
                self.write_back(n, writeback.then_some(base));
            }
            StoreMultiple { direction, writeback, n, list } => {
                let (start, base) = self.span(n, direction, list.count_ones());
                self.store_multiple(start, list);
                self.write_back(n, writeback.then_some(base));
            }
            _ => unreachable!("{insn:?} is not compiled"),
        }
    }

    fn load_two(&mut self, address: Value, t: Reg, t2: Reg, stack: bool) {
        let at = self.readable(address, Span::words(2), stack);
        let values = [self.load_word(at, 0), self.load_word(at, 1)];
        self.set_any(t, values[0]);
        self.set_any(t2, values[1]);
    }

    /// Jumps whose target comes from memory: returns the target.
    pub(super) fn loaded_target(&mut self, insn: Insn, next: u32) -> Value {
        use Insn::*;
        match insn {
            TableBranch { n, m, half } => {
                let base = if n == NO_REG { self.constant(next) } else { self.get(n) };
                let index = self.get(m);
                let index = if half { self.b.ins().ishl_imm_u(index, 1) } else { index };
                let address = self.b.ins().iadd(base, index);
                let size = if half { Size::Half } else { Size::Byte };
                let entry = self.load(address, size, false);
                let offset = self.b.ins().ishl_imm_u(entry, 1);
                let next = self.constant(next | 1);
                self.b.ins().iadd(next, offset)
            }
            LoadPc { n, index, imm } => {
                let (address, base) = self.indexed_address(n, index, imm);
                let target = self.load(address, Size::Word, n == 13);
                self.check_ordinary(target);
                self.write_back(n, base);
                target
            }
            LoadPcReg { n, m, by } => {
                let address = self.with_register_offset(n, m, by);
                self.load(address, Size::Word, false)
            }
            LoadPcAt { address } => {
                let address = self.constant(address);
                self.load(address, Size::Word, false)
            }
            LoadMultiplePc { direction, writeback, n, list } => {
                let others = list.count_ones();
                let (start, base) = self.span(n, direction, others + 1);
                let at = self.readable(start, Span::words(others + 1), n == 13);
                let target = self.load_word(at, others);
                self.check_ordinary(target);
                self.load_words(at, list);
                self.write_back(n, writeback.then_some(base));
                target
            }
            _ => unreachable!("{insn:?} loads no target"),
        }
    }
}
