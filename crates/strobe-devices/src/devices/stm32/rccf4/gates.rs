//! The registers that enable, reset and, in sleep, stop the peripherals: five words of each, one
//! per bus.

/// What a word of these registers does to its peripherals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// AHB1RSTR to APB2RSTR: a set bit resets.
    Reset,
    /// AHB1ENR to APB2ENR: a set bit lets the clock through.
    Enable,
    /// AHB1LPENR to APB2LPENR: whether it goes on in sleep. Kept, without effect: sleeping cores
    /// do not decide over what they left running.
    LowPower,
}

/// All words of one role, in the order AHB1, AHB2, AHB3, APB1, APB2.
pub(super) type Words = [u32; 5];

/// Reset values of the enable registers: CCMDATARAMEN.
pub(super) const ENABLE_RESET: Words = [0x0010_0000, 0, 0, 0, 0];
/// Reset values of the low-power enable registers: everything.
pub(super) const LOW_POWER_RESET: Words =
    [0x7e67_91ff, 0x0000_00f1, 0x0000_0001, 0x36fe_c9ff, 0x0007_5f33];

/// Offsets of the five words from the first of their role; one place is left free.
const OFFSETS: [u32; 5] = [0x00, 0x04, 0x08, 0x10, 0x14];

/// Which word an offset in the clock controller is.
pub(super) fn locate(offset: u32) -> Option<(Role, usize)> {
    let roles = [(0x10, Role::Reset), (0x30, Role::Enable), (0x50, Role::LowPower)];
    roles.into_iter().find_map(|(base, role)| {
        let at = OFFSETS.iter().position(|&o| base + o == offset)?;
        Some((role, at))
    })
}

/// The offset of an enable word.
pub(super) fn enable_offset(word: usize) -> u32 {
    0x30 + OFFSETS[word]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RM0090 7.3.24, the register map.
    #[test]
    fn words_are_where_the_map_says() {
        assert_eq!(locate(0x10), Some((Role::Reset, 0)));
        assert_eq!(locate(0x24), Some((Role::Reset, 4)));
        assert_eq!(locate(0x38), Some((Role::Enable, 2)));
        assert_eq!(locate(0x40), Some((Role::Enable, 3)));
        assert_eq!(locate(0x64), Some((Role::LowPower, 4)));
        assert_eq!((locate(0x1c), locate(0x3c), locate(0x0c)), (None, None, None));
        assert_eq!(enable_offset(4), 0x44);
    }
}
