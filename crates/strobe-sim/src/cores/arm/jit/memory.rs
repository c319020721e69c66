//! Guest memory from compiled code: every access is checked against the memories first.

use std::ops::Range;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, Endianness, InstBuilder, MemFlagsData, Value, types};

use super::MOST_MEMORIES;
use super::build::Build;
use crate::kernel::device::Size;
use crate::kernel::memory::Memory;

/// Guest memory is little-endian and, on the host, nowhere in particular.
fn guest() -> MemFlagsData {
    MemFlagsData::new().with_notrap().with_endianness(Endianness::Little)
}

/// Where a memory's host address is to be had.
#[derive(Clone, Copy)]
enum Base {
    Value(Value),
    /// Among the frame's further memories.
    Frame(usize),
}

/// An access to be checked.
#[derive(Clone, Copy)]
pub(super) struct Span {
    /// Bytes.
    pub(super) bytes: u32,
    /// Alignment, as a power of two.
    pub(super) align: u8,
}

impl Span {
    fn one(size: Size) -> Self {
        Span { bytes: size.bytes(), align: size.bytes().trailing_zeros() as u8 }
    }

    /// Words one after the other.
    pub(super) fn words(count: u32) -> Self {
        Span { bytes: 4 * count, align: 2 }
    }
}

