//! The memory that a turn depends on.

use super::record::{MemoryAccess, Place, Recording};
use crate::kernel::device::Size;

/// Pieces of memory that a turn may read and write: each is looked for among all.
const MAX_CELLS: usize = 48;

/// Memory that a turn reads before it writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Input {
    pub(super) address: u32,
    pub(super) size: Size,
    /// What it held when the turn began.
    pub(super) first: u32,
    /// What a turn adds to it.
    pub(super) step: i64,
}

/// Whether two pieces of memory have bytes in common.
pub(super) fn overlap((a, a_size): (u32, Size), (b, b_size): (u32, Size)) -> bool {
    a.wrapping_sub(b) < b_size.bytes() || b.wrapping_sub(a) < a_size.bytes()
}

/// Bits of an access.
pub(super) fn bits(size: Size) -> u32 {
    8 * size.bytes()
}

/// The memory that a turn reads before it writes it; `now` reads it at the turn's end.
pub(super) fn inputs(
    turn: &Recording,
    now: impl Fn(u32, Size) -> Option<u32>,
) -> Option<Vec<Input>> {
    let mut inputs: Vec<Input> = Vec::new();
    let mut written: Vec<(u32, Size)> = Vec::new();
    for access in turn.accesses.iter().filter(|access| access.place == Place::Ram) {
        let here = (access.address, access.size);
        if access.write {
            if !written.contains(&here) {
                written.push(here);
            }
        } else {
            for part in unwritten(here, &written) {
                add_input(&mut inputs, part, access, &now)?;
            }
        }
        if inputs.len() + written.len() > MAX_CELLS {
            return None;
        }
    }
    Some(inputs)
}

/// The parts of a piece of memory that lie beside those that were written: all of it, or bytes.
fn unwritten(here: (u32, Size), written: &[(u32, Size)]) -> Vec<(u32, Size)> {
    let is_written = |part| written.iter().any(|&other| overlap(part, other));
    if !is_written(here) {
        return vec![here];
    }
    let bytes = (0..here.1.bytes()).map(|at| (here.0.wrapping_add(at), Size::Byte));
    bytes.filter(|&byte| !is_written(byte)).collect()
}

/// Adds a part of what an access has read, if it is not known yet.
fn add_input(
    inputs: &mut Vec<Input>,
    (address, size): (u32, Size),
    access: &MemoryAccess,
    now: impl Fn(u32, Size) -> Option<u32>,
) -> Option<()> {
    if inputs.iter().any(|input| (input.address, input.size) == (address, size)) {
        return Some(());
    }
    let first = access.value >> (8 * address.wrapping_sub(access.address)) & size.mask();
    let spare = 32 - bits(size);
    let change = now(address, size)?.wrapping_sub(first);
    let step = i64::from((change << spare) as i32 >> spare);
    inputs.push(Input { address, size, first, step });
    Some(())
}
