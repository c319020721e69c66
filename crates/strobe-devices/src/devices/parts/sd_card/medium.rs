//! What is on the card and how the card describes itself: blocks, the registers CID and CSD, check
//! sums.

use strobe_sim::kernel::device::MediumError;

/// Bytes of a block, in a read and for the file systems on the card.
pub(super) const BLOCK: usize = 512;
/// Capacity of a card with block addresses comes in these steps (5.3.3), of one with byte addresses
/// it ends at 2 GiB.
const STEP: u64 = 512 << 10;
const MOST_BYTES: u64 = 2 << 30;

pub(super) struct Medium {
    image: Vec<u8>,
    /// What the card reports as its capacity; behind the image's end it is empty.
    blocks: u64,
    high_capacity: bool,
}

impl Medium {
    pub(super) fn new(image: Vec<u8>, high_capacity: bool) -> Result<Self, MediumError> {
        if image.is_empty() {
            return Err(MediumError::Empty);
        }
        let bytes = (image.len() as u64).div_ceil(STEP) * STEP;
        if !high_capacity && bytes > MOST_BYTES {
            return Err(MediumError::BeyondByteAddresses);
        }
        Ok(Self { image, blocks: bytes / BLOCK as u64, high_capacity })
    }

    pub(super) fn is_high_capacity(&self) -> bool {
        self.high_capacity
    }

    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The bytes of a block; zeroes where the image does not reach.
    pub(super) fn block(&self, number: u64) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        let start = usize::try_from(number).ok().and_then(|number| number.checked_mul(BLOCK));
        let there = start.and_then(|start| self.image.get(start..)).unwrap_or_default();
        let bytes = there.len().min(BLOCK);
        block[..bytes].copy_from_slice(&there[..bytes]);
        block
    }

    /// Card identification (5.2): a name for us, serial number 1, made in January 2000.
    pub(super) fn cid(&self) -> [u8; 16] {
        let mut cid = *b"\0SBSTROB\x10\0\0\0\x01\0\x01\0";
        cid[15] = crc7(&cid[..15]) << 1 | 1;
        cid
    }

    /// Card-specific data, version 2.0 (5.3.3) or 1.0 (5.3.2): 25 MHz, blocks of 512 bytes,
    /// write-protected for good.
    pub(super) fn csd(&self) -> [u8; 16] {
        let mut csd = [0; 16];
        // TRAN_SPEED 25 MHz; command classes 0, 2, 4, 5, 7, 8, 10; READ_BL_LEN 512 bytes.
        csd[3..6].copy_from_slice(&[0x32, 0x5b, 0x59]);
        let steps = self.blocks * BLOCK as u64 / STEP;
        if self.high_capacity {
            (csd[0], csd[1]) = (0x40, 0x0e);
            let size = (steps - 1) as u32 & 0x3f_ffff;
            csd[7..10].copy_from_slice(&size.to_be_bytes()[1..]);
        } else {
            // Blocks = (C_SIZE + 1) << (C_SIZE_MULT + 2), with blocks of 1024 bytes from 1 GiB on.
            let (mut units, mut multiplier) = (self.blocks >> 2, 0);
            while units > 4096 && multiplier < 7 {
                (units, multiplier) = (units.div_ceil(2), multiplier + 1);
            }
            if units > 4096 {
                (units, csd[5]) = (units.div_ceil(2), 0x5a);
            }
            let size = (units - 1).min(4095) as u16;
            (csd[1], csd[6]) = (0x26, (size >> 10) as u8);
            (csd[7], csd[8]) = ((size >> 2) as u8, (size << 6) as u8);
            csd[9] = (multiplier >> 1) as u8;
            csd[10] = (multiplier as u8 & 1) << 7;
        }
        csd[10] |= 0x40 | 0x3f;
        csd[11] |= 0x80;
        (csd[12], csd[13]) = (0x0a, 0x40);
        csd[14] = 1 << 5;
        csd[15] = crc7(&csd[..15]) << 1 | 1;
        csd
    }
}

/// The check sum of commands and registers (4.5): x^7 + x^3 + 1.
pub(super) fn crc7(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0u8, |crc, &byte| {
        (0..8).rev().fold(crc, |crc, bit| {
            let carry = crc >> 6 & 1 != byte >> bit & 1;
            (crc << 1 & 0x7f) ^ if carry { 0x09 } else { 0 }
        })
    })
}

/// The check sum of data (4.5): x^16 + x^12 + x^5 + 1.
pub(super) fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0u16, |crc, &byte| {
        (0..8).rev().fold(crc, |crc, bit| {
            let carry = crc >> 15 != u16::from(byte >> bit & 1);
            crc << 1 ^ if carry { 0x1021 } else { 0 }
        })
    })
}
