//! Whether the turns behind a recorded one do the same, by induction.
//!
//! Assumed is that each register and each piece of memory that the turn reads before it writes it
//! changes by the same step with each turn; the recorded turn shows by which. Under that assumption
//! every instruction is looked at once, for all turns together: it must do the same in each, take
//! the same time and lead to the same place, and at the end the steps must be what was assumed.

use super::form::{Extend, Form, Operand, address_inputs, form, output, writes_back};
use super::inputs::{Input, bits, inputs, overlap};
use super::record::{MemoryAccess, Place, Recording, Registers, Step};
use crate::kernel::device::{Reading, Size};
use crate::kernel::turns::{Flags, Turns, Value};
use strobe_isa::thumb::insn::{Condition, Insn, NO_REG, Reg};

/// Memory as an instruction leaves it.
#[derive(Debug, Clone, Copy)]
struct Cell {
    address: u32,
    size: Size,
    value: Value,
}

/// A value as memory of a size keeps it. A word may wrap, less must not.
fn narrow(value: Value, size: Size) -> Option<Value> {
    if size == Size::Word { Some(value) } else { value.narrow(bits(size), false) }
}

/// A recorded turn and what is assumed of those behind it.
pub(super) struct Proof<'a> {
    turn: &'a Recording,
    begin: Registers,
    end: Registers,
    /// Cycles of the turn.
    cycles: u64,
    inputs: Vec<Input>,
    /// The flags at the beginning are the same in each turn.
    keeps_flags: bool,
}

/// What changes from turn to turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Proved {
    /// Registers that a turn depends on, with their steps.
    pub(super) registers: Vec<(Reg, i64)>,
    /// Memory that it depends on, where that changes.
    pub(super) memory: Vec<Input>,
}

impl<'a> Proof<'a> {
    /// What is to be shown of a turn between two states of the registers. `now` reads memory as it
    /// is at the turn's end. Nothing if the turn uses too much memory.
    pub(super) fn new(
        turn: &'a Recording,
        (begin, end): (Registers, Registers),
        cycles: u64,
        now: impl Fn(u32, Size) -> Option<u32>,
    ) -> Option<Self> {
        let inputs = inputs(turn, now)?;
        Some(Proof { turn, begin, end, cycles, inputs, keeps_flags: false })
    }

    /// Up to which turn, `most` at most, all turns do the same, and what changes with each.
    pub(super) fn search(&mut self, most: u64) -> Option<(u64, Proved)> {
        const LEAST: u64 = 2;
        if most < LEAST {
            return None;
        }
        let least = self.holds(LEAST).or_else(|| {
            self.keeps_flags = true;
            self.holds(LEAST)
        })?;
        if let Some(proved) = self.holds(most) {
            return Some((most, proved));
        }
        let (mut good, mut bad, mut proved) = (LEAST, most, least);
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            match self.holds(middle) {
                Some(found) => (good, proved) = (middle, found),
                None => bad = middle,
            }
        }
        Some((good, proved))
    }

    /// Whether turns 0 to `last` do the same.
    fn holds(&self, last: u64) -> Option<Proved> {
        let mut state = State::new(self, Turns { last });
        for (at, step) in self.turn.steps.iter().enumerate() {
            state.step(step, self.turn.accesses_of(at))?;
        }
        state.conclude()
    }
}

/// Registers, flags and memory in all turns, at one place of the turn.
struct State<'a> {
    proof: &'a Proof<'a>,
    turns: Turns,
    r: [Value; 16],
    /// Registers that were read before they were written, and those that were written.
    live: u16,
    written: u16,
    flags: Flags,
    cells: Vec<Cell>,
}

fn constant_flags(flags: u32) -> Flags {
    let bit = |n: u32| flags >> n & 1 != 0;
    Flags::Constant { n: bit(31), z: bit(30), c: bit(29), v: bit(28) }
}

impl<'a> State<'a> {
    fn new(proof: &'a Proof<'a>, turns: Turns) -> Self {
        let mut r = [Value::constant(0); 16];
        for (value, (begin, end)) in r.iter_mut().zip(proof.begin.r.iter().zip(proof.end.r)) {
            *value = Value::linear(*begin, i64::from(end.wrapping_sub(*begin) as i32), turns);
        }
        let flags = if proof.keeps_flags && proof.begin.flags == proof.end.flags {
            constant_flags(proof.begin.flags)
        } else {
            Flags::Unknown
        };
        State { proof, turns, r, live: 0, written: 0, flags, cells: Vec::new() }
    }

