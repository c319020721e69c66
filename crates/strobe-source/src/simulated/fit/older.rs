//! Whether code that was built for one core runs on an older one: builds may name the newest core
//! of a line of chips for all of them.

use strobe_isa::thumb::{Architecture, decode};
use strobe_symbols::Firmware;

/// The address of the first instruction that a core with this architecture lacks, although others
/// have it. Data between functions counts as code where nothing marks it.
pub(super) fn first_lacking(firmware: &Firmware, core: Architecture) -> Option<u32> {
    for range in firmware.code_ranges() {
        let mut next = range.start;
        while next + 2 <= range.end {
            let Ok(at) = u32::try_from(next) else { break };
            let Some(first) = firmware.half_at(at) else { break };
            let second = firmware.half_at(at.wrapping_add(2)).unwrap_or(0);
            let (insn, size) = decode(Architecture::V7EM_FP, at, first, second);
            if insn != decode(core, at, first, second).0 {
                return Some(at);
            }
            next += u64::from(size);
        }
    }
    None
}
