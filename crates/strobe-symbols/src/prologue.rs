//! The frame of a function without unwind information, from its own instructions.
//!
//! Assembly of C libraries often has neither call frame information nor exception index tables.
//! What such a function has on the stack is what it has pushed up to where it is: instructions are
//! looked at one after another, and behind a return the frame is what it was before it was taken
//! down.

use strobe_isa::thumb::insn::{Insn, Reg};
use strobe_isa::thumb::op::DataOp;
use strobe_isa::thumb::registers::{LR, SP};
use strobe_isa::thumb::{Access, Address, Flow};

use crate::firmware::Firmware;

/// Bytes of code that are looked at.
const LONGEST: u32 = 4096;
/// CONTROL, as MSR numbers it (ARMv7-M manual, B5.2.3).
const CONTROL: u8 = 20;

/// What a function has on the stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Bytes.
    pub(crate) depth: u32,
    /// Registers that have been pushed, each with its place: so many bytes below the caller's
    /// stack pointer.
    pub(crate) saved: Vec<(usize, u32)>,
    /// The register that calls preserve into which LR has been copied: handlers in assembly keep
    /// EXC_RETURN so while they call.
    pub(crate) link: Option<usize>,
}

/// The frame of the function from its first instruction up to the one at `pc`; `None` if it moves
/// its stack pointer in another way.
pub(crate) fn frame(firmware: &Firmware, start: u32, pc: u32) -> Option<Frame> {
    if pc.checked_sub(start)? > LONGEST {
        return None;
    }
    let (mut frame, mut body) = (Frame::default(), Frame::default());
    let mut at = start;
    while at < pc {
        let code = firmware.thumb_at(at)?;
        if leaves(code.insn.flow()) {
            frame = body.clone();
        } else if frame.follow(code.insn)? {
            body = frame.clone();
        }
        body.link = frame.link;
        at = at.wrapping_add(code.size);
    }
    Some(frame)
}

/// Whether control does not go on behind an instruction.
fn leaves(flow: Flow) -> bool {
    match flow {
        Flow::Jump(_) | Flow::JumpRegister(_) | Flow::JumpSum { .. } => true,
        Flow::Table { .. } | Flow::Load => true,
        Flow::Next | Flow::Branch(_) | Flow::Call(_) | Flow::CallRegister(_) | Flow::Stop => false,
    }
}

/// Whether a function selects its stack (MSR CONTROL) before a place in it.
pub(crate) fn switches_stack(firmware: &Firmware, start: u32, pc: u32) -> bool {
    let end = pc.min(start.saturating_add(LONGEST)).saturating_sub(3);
    let sets_control = |at| {
        let insn = firmware.thumb_at(at).map(|code| code.insn);
        matches!(insn, Some(Insn::Msr { sysm: CONTROL, .. }))
    };
    (start..end).step_by(2).any(sets_control)
}

/// Where the call before a return address goes, if there is one (ARMv7-M manual, A7.7.18 and
/// A7.7.19).
pub(crate) fn call_before(firmware: &Firmware, back: u32) -> Option<Flow> {
    let call = |bytes: u32| {
        let code = firmware.thumb_at(back.wrapping_sub(bytes)).filter(|code| code.size == bytes)?;
        let flow = code.insn.flow();
        matches!(flow, Flow::Call(_) | Flow::CallRegister(_)).then_some(flow)
    };
    call(4).or_else(|| call(2))
}

impl Frame {
    /// Follows an instruction, and whether the frame has grown by it; `None` for what moves the
    /// stack pointer in a way that is not followed.
    fn follow(&mut self, insn: Insn) -> Option<bool> {
        match insn {
            Insn::AdjustSp { imm } => return self.moves(imm.into()),
            Insn::DataImm { op, d: SP, n: SP, value } => match op {
                DataOp::Add => return self.moves(value.into()),
                DataOp::Sub => return self.moves(-i64::from(value)),
                _ => {}
            },
            Insn::MovHi { d: d @ 4..=11, m: LR } => {
                self.link = Some(d.into());
                return Some(false);
            }
            _ => {}
        }
        match insn.access() {
            Some(Access {
                is_store,
                address: Address::Offset { base: SP, offset },
                transfers,
                writeback: Some((SP, by)),
                ..
            }) => {
                if is_store {
                    transfers.places().for_each(|(r, place)| self.save(r, offset, place));
                }
                self.moves(by.into())
            }
            _ => (!insn.writes().contains(SP)).then_some(false),
        }
    }

    /// A register is stored at an offset from the stack pointer; the first of several counts, which
    /// is what the caller had in it.
    fn save(&mut self, register: Reg, offset: i32, place: u32) {
        let below = i64::from(self.depth) - i64::from(offset) - i64::from(place);
        let register = usize::from(register);
        let is_known = self.saved.iter().any(|(known, _)| *known == register);
        if let (Ok(below), false) = (u32::try_from(below), is_known) {
            self.saved.push((register, below));
        }
    }

    /// The stack pointer moves up, which frees what is below it, or down.
    fn moves(&mut self, by: i64) -> Option<bool> {
        self.depth = u32::try_from(i64::from(self.depth) - by).ok()?;
        let depth = self.depth;
        if by > 0 {
            self.saved.retain(|(_, below)| *below <= depth);
        }
        Some(by < 0)
    }
}
