//! CRC-32 (polynomial 0x04C11DB7, reflected) in two ways that must agree.

const REFLECTED_POLYNOMIAL: u32 = 0xedb8_8320;

static TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        table[index] = eight_bits(index as u32);
        index += 1;
    }
    table
}

const fn eight_bits(mut crc: u32) -> u32 {
    let mut bit = 0;
    while bit < 8 {
        crc = if crc & 1 != 0 { crc >> 1 ^ REFLECTED_POLYNOMIAL } else { crc >> 1 };
        bit += 1;
    }
    crc
}

/// Eight shifts a byte.
#[inline(never)]
pub fn bit_by_bit(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| eight_bits(crc ^ u32::from(byte)))
}

/// One look-up a byte.
#[inline(never)]
pub fn by_table(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| TABLE[((crc ^ u32::from(byte)) & 0xff) as usize] ^ crc >> 8)
}
