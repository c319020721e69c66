//! What Ethernet controllers of all makers share: the transceiver, their end of the cable, and IEEE
//! 802.3's frame.

use strobe_sim::kernel::device::ethernet::Backend;

pub(in crate::devices) mod phy;

/// A frame without its check sequence has at least this many bytes; shorter ones are padded.
pub(in crate::devices) const SHORTEST: usize = 60;
/// Check sequence, preamble and gap, in bytes on the wire.
pub(in crate::devices) const OVERHEAD: u64 = 4 + 8 + 12;
/// Clocks of a management frame: preamble of 32 and 32 bits.
pub(in crate::devices) const MANAGEMENT_CLOCKS: u64 = 64;

/// A controller's end of the cable.
#[derive(Debug, Default)]
pub(in crate::devices) struct Cable {
    backend: Backend,
    /// On their way to the host, which takes them more often than the wire could fill memory.
    sent: Vec<Vec<u8>>,
}

impl Cable {
    pub(in crate::devices) fn new(backend: Backend) -> Self {
        Cable { backend, sent: Vec::new() }
    }

    pub(in crate::devices) fn connect(&mut self, backend: Backend) {
        *self = Cable::new(backend);
    }

    /// A frame has gone out, without its check sequence. Returns it if it is back already.
    pub(in crate::devices) fn send(&mut self, frame: Vec<u8>) -> Option<Vec<u8>> {
        match self.backend {
            Backend::None => None,
            Backend::Loopback => Some(frame),
            Backend::Host => {
                self.sent.push(frame);
                None
            }
        }
    }

    /// What the host has not taken yet.
    pub(in crate::devices) fn take(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.sent)
    }
}

/// The frame check sequence (IEEE 802.3 3.2.9), as it follows the frame.
pub(in crate::devices) fn frame_check(frame: &[u8]) -> [u8; 4] {
    let crc = frame.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            crc >> 1 ^ if crc & 1 != 0 { 0xedb8_8320 } else { 0 }
        })
    });
    (!crc).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value that catalogues of CRCs give for "123456789".
    #[test]
    fn the_check_sequence() {
        assert_eq!(frame_check(b"123456789"), 0xcbf4_3926_u32.to_le_bytes());
    }
}
