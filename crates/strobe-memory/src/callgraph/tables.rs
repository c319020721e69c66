//! Tables of jumps: which instructions of the function a `switch` can lead to.
//!
//! A table has no length. It ends where a mapping symbol marks code again, at the first
//! instruction that it leads to, or with the first entry that leads out of the function.

use std::ops::Range;

use strobe_symbols::{CodeKind, Firmware};

/// Entries of one table.
const MOST_ENTRIES: u32 = 4096;

/// A helper of libgcc that a switch is made with where TBB is missing: it jumps by the table behind
/// its call (`config/arm/lib1funcs.S`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Case {
    width: u32,
    is_signed: bool,
}

impl Case {
    /// The helper with that name.
    pub(super) fn named(name: &str) -> Option<Case> {
        let (width, is_signed) = match name.strip_prefix("__gnu_thumb1_case_")? {
            "uqi" => (1, false),
            "sqi" => (1, true),
            "uhi" => (2, false),
            "shi" => (2, true),
            "si" => (4, true),
            _ => return None,
        };
        Some(Case { width, is_signed })
    }

    pub(super) fn targets(self, firmware: &Firmware, behind: u32, range: &Range<u64>) -> Vec<u32> {
        let table = if self.width == 4 { behind.wrapping_add(3) & !3 } else { behind };
        let read = |at: u32| {
            let bytes = firmware.bytes_at(at, self.width as usize)?;
            let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
            let bits = 32 - 8 * self.width;
            let value = if self.is_signed { (value << bits) as i32 >> bits } else { value as i32 };
            // Offsets of words are in bytes, the others in halfwords.
            let scale = if self.width == 4 { 1 } else { 2 };
            Some(table.wrapping_add_signed(value.wrapping_mul(scale)) & !1)
        };
        entries(firmware, table, self.width, range, read)
    }
}

/// The targets of TBB (1) or TBH (2) with the table at an address.
pub(super) fn offsets(firmware: &Firmware, table: u32, width: u32, range: &Range<u64>) -> Vec<u32> {
    Case { width, is_signed: false }.targets(firmware, table, range)
}

/// The targets in a table of addresses.
pub(super) fn words(firmware: &Firmware, table: u32, range: &Range<u64>) -> Vec<u32> {
    entries(firmware, table, 4, range, |at| Some(firmware.word_at(at)? & !1))
}

fn entries(
    firmware: &Firmware,
    table: u32,
    width: u32,
    range: &Range<u64>,
    read: impl Fn(u32) -> Option<u32>,
) -> Vec<u32> {
    let kind = |at: u32| firmware.code_kind(at);
    // Without mapping symbols the table looks like code itself.
    let is_marked = firmware.has_mapping_symbols();
    let mut found = Vec::new();
    let mut first = u32::MAX;
    for entry in 0..MOST_ENTRIES {
        let at = table.wrapping_add(entry * width);
        if at >= first && table < first || is_marked && kind(at) != Some(CodeKind::Data) {
            break;
        }
        let target = read(at).filter(|target| {
            range.contains(&u64::from(*target)) && kind(*target) == Some(CodeKind::Thumb)
        });
        let Some(target) = target else {
            // The last byte of a table of bytes may be there to align what follows.
            if width == 1 && is_marked {
                continue;
            }
            break;
        };
        if target > table {
            first = first.min(target);
        }
        found.push(target);
    }
    found.sort_unstable();
    found.dedup();
    found
}
