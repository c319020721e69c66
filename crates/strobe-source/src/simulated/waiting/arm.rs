//! Thumb instructions by what a loop that waits may do.

use strobe_isa::thumb::op::{DataOp, Extension, Shift};
use strobe_isa::thumb::registers::LR;
use strobe_isa::thumb::{self, Access, Flow, Insn};

use super::step::{Address, Effect, Location, Next, Step};

fn register(number: u8) -> Location {
    Location::Register(number)
}

/// What an instruction does; `None` if no loop that waits does it, or where it leads is not known.
/// `called` is where a call or jump by a register has always led.
pub(super) fn step(
    address: u32,
    (insn, size): (Insn, u32),
    conditional: bool,
    called: Option<u32>,
) -> Option<Step> {
    let end = address.wrapping_add(size);
    let next = next(insn, called)?;
    let mut effects = match insn.access() {
        Some(access) => transfers(access)?,
        None => computes(insn)?,
    };
    if matches!(next, Next::Call(_)) {
        effects.push(Effect::Set(register(LR), end | 1));
    }
    Some(Step { address, end, effects, next, conditional })
}

fn next(insn: Insn, called: Option<u32>) -> Option<Next> {
    Some(match insn.flow() {
        Flow::Next => Next::Behind,
        Flow::Branch(to) => match insn {
            Insn::Cbz { n, .. } => Next::Branch { to, by: register(n), equality: true },
            Insn::BCond { condition, .. } => {
                let equality = matches!(condition, thumb::insn::Condition::Eq)
                    || matches!(condition, thumb::insn::Condition::Ne);
                Next::Branch { to, by: Location::Flags, equality }
            }
            _ => return None,
        },
        Flow::Jump(to) => Next::Jump(to),
        Flow::Call(to) => Next::Call(to & !1),
        Flow::CallRegister(_) => Next::Call(called? & !1),
        Flow::JumpRegister(LR) => Next::Return,
        Flow::JumpRegister(_) => Next::Jump(called? & !1),
        // POP with PC, and LDR of PC from the stack; not a jump by a table.
        Flow::Load => match insn.access()?.address {
            thumb::Address::Offset { base: 13, .. } => Next::Return,
            _ => return None,
        },
        Flow::JumpSum { .. } | Flow::Table { .. } | Flow::Stop => return None,
    })
}

fn transfers(access: Access) -> Option<Vec<Effect>> {
    // Whether STREX stores is for others to decide.
    let is_claim = access.is_exclusive && access.is_store;
    if matches!(access.transfers, thumb::Transfers::Float { .. }) || is_claim {
        return None;
    }
    let mut out = Vec::new();
    for (t, distance) in access.transfers.places() {
        let distance = distance as i32;
        let place = match access.address {
            thumb::Address::Literal(at) => Address::Fixed(at.wrapping_add_signed(distance)),
            thumb::Address::Offset { base, offset } => {
                Address::Base(base, None, offset.wrapping_add(distance))
            }
            thumb::Address::Index { base, index, .. } => {
                Address::Computed(vec![register(base), register(index)])
            }
        };
        match access.is_store {
            true => out.push(Effect::Store(place, register(t))),
            false if t == thumb::registers::PC => {}
            false => out.push(Effect::Load(register(t), place)),
        }
    }
    if let Some((base, by)) = access.writeback {
        out.push(Effect::Move(register(base), register(base), by));
    }
    Some(out)
}

fn computes(insn: Insn) -> Option<Vec<Effect>> {
    use Insn::*;
    if insn.is_fp() || matches!(insn, Svc { .. } | Bkpt { .. } | Undefined | NoCoprocessor) {
        return None;
    }
    let mut out = Vec::new();
    // A comparison is with what the operands are before.
    if insn.sets_flags() {
        let mut read: Vec<Location> = insn.reads().iter().map(register).collect();
        if insn.reads_carry() {
            read.push(Location::Flags);
        }
        out.push(Effect::Test(Location::Flags, read));
    }
    let value = value(insn);
    let is_known = value.is_some();
    out.extend(value);
    if !is_known {
        let read: Vec<Location> = insn.reads().iter().map(register).collect();
        let writes = insn.writes().iter().filter(|written| {
            // The link register is the call's.
            !matches!(insn.flow(), Flow::Call(_) | Flow::CallRegister(_)) || *written != LR
        });
        out.extend(writes.map(|written| Effect::Make(register(written), read.clone())));
    }
    Some(out)
}

