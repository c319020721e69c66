//! The interrupt flags of a DMA channel or stream, and the requests that they hide.

/// Flags that the controller sets and firmware clears.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::devices::stm32) struct Flags {
    /// Those that are set, as bits of the channel's or stream's part of the status register.
    pub(in crate::devices::stm32) set: u32,
    /// Times that a flag was set again while it asked for an interrupt.
    lost: u64,
}

impl Flags {
    /// Sets a flag; `enabled` are the flags that ask for an interrupt. One of them that is set
    /// already hides this request.
    pub(in crate::devices::stm32) fn raise(&mut self, flag: u32, enabled: u32) {
        self.lost += u64::from(self.set & enabled & flag != 0);
        self.set |= flag;
    }

    /// How many requests for interrupts were lost since this was asked last.
    pub(in crate::devices::stm32) fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_that_asks_already_hides_the_next_request() {
        let mut flags = Flags::default();
        flags.raise(2, 6);
        flags.raise(4, 6);
        assert_eq!((flags.set, flags.take_lost()), (6, 0));
        flags.raise(2, 6);
        flags.raise(2, 4);
        assert_eq!((flags.set, flags.take_lost()), (6, 1), "the second asks for no interrupt");
        assert_eq!(flags.take_lost(), 0, "it is counted once");
    }
}
