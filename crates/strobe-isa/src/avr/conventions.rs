//! What programs for AVR agree on: avr-gcc's ABI and the address spaces of avr-libc ("Memory
//! sections").

use crate::machine::{Conventions, Space};

/// Of all AVR cores. The stack pointer is number 32, as in DWARF.
pub static CONVENTIONS: Conventions = Conventions {
    name: "AVR",
    stack_pointer: 32,
    frame_registers: &[32, 28],
    arguments: 8..=25,
    results: 18..=25,
    short_results: 22..=25,
    clobbered: &[0..=0, 18..=27, 30..=31],
    pushes_return_address: true,
    data_space: 0x80_0000,
    data_mask: 0xffff,
    pointer_bytes: 2,
    // On larger chips memory begins at 0x200, and some devices are taken for memory.
    memory: 0x100..0x1_0000,
    spaces: &[
        (0..0x80_0000, Space::Flash),
        (0x80_0000..0x81_0000, Space::Ram),
        (0x81_0000..0x90_0000, Space::Other),
    ],
    elsewhere: Space::Other,
    below_ram: Some("the registers of peripherals and the core's own"),
    handlers_nest: false,
    vectors_are_jumps: true,
    asks_debugger: false,
    has_fuses: true,
    has_stale_sizes: true,
    stack_is_followed: true,
    lockup: "an opcode that is no instruction of this core",
};
