//! Places instructions at addresses: labels, branches to them, and literal pools.
//!
//! A one-pass assembler for generated code. It knows addresses and reach, not the purpose of the
//! code.

use crate::insn::{Cond, Insn, Reg};

/// A place in the code, bound now or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// An entry of a literal pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A constant.
    Word(u32),
    /// The address of a label.
    Address(Label),
    /// The address of a label with the Thumb bit set, for BX, BLX and POP {pc}.
    Thumb(Label),
    /// A label's address minus the PC that an instruction at the second label reads, for
    /// `add pc, rN`.
    Distance(Label, Label),
}

#[derive(Clone, Copy)]
enum Branch {
    Always,
    If(Cond),
    Link,
    WideAlways,
    WideIf(Cond),
    Zero(Reg),
    NotZero(Reg),
}

/// Maximum distance of a literal load before its pool: 1020 bytes, less room for the code a caller
/// emits between two checks.
const POOL_REACH_BYTES: u32 = 600;

/// Assembles one contiguous piece of code.
#[derive(Clone)]
pub struct Assembler {
    origin: u32,
    code: Vec<u16>,
    listing: Vec<(u32, Insn)>,
    labels: Vec<Option<u32>>,
    branches: Vec<(u32, Branch, Label)>,
    literals: Vec<(u32, Reg, Value)>,
    placed: Vec<(u32, Value)>,
}

impl Assembler {
    /// Starts at an address, which must be word-aligned.
    pub fn new(origin: u32) -> Self {
        assert!(origin.is_multiple_of(4), "code starts at a word");
        Self {
            origin,
            code: Vec::new(),
            listing: Vec::new(),
            labels: Vec::new(),
            branches: Vec::new(),
            literals: Vec::new(),
            placed: Vec::new(),
        }
    }

    /// The address of the next instruction.
    pub fn here(&self) -> u32 {
        self.origin + 2 * self.code.len() as u32
    }

    /// Appends an instruction.
    pub fn emit(&mut self, insn: Insn) {
        self.listing.push((self.here(), insn));
        self.code.extend(insn.encode());
    }

    /// A label to be bound later.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Binds the label to the current address.
    pub fn bind(&mut self, label: Label) {
        let here = self.here();
        let earlier = self.labels[label.0].replace(here);
        assert!(earlier.is_none(), "a label has one place");
    }

    /// A label bound to the current address.
    pub fn label_here(&mut self) -> Label {
        let label = self.label();
        self.bind(label);
        label
    }

    /// The address of a bound label.
    pub fn address_of(&self, label: Label) -> Option<u32> {
        self.labels[label.0]
    }

    /// B to a label.
    pub fn b(&mut self, to: Label) {
        self.branch(Branch::Always, to);
    }

    /// Conditional branch to a label.
    pub fn b_cond(&mut self, cond: Cond, to: Label) {
        self.branch(Branch::If(cond), to);
    }

    /// BL to a label.
    pub fn bl(&mut self, to: Label) {
        self.branch(Branch::Link, to);
    }

    /// B.W to a label.
    pub fn b_wide(&mut self, to: Label) {
        self.branch(Branch::WideAlways, to);
    }

    /// Conditional B.W to a label.
    pub fn b_cond_wide(&mut self, cond: Cond, to: Label) {
        self.branch(Branch::WideIf(cond), to);
    }

    /// CBZ or CBNZ to a label, at most 126 bytes ahead.
    pub fn cbz(&mut self, nonzero: bool, rn: Reg, to: Label) {
        let kind = if nonzero { Branch::NotZero(rn) } else { Branch::Zero(rn) };
        self.branch(kind, to);
    }

    /// BL to an address outside this piece of code.
    pub fn bl_to(&mut self, address: u32) {
        let offset = address.wrapping_sub(self.here() + 4) as i32;
        self.emit(Insn::Bl { offset });
    }

    fn branch(&mut self, kind: Branch, to: Label) {
        self.branches.push((self.here(), kind, to));
        self.emit(kind.at_offset(0));
    }

    /// Loads a value through a literal pool.
    pub fn load(&mut self, rt: Reg, value: Value) {
        self.literals.push((self.here(), rt, value));
        self.emit(Insn::LdrLiteral { rt, words: 0 });
    }

    /// Whether the pool should be placed soon to stay within reach.
    pub fn pool_due(&self) -> bool {
        self.literals.first().is_some_and(|(at, ..)| self.here() - at > POOL_REACH_BYTES)
    }

    /// Places the pending literals here, after a branch around them.
    pub fn pool_behind_branch(&mut self) {
        if self.literals.is_empty() {
            return;
        }
        let over = self.label();
        self.b(over);
        self.pool();
        self.bind(over);
    }

    /// Places the pending literals here; the code before must not fall through.
    pub fn pool(&mut self) {
        if !self.here().is_multiple_of(4) {
            self.code.push(0);
        }
        for (at, rt, value) in std::mem::take(&mut self.literals) {
            let words = (self.here() - ((at + 4) & !3)) / 4;
            let words = u8::try_from(words).expect("the pool is within reach of its loads");
            self.patch(at, Insn::LdrLiteral { rt, words });
            self.placed.push((self.here(), value));
            self.code.extend([0, 0]);
        }
    }

    /// Places a table of halfwords.
    pub fn data(&mut self, halfwords: &[u16]) {
        self.code.extend(halfwords);
    }

    fn patch(&mut self, at: u32, insn: Insn) {
        let index = ((at - self.origin) / 2) as usize;
        let code = insn.encode();
        self.code[index..index + code.len()].copy_from_slice(&code);
        let line = self.listing.binary_search_by_key(&at, |(at, _)| *at);
        self.listing[line.expect("only emitted instructions are patched")].1 = insn;
    }

    /// Resolves all labels: returns the machine code and each instruction with its address.
    ///
    /// # Panics
    /// If a label was never bound or a branch does not reach.
    pub fn finish(mut self) -> (Vec<u8>, Vec<(u32, Insn)>) {
        self.pool();
        let labels = std::mem::take(&mut self.labels);
        let place = |label: Label| labels[label.0].expect("every label is bound");
        for (at, kind, to) in std::mem::take(&mut self.branches) {
            let offset = place(to).wrapping_sub(at + 4) as i32;
            self.patch(at, kind.at_offset(offset));
        }
        for (at, value) in std::mem::take(&mut self.placed) {
            let word = match value {
                Value::Word(word) => word,
                Value::Address(label) => place(label),
                Value::Thumb(label) => place(label) | 1,
                Value::Distance(to, from) => place(to).wrapping_sub(place(from) + 4),
            };
            let index = ((at - self.origin) / 2) as usize;
            self.code[index] = word as u16;
            self.code[index + 1] = (word >> 16) as u16;
        }
        (self.code.iter().flat_map(|h| h.to_le_bytes()).collect(), self.listing)
    }
}

impl Branch {
    fn at_offset(self, offset: i32) -> Insn {
        match self {
            Branch::Always => Insn::B { offset },
            Branch::If(cond) => Insn::BCond { cond, offset },
            Branch::Link => Insn::Bl { offset },
            Branch::WideAlways => Insn::BWide { offset },
            Branch::WideIf(cond) => Insn::BCondWide { cond, offset },
            Branch::Zero(rn) => Insn::Cbz { nonzero: false, rn, offset },
            Branch::NotZero(rn) => Insn::Cbz { nonzero: true, rn, offset },
        }
    }
}
