//! Peripheral and component identification, at the end of every 4 KiB block (DDI 0479, DDI 0183).

use serde::Deserialize;

/// Bytes 0xfd0 to 0xffc: PID4 to PID7, PID0 to PID3, CID0 to CID3, one per word.
const FIRST: u32 = 0xfd0;

/// How a block identifies itself. Board files give it where it is not the usual one.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(transparent)]
pub(super) struct Identity([u8; 12]);

impl Identity {
    /// A block of the CMSDK with that part number's low byte.
    pub(super) const fn cmsdk(part: u8) -> Self {
        Identity([4, 0, 0, 0, part, 0xb8, 0x1b, 0, 0x0d, 0xf0, 0x05, 0xb1])
    }

    /// The register at an offset in the block, if it is one of these.
    pub(super) fn register(self, offset: u32) -> Option<u32> {
        let at = (offset & !3).checked_sub(FIRST)? / 4;
        self.0.get(at as usize).map(|&byte| byte.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DDI 0479, table 4-4: the UART is part 0x821, designer 0x3b, revision 1.
    #[test]
    fn the_cmsdk_uart() {
        let uart = Identity::cmsdk(0x21);
        let byte = |offset| uart.register(offset).unwrap();
        assert_eq!((byte(0xfe0) | byte(0xfe4) << 8) & 0xfff, 0x821);
        assert_eq!((byte(0xff0), byte(0xffc)), (0x0d, 0xb1));
        assert_eq!(uart.register(0xfcc), None);
    }
}
