//! Metadata in packets, as tracers write it (section 7.1).

use std::borrow::Cow;

use crate::ctf::error::MetadataError;

const MAGIC: u32 = 0x75d1_1d57;
/// Magic, UUID, checksum, content and packet size in bits; compression, encryption, checksum
/// scheme; major, minor.
const HEADER: usize = 37;

/// The text of the metadata, plain or in packets.
pub(super) fn text(bytes: &[u8]) -> Result<Cow<'_, [u8]>, MetadataError> {
    let magic = bytes.first_chunk::<4>();
    let little = match magic {
        Some(&magic) if u32::from_le_bytes(magic) == MAGIC => true,
        Some(&magic) if u32::from_be_bytes(magic) == MAGIC => false,
        _ => return Ok(Cow::Borrowed(bytes)),
    };
    let mut text = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let error = |problem| Err(MetadataError::Packet { at, problem });
        let Some(header) = bytes[at..].first_chunk::<HEADER>() else {
            return error("it is shorter than its header");
        };
        let number = |from: usize| {
            let four = [header[from], header[from + 1], header[from + 2], header[from + 3]];
            if little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) }
        };
        if number(0) != MAGIC {
            return error("its magic number is not 0x75d11d57");
        }
        if header[32..35] != [0, 0, 0] {
            return error("it is compressed, encrypted or has a checksum, which is not supported");
        }
        if header[35] != 1 {
            return error("it is not CTF 1");
        }
        let (content, packet) = (number(24) as usize / 8, number(28) as usize / 8);
        if !(HEADER..=packet).contains(&content) || packet > bytes.len() - at {
            return error("its sizes do not fit it or the file");
        }
        text.extend_from_slice(&bytes[at + HEADER..at + content]);
        at += packet;
    }
    Ok(Cow::Owned(text))
}