    fn read(&mut self, r: Reg) -> Value {
        if r != NO_REG {
            self.live |= 1 << r & !self.written;
        }
        self.r[usize::from(r & 15)]
    }

    fn write(&mut self, r: Reg, value: Value) {
        if r != NO_REG {
            self.written |= 1 << r;
            self.r[usize::from(r & 15)] = value;
        }
    }

    fn operand(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Register(r) => self.read(r),
            Operand::Shifted(r, by) => self.read(r).shift_left(by.into()),
            Operand::Constant(value) => Value::constant(value),
        }
    }

    /// All registers of a set must be the same in each turn.
    fn need_constants(&mut self, set: u16) -> Option<()> {
        (0..15).filter(|r| set >> r & 1 != 0).all(|r| self.read(r).is_constant()).then_some(())
    }

    /// Whether a condition holds, if it is the same in each turn.
    fn condition(&self, condition: Condition) -> Option<bool> {
        use Condition::*;
        let flags = self.flags;
        match condition {
            Eq => flags.zero(),
            Ne => flags.zero().map(|z| !z),
            Cs => flags.carry(),
            Cc => flags.carry().map(|c| !c),
            Mi => flags.negative(),
            Pl => flags.negative().map(|n| !n),
            Vs => flags.overflow(),
            Vc => flags.overflow().map(|v| !v),
            Hi => both(flags.carry(), flags.zero().map(|z| !z)),
            Ls => both(flags.carry(), flags.zero().map(|z| !z)).map(|hi| !hi),
            Ge => flags.less().map(|less| !less),
            Lt => flags.less(),
            Gt => both(flags.less().map(|less| !less), flags.zero().map(|z| !z)),
            Le => both(flags.less().map(|less| !less), flags.zero().map(|z| !z)).map(|gt| !gt),
        }
    }

    /// One instruction, in all turns; nothing if it may do something else in one of them.
    fn step(&mut self, step: &Step, accesses: &[MemoryAccess]) -> Option<()> {
        if step.it != 0 {
            // AL, in the last place of a block, is no condition.
            if let Some(condition) = Condition::from_bits(u16::from(step.it >> 4)) {
                self.condition(condition)?;
            }
        }
        if !step.executed {
            return Some(());
        }
        let insn = step.insn;
        match form(insn) {
            Form::Add { d, a, b, sets } => {
                let (a, b) = (self.operand(a), self.operand(b));
                self.write(d, a.add(b));
                self.set_flags(sets, Flags::Sum { a, b }, step);
            }
            Form::Sub { d, a, b, sets } => {
                let (a, b) = (self.operand(a), self.operand(b));
                self.write(d, a.sub(b));
                self.set_flags(sets, Flags::Difference { a, b }, step);
            }
            Form::Move { d, a, sets } => {
                let value = self.operand(a);
                self.write(d, value);
                self.set_flags(sets, Flags::Result { value }, step);
            }
            Form::ShiftRight { d, m, by, sets } => {
                let source = self.read(m);
                let value = source.shift_right(by.into())?;
                self.write(d, value);
                if sets && !source.is_constant() {
                    // The bit that was shifted out may change although the quotient does not.
                    self.flags = Flags::Result { value };
                } else {
                    self.set_flags(sets, Flags::Result { value }, step);
                }
            }
            Form::Narrow { d, m, bits, signed } => {
                let value = self.read(m).narrow(bits, signed)?;
                self.write(d, value);
            }
            Form::Branch(condition) => _ = self.condition(condition)?,
            Form::ZeroBranch { n } => {
                let value = self.read(n);
                Flags::Result { value }.zero()?;
            }
            form => self.access_or_other(form, step, accesses)?,
        }
        Some(())
    }

    fn access_or_other(
        &mut self,
        form: Form,
        step: &Step,
        accesses: &[MemoryAccess],
    ) -> Option<()> {
        self.need_constants(address_inputs(step.insn))?;
        match form {
            Form::Load { t, extend } => {
                let [access] = accesses else { return None };
                let value = self.load(access)?;
                let value = match extend {
                    Extend::Sign(bits) => value.narrow(bits, true)?,
                    Extend::None => value,
                };
                self.write_back(step);
                self.write(t, value);
            }
            Form::Store { t } => {
                let [access] = accesses else { return None };
                let value = self.read(t);
                self.store(access, value)?;
                self.write_back(step);
            }
            Form::LoadMany { list } => self.load_many(list, step, accesses)?,
            Form::StoreMany { list } => self.store_many(list, step, accesses)?,
            Form::Other { inputs } => {
                self.need_constants(inputs)?;
                self.settle(step, accesses)?;
                let d = output(step.insn);
                self.write(
                    d,
                    Value::constant(step.after.r.get(usize::from(d)).copied().unwrap_or(0)),
                );
                self.set_flags(sets_result(step.insn), result_flags(step.after.flags), step);
            }
            Form::Any => {
                self.need_constants(0x7fff)?;
                if !matches!(self.flags, Flags::Constant { .. }) {
                    return None;
                }
                self.settle(step, accesses)?;
                (0..15).for_each(|r| self.write(r, Value::constant(step.after.r[usize::from(r)])));
                self.flags = constant_flags(step.after.flags);
            }
            _ => return None,
        }
        Some(())
    }

    /// The flags behind an instruction that sets them.
    fn set_flags(&mut self, sets: bool, flags: Flags, step: &Step) {
        if !sets {
            return;
        }
        let were_constant = matches!(self.flags, Flags::Constant { .. });
        let is_constant = match flags {
            Flags::Difference { a, b } | Flags::Sum { a, b } => a.is_constant() && b.is_constant(),
            // C and V may be what they were before.
            Flags::Result { value } => value.is_constant() && were_constant,
            Flags::Constant { .. } | Flags::Unknown => true,
        };
        self.flags = if is_constant { constant_flags(step.after.flags) } else { flags };
    }

    /// The base register of an access, whose address is the same in each turn.
    fn write_back(&mut self, step: &Step) {
        if let Some(base) = writes_back(step.insn) {
            self.write(base, Value::constant(step.after.r[usize::from(base)]));
        }
    }

    fn load_many(&mut self, list: u16, step: &Step, accesses: &[MemoryAccess]) -> Option<()> {
        let mut sorted: Vec<MemoryAccess> = accesses.to_vec();
        sorted.sort_unstable_by_key(|access| access.address);
        if sorted.len() != list.count_ones() as usize {
            return None;
        }
        let values: Vec<Value> = sorted.iter().map(|a| self.load(a)).collect::<Option<_>>()?;
        self.write_back(step);
        for (r, value) in (0..16).filter(|r| list >> r & 1 != 0).zip(values) {
            if r < 15 {
                self.write(r, value);
            } else if !value.is_constant() {
                return None;
            }
        }
        Some(())
    }

    fn store_many(&mut self, list: u16, step: &Step, accesses: &[MemoryAccess]) -> Option<()> {
        let mut sorted: Vec<MemoryAccess> = accesses.to_vec();
        sorted.sort_unstable_by_key(|access| access.address);
        if sorted.len() != list.count_ones() as usize {
            return None;
        }
        for (r, access) in (0..15).filter(|r| list >> r & 1 != 0).zip(&sorted) {
            let value = self.read(r);
            self.store(access, value)?;
        }
        self.write_back(step);
        Some(())
    }

    /// Accesses of an instruction of which no more is known than that equal inputs lead to equal
    /// outputs.
    fn settle(&mut self, step: &Step, accesses: &[MemoryAccess]) -> Option<()> {
        for access in accesses {
            if access.write {
                self.store(access, Value::constant(access.value))?;
            } else if !self.load(access)?.is_constant() {
                return None;
            }
        }
        self.write_back(step);
        Some(())
    }

    fn load(&mut self, access: &MemoryAccess) -> Option<Value> {
        match access.place {
            Place::Constant | Place::Unmodelled => Some(Value::constant(access.value)),
            Place::Register(reading) => self.reading(access, reading),
            Place::Ram => self.remembered((access.address, access.size), access.value),
        }
    }

    /// A register of a device.
    fn reading(&self, access: &MemoryAccess, reading: Reading) -> Option<Value> {
        match reading {
            Reading::Unknown => None,
            Reading::Steady { .. } => Some(Value::constant(access.value)),
            Reading::Counting { period, down, .. } => {
                let rate = (self.proof.cycles, period);
                narrow(Value::counter(access.value, rate, down, self.turns), access.size)
            }
        }
    }

    /// Memory, of which the recorded turn has read `found`.
    fn remembered(&self, here: (u32, Size), found: u32) -> Option<Value> {
        let mut is_constant = true;
        for cell in self.cells.iter().rev() {
            let there = (cell.address, cell.size);
            if here == there && is_constant {
                return Some(cell.value);
            }
            if overlap(here, there) {
                // A part of it, or more than it: no step is known of that.
                is_constant = false;
                if !cell.value.is_constant() {
                    return None;
                }
            }
        }
        let value = self.input(here);
        match (value, is_constant) {
            (Some(value), true) => Some(value),
            (None, _) | (Some(_), false) => {
                let others = self.proof.inputs.iter();
                let mut others = others.filter(|i| overlap(here, (i.address, i.size)));
                others.all(|input| input.step == 0).then_some(Value::constant(found))
            }
        }
    }

    /// Memory at the turn's beginning.
    fn input(&self, here: (u32, Size)) -> Option<Value> {
        let mut inputs = self.proof.inputs.iter();
        let input = inputs.find(|input| (input.address, input.size) == here)?;
        narrow(Value::linear(input.first, input.step, self.turns), here.1)
    }

    fn store(&mut self, access: &MemoryAccess, value: Value) -> Option<()> {
        let (address, size) = (access.address, access.size);
        let value = narrow(value, size)?;
        self.cells.retain(|cell| (cell.address, cell.size) != (address, size));
        self.cells.push(Cell { address, size, value });
        Some(())
    }

    /// Whether the turn leaves behind what was assumed of its beginning.
    fn conclude(self) -> Option<Proved> {
        let proof = self.proof;
        if proof.keeps_flags && !self.keeps_flags() {
            return None;
        }
        let mut registers = Vec::new();
        for r in (0..15u8).filter(|r| self.live >> r & 1 != 0) {
            let at = usize::from(r);
            let assumed = i64::from(proof.end.r[at].wrapping_sub(proof.begin.r[at]) as i32);
            if self.r[at].step.map(|step| step as i32) != Some(assumed as i32) {
                return None;
            }
            registers.push((r, assumed));
        }
        for input in &proof.inputs {
            let last = input.first.wrapping_add(input.step as u32);
            let spare = 32 - bits(input.size);
            let value = self.remembered((input.address, input.size), last << spare >> spare)?;
            if value.step.map(|step| step as i32) != Some(input.step as i32) {
                return None;
            }
        }
        let memory = proof.inputs.iter().filter(|input| input.step != 0).copied().collect();
        Some(Proved { registers, memory })
    }

    fn keeps_flags(&self) -> bool {
        let flags = self.flags;
        let all = [flags.negative(), flags.zero(), flags.carry(), flags.overflow()];
        self.proof.begin.flags == self.proof.end.flags && all.iter().all(Option::is_some)
    }
}

/// Both hold, or one of them does not, in each turn.
fn both(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// N and Z as a result that is the same in each turn leaves them.
fn result_flags(flags: u32) -> Flags {
    let value = match (flags >> 30 & 1 != 0, flags >> 31 != 0) {
        (true, _) => 0,
        (false, true) => 1 << 31,
        (false, false) => 1,
    };
    Flags::Result { value: Value::constant(value) }
}

/// Whether an instruction of [`Form::Other`] sets N and Z by its result.
fn sets_result(insn: Insn) -> bool {
    use Insn::*;
    match insn {
        MovImm { .. } | And { .. } | Eor { .. } | Orr { .. } | Mul { .. } | Bic { .. } => true,
        Mvn { .. } | Tst { .. } | LslImm { .. } | LsrImm { .. } | AsrImm { .. } => true,
        DataImmS { .. } | DataImmSc { .. } => true,
        DataReg { set, .. } => set,
        _ => false,
    }
}
