//! AVR instructions by what a loop that waits may do.

use strobe_isa::avr::insn::Special;
use strobe_isa::avr::{Access, Flow, Insn, Place};

use super::step::{AVR_STACK, Address, Effect, Location, Next, Step};

/// Bit Z of SREG.
const ZERO: u8 = 1;

fn register(number: u8) -> Location {
    Location::Register(number)
}

/// What an instruction does; `None` if no loop that waits does it, or where it leads is not known.
pub(super) fn step(address: u32, (insn, size): (Insn, u32), called: Option<u32>) -> Option<Step> {
    let end = address.wrapping_add(size);
    let mut effects = match insn.access() {
        Some(access) => transfers(insn, access)?,
        None => computes(insn)?,
    };
    let next = match insn.flow() {
        Flow::Next => Next::Behind,
        Flow::Branch(to) => branch(insn, to, &mut effects)?,
        Flow::Jump(to) => Next::Jump(to),
        Flow::Call(to) => Next::Call(to),
        Flow::CallZ => Next::Call(called?),
        Flow::JumpZ => Next::Jump(called?),
        Flow::Return => Next::Return,
        Flow::Stop => return None,
    };
    Some(Step { address, end, effects, next, conditional: false })
}

/// Branches by flags, and skips by a register or a bit of a device, which they look at first.
fn branch(insn: Insn, to: u32, effects: &mut Vec<Effect>) -> Option<Next> {
    let (by, equality) = match insn {
        Insn::Brbs { s, .. } | Insn::Brbc { s, .. } => (Location::Flags, s == ZERO),
        Insn::Sbrc { r, .. } | Insn::Sbrs { r, .. } => (register(r), false),
        Insn::Cpse { d, r, .. } => {
            effects.push(Effect::Test(Location::Way, vec![register(d), register(r)]));
            (Location::Way, true)
        }
        // What is loaded is nobody's register.
        Insn::Sbic { .. } | Insn::Sbis { .. } => (Location::Way, false),
        _ => return None,
    };
    Some(Next::Branch { to, by, equality })
}

fn transfers(insn: Insn, access: Access) -> Option<Vec<Effect>> {
    let (place, step) = match access.place {
        Place::Data(at) => (Address::Fixed(at.into()), None),
        Place::Pointer { low, offset, step } => {
            (Address::Base(low, Some(low + 1), offset.into()), Some((low, step)))
        }
        Place::Stack => {
            (Address::Base(AVR_STACK, None, if access.loads.is_some() { 1 } else { 0 }), None)
        }
        // Constants.
        Place::Program { step } => {
            (Address::Computed(vec![register(30), register(31)]), Some((30, step)))
        }
    };
    let mut out = Vec::new();
    if let Some(loaded) = access.loads {
        out.push(Effect::Load(register(loaded), place.clone()));
    }
    if let Some(stored) = access.stores {
        out.push(Effect::Store(place.clone(), register(stored)));
    }
    match insn {
        Insn::Sbic { .. } | Insn::Sbis { .. } => out.push(Effect::Load(Location::Way, place)),
        // A bit of a device is set.
        Insn::Sbi { .. } | Insn::Cbi { .. } => return None,
        Insn::Push { .. } => out.push(Effect::Move(register(AVR_STACK), register(AVR_STACK), -1)),
        Insn::Pop { .. } => out.push(Effect::Move(register(AVR_STACK), register(AVR_STACK), 1)),
        _ => {}
    }
    if let Some((low, step)) = step.filter(|(_, step)| *step != 0) {
        out.push(Effect::Move(register(low), register(low), step.into()));
        out.push(Effect::Carry(register(low + 1), register(low + 1), Vec::new()));
    }
    Some(out)
}

fn computes(insn: Insn) -> Option<Vec<Effect>> {
    use Insn::*;
    if matches!(insn, Spm { .. } | Break | Invalid { .. }) {
        return None;
    }
    let mut out = Vec::new();
    let mut read: Vec<Location> = insn.reads().iter().map(register).collect();
    if insn.reads_carry() {
        read.push(Location::Flags);
    }
    if insn.sets_flags() {
        out.push(Effect::Test(Location::Flags, read.clone()));
    }
    let moves = |d: u8, n: u8, by: i32| Effect::Move(register(d), register(n), by);
    let sum = |d: u8, r: u8, minus| Effect::Sum(register(d), register(d), register(r), minus);
    match insn {
        Ldi { d, k } => out.push(Effect::Set(register(d), k.into())),
        // TST.
        And { d, r } if d == r => {}
        // What compilers clear a register by.
        Eor { d, r } if d == r => out.push(Effect::Set(register(d), 0)),
        Mov { d, r } => out.push(moves(d, r, 0)),
        Movw { d, r } => out.extend([moves(d, r, 0), moves(d + 1, r + 1, 0)]),
        Add { d, r } if d != r => out.push(sum(d, r, false)),
        Sub { d, r } if d != r => out.push(sum(d, r, true)),
        Or { d, r } => out.push(Effect::Test(register(d), vec![register(d), register(r)])),
        Inc { d } => out.push(moves(d, d, 1)),
        Dec { d } => out.push(moves(d, d, -1)),
        Subi { d, k } => out.push(moves(d, d, -i32::from(k as i8))),
        Adiw { d, k } => out.extend(pair(d, i32::from(k))),
        Sbiw { d, k } => out.extend(pair(d, -i32::from(k))),
        // A number of several bytes, counted in its lowest.
        Sbci { d, .. } => out.push(Effect::Carry(register(d), register(d), Vec::new())),
        Sbc { d, r } | Adc { d, r } if d != r => {
            out.push(Effect::Carry(register(d), register(d), vec![register(r)]));
        }
        Get { d, from: Special::Spl | Special::Sph } => out.push(moves(d, AVR_STACK, 0)),
        Get { d, from: Special::Sreg } => {
            out.push(Effect::Test(register(d), vec![Location::Flags]))
        }
        Set { to: Special::Spl, r } => out.push(moves(AVR_STACK, r, 0)),
        // The upper half follows the lower one.
        Set { to: Special::Sph, .. } => {}
        Set { .. } | Get { .. } => return None,
        SetSreg { .. } => {}
        _ => out.extend(insn.writes().iter().map(|to| Effect::Make(register(to), read.clone()))),
    }
    Some(out)
}

fn pair(low: u8, by: i32) -> [Effect; 2] {
    let high = register(low + 1);
    [Effect::Move(register(low), register(low), by), Effect::Carry(high.clone(), high, Vec::new())]
}
