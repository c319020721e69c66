//! What programs for Cortex-M agree on: AAPCS (IHI 0042) and the memory map of ARMv7-M (DDI 0403,
//! B3.1).

use crate::machine::{Conventions, Space};

/// Of all Cortex-M cores.
pub static CONVENTIONS: Conventions = Conventions {
    name: "Arm",
    stack_pointer: 13,
    // Compilers of other languages take R7 or R11 for the frame pointer.
    frame_registers: &[13, 7, 11],
    arguments: 0..=3,
    results: 0..=1,
    short_results: 0..=1,
    clobbered: &[0..=3, 12..=12, 14..=14],
    pushes_return_address: false,
    data_space: 0,
    data_mask: u32::MAX,
    pointer_bytes: 4,
    memory: 0..0x4000_0000,
    spaces: &[(0x2000_0000..0x4000_0000, Space::Ram)],
    elsewhere: Space::Flash,
    below_ram: None,
    handlers_nest: true,
    vectors_are_jumps: false,
    asks_debugger: true,
    has_fuses: false,
    has_stale_sizes: false,
    stack_is_followed: false,
    lockup: "lockup: a fault inside the HardFault or NMI handler",
};