impl Build<'_> {
    /// A load, zero extended. `stack`: flash is out of the question.
    pub(super) fn load(&mut self, address: Value, size: Size, stack: bool) -> Value {
        let at = self.readable(address, Span::one(size), stack);
        match size {
            Size::Byte => self.b.ins().uload8(types::I32, guest(), at, 0),
            Size::Half => self.b.ins().uload16(types::I32, guest(), at, 0),
            Size::Word => self.b.ins().load(types::I32, guest(), at, 0),
        }
    }

    pub(super) fn store(&mut self, address: Value, size: Size, value: Value) {
        let at = self.writable(address, Span::one(size));
        match size {
            Size::Byte => self.b.ins().istore8(guest(), value, at, 0),
            Size::Half => self.b.ins().istore16(guest(), value, at, 0),
            Size::Word => self.b.ins().store(guest(), value, at, 0),
        };
    }

    /// A word of a span that was checked.
    pub(super) fn load_word(&mut self, at: Value, number: u32) -> Value {
        self.b.ins().load(types::I32, guest(), at, 4 * number as i32)
    }

    /// A word of a span that was checked.
    pub(super) fn store_word(&mut self, at: Value, number: u32, value: Value) {
        self.b.ins().store(guest(), value, at, 4 * number as i32);
    }

    /// A word at a fixed address in RAM.
    pub(super) fn load_ram_at(&mut self, address: u32) -> Value {
        let offset = address.wrapping_sub(self.bus.ram.base);
        self.b.ins().load(types::I32, guest(), self.ram, offset as i32)
    }

    /// Where a span of RAM lies on the host; anything else, and where stores must be looked at,
    /// needs care.
    pub(super) fn writable(&mut self, address: Value, span: Span) -> Value {
        if !self.bus.code.careful_stores.is_empty() {
            self.spare(address, span);
        }
        self.place(address, span, false)
    }

    /// Where a span of RAM or flash lies on the host; anything else needs care. `stack`: flash is
    /// out of the question.
    pub(super) fn readable(&mut self, address: Value, span: Span, stack: bool) -> Value {
        self.place(address, span, !stack && !self.bus.flash_interface.reads_wait)
    }

    /// A span that reaches into RAM from which code was decoded, or which is watched, needs care.
    fn spare(&mut self, address: Value, span: Span) {
        let Range { start, end } = self.bus.code.careful_stores;
        // Its last byte is behind the start, and its first before the end.
        let first = start.wrapping_sub(span.bytes - 1);
        let first = self.constant(first);
        let offset = self.b.ins().isub(address, first);
        let length = end.wrapping_sub(start).saturating_add(span.bytes - 1);
        let apart = IntCC::UnsignedGreaterThanOrEqual;
        let apart = self.b.ins().icmp_imm_u(apart, offset, i64::from(length));
        self.or_miss(apart);
    }

    /// Tries one memory after the other: RAM, flash if asked for, further RAM.
    fn place(&mut self, address: Value, span: Span, flash: bool) -> Value {
        let mut memories = vec![(&self.bus.ram, Base::Value(self.ram))];
        if flash {
            memories.push((&self.bus.flash, Base::Value(self.flash)));
        }
        let more = self.bus.more_ram().take_while(|&(at, _)| at < MOST_MEMORIES);
        memories.extend(more.map(|(at, memory)| (memory, Base::Frame(at))));
        let known = self.known(address);
        let known = known.and_then(|address| self.known_place(address, span, &memories));
        if let Some(place) = known {
            self.note_first_wait(address);
            return place;
        }
        if !self.reaches_further {
            memories.truncate(1 + usize::from(flash));
        }
        self.store_many();
        let found = self.b.create_block();
        let at = self.b.append_block_param(found, types::I64);
        let last = memories.len() - 1;
        for (number, (memory, base)) in memories.into_iter().enumerate() {
            let (fits, offset, short) = self.offset(address, span, memory);
            let base = self.base(base);
            let place = self.b.ins().iadd(base, offset);
            let to = [BlockArg::Value(place)];
            if self.waits_at(memory) {
                let [here, other] = [self.b.create_block(), self.b.create_block()];
                self.b.ins().brif(fits, here, &[], other, &[]);
                self.b.switch_to_block(here);
                self.read_flash(address, short, span.bytes);
                self.b.ins().jump(found, &to);
                self.b.switch_to_block(other);
            } else if number == last {
                self.go_to_or_miss(fits, found, &to);
                break;
            } else {
                let other = self.b.create_block();
                self.b.ins().brif(fits, found, &to, other, &[]);
                self.b.switch_to_block(other);
            }
            if number == last {
                self.miss();
            }
        }
        self.b.switch_to_block(found);
        self.note_first_wait(address);
        at
    }

    /// Where a span at a known address lies, if that takes no look at run time.
    fn known_place(
        &mut self,
        address: u32,
        span: Span,
        memories: &[(&Memory, Base)],
    ) -> Option<Value> {
        let fits = |memory: &Memory| {
            let offset = u64::from(address.wrapping_sub(memory.base));
            offset + u64::from(span.bytes) <= memory.data.len() as u64
        };
        if address & ((1 << span.align) - 1) != 0 {
            return None;
        }
        let &(memory, base) = memories.iter().find(|(memory, _)| fits(memory))?;
        if self.waits_at(memory) {
            return None;
        }
        let base = self.base(base);
        let offset = address.wrapping_sub(memory.base);
        Some(self.b.ins().iadd_imm_s(base, i64::from(offset)))
    }

    /// Whether reading a memory may wait for a line.
    fn waits_at(&self, memory: &Memory) -> bool {
        let is_flash = std::ptr::eq(memory, &raw const self.bus.flash);
        is_flash && self.bus.flash_interface.accelerator.is_on()
    }

    fn base(&mut self, base: Base) -> Value {
        match base {
            Base::Value(value) => value,
            Base::Frame(at) => self.further_memory(at),
        }
    }

    /// Whether an aligned span lies in a memory, and the offset of its start there, in 64 and in 32
    /// bits.
    fn offset(&mut self, address: Value, span: Span, memory: &Memory) -> (Value, Value, Value) {
        let offset = match memory.base {
            0 => address,
            base => {
                let base = self.constant(base);
                self.b.ins().isub(address, base)
            }
        };
        // Rotated right, an unaligned offset is greater than any length: one comparison checks
        // both.
        let key = match span.align {
            0 => offset,
            align => self.b.ins().rotr_imm_u(offset, i64::from(align)),
        };
        let spans = (memory.data.len() as u64 + (1 << span.align))
            .saturating_sub(u64::from(span.bytes).max(1))
            >> span.align;
        let limit = self.b.ins().iconst(types::I32, spans as u32 as i64);
        let fits = self.b.ins().icmp(IntCC::UnsignedLessThan, key, limit);
        let wide = self.b.ins().uextend(types::I64, offset);
        (fits, wide, offset)
    }
}
