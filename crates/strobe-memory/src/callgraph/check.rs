//! The use of the stack by machine code, compared with the compiler's call frame information.
//!
//! The two are made from different things, so agreement means something. Where they differ, the
//! larger depth counts. They are compared where it matters, at calls and at the deepest place: GCC
//! describes no epilogues of Thumb-1 and AVR functions, so at a function's end the frame
//! information may still have the whole frame.

use strobe_symbols::Firmware;

use super::Function;

/// Where the two differ first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Disagreement {
    /// The instruction.
    pub(crate) at: u32,
    /// Bytes on the stack before it, by machine code.
    pub(crate) code: u32,
    /// By the call frame information.
    pub(crate) frames: u32,
}

pub(super) fn check(firmware: &Firmware, function: &mut Function) {
    let rows = firmware.frame_rows(function.start);
    let Some(first) = rows.first().filter(|row| row.range.start == u64::from(function.start))
    else {
        return;
    };
    let conventions = firmware.machine().conventions();
    let register = u16::from(conventions.stack_pointer);
    let base = if conventions.pushes_return_address { first.offset } else { 0 };
    for row in rows.iter().filter(|row| row.register == register) {
        let Ok(frames) = u32::try_from((row.offset - base).max(0)) else { continue };
        let range = row.range.start as u32..row.range.end.min(u64::from(u32::MAX)) as u32;
        if range.start >= range.end {
            continue;
        }
        if frames > function.deepest {
            let differs = Disagreement { at: range.start, code: function.deepest, frames };
            function.disagreement.get_or_insert(differs);
            (function.deepest, function.deepest_at) = (frames, range.start);
        }
        for ((at, _, is_tail), call) in &mut function.calls {
            if *is_tail || !range.contains(at) || call.depth == frames {
                continue;
            }
            let differs = Disagreement { at: *at, code: call.depth, frames };
            function.disagreement.get_or_insert(differs);
            call.depth = call.depth.max(frames);
        }
    }
}