/// The result, where it is a constant, a copy, or a sum with a constant.
fn value(insn: Insn) -> Option<Effect> {
    use Insn::*;
    let moves = |d: u8, n: u8, by: i32| Some(Effect::Move(register(d), register(n), by));
    let sum = |d: u8, n: u8, m: u8, minus: bool| {
        Some(Effect::Sum(register(d), register(n), register(m), minus))
    };
    // With itself it is doubled.
    let carry = |d: u8, n: u8, m: u8| {
        (n != m).then(|| Effect::Carry(register(d), register(n), vec![register(m)]))
    };
    match insn {
        AddReg { d, n, m } => sum(d, n, m, false),
        SubReg { d, n, m } => sum(d, n, m, true),
        AddHi { d, m } => sum(d, d, m, false),
        DataReg { op, d, n, m, shift: Shift::Lsl, by: 0, .. } if n != thumb::insn::NO_REG => {
            match op {
                DataOp::Add => sum(d, n, m, false),
                DataOp::Sub => sum(d, n, m, true),
                DataOp::Rsb => sum(d, m, n, true),
                DataOp::Adc | DataOp::Sbc => carry(d, n, m),
                DataOp::Orr => Some(Effect::Test(register(d), vec![register(n), register(m)])),
                _ => None,
            }
        }
        Orr { d, m } => Some(Effect::Test(register(d), vec![register(d), register(m)])),
        MovImm { d, imm } => Some(Effect::Set(register(d), imm.into())),
        MovConst { d, value } => Some(Effect::Set(register(d), value)),
        DataImm { op: DataOp::Mov, d, value, .. }
        | DataImmS { op: DataOp::Mov, d, value, .. }
        | DataImmSc { op: DataOp::Mov, d, value, .. } => Some(Effect::Set(register(d), value)),
        Eor { d, m } if d == m => Some(Effect::Set(register(d), 0)),
        And { d, m } if d == m => moves(d, m, 0),
        MovHi { d, m } | LslImm { d, m, imm: 0 } => moves(d, m, 0),
        DataReg { op: DataOp::Mov, d, m, shift: Shift::Lsl, by: 0, .. } => moves(d, m, 0),
        AddImm { d, n, imm } => moves(d, n, imm.into()),
        SubImm { d, n, imm } => moves(d, n, -i32::from(imm)),
        AddSpImm { d, imm } => moves(d, 13, imm.into()),
        AdjustSp { imm } => moves(13, 13, imm.into()),
        AddConst { d, value } => moves(d, d, value as i32),
        DataImm { op, d, n, value }
        | DataImmS { op, d, n, value }
        | DataImmSc { op, d, n, value } => match op {
            DataOp::Add => moves(d, n, value as i32),
            DataOp::Sub => moves(d, n, (value as i32).wrapping_neg()),
            DataOp::Adc | DataOp::Sbc => Some(Effect::Carry(register(d), register(n), Vec::new())),
            DataOp::And if matches!(value, 0xff | 0xffff) => moves(d, n, 0),
            _ => None,
        },
        // A narrow counter is one all the same.
        Uxtb { d, m } | Uxth { d, m } | Sxtb { d, m } | Sxth { d, m } => moves(d, m, 0),
        Extend { op, d, n: thumb::insn::NO_REG, m, rotate: 0 }
            if !matches!(op, Extension::Sxtb16 | Extension::Uxtb16) =>
        {
            moves(d, m, 0)
        }
        Ubfx { d, n, lsb: 0, width: 8 | 16 } => moves(d, n, 0),
        // A number of several words, counted in its lowest.
        Adc { d, m } | Sbc { d, m } => carry(d, d, m),
        _ => None,
    }
}
