//! Sessions of sigrok: a zip file with a text about the capture and the samples, several members of
//! them.
//!
//! Written from sigrok's description of the format and the zip format's, without compression. This
//! shares nothing with the readers.

use crate::Line;

/// A capture of named lines with so many samples at so many megahertz. The lines' times are in
/// samples.
///
/// Each sample has as many bytes as the lines need, and each member so many samples.
pub fn session(lines: &[(&str, &Line)], megahertz: u64, samples: u64, in_member: usize) -> Vec<u8> {
    let unit = lines.len().div_ceil(8);
    let mut metadata = format!(
        "[global]\nsigrok version=0.5.2\n\n[device 1]\ncapturefile=logic-1\ntotal probes={}\n\
         samplerate={megahertz} MHz\ntotal analog=0\n",
        lines.len()
    );
    for (n, (name, _)) in lines.iter().enumerate() {
        metadata += &format!("probe{}={name}\n", n + 1);
    }
    metadata += &format!("unitsize={unit}\n");
    let mut bytes = vec![0u8; samples as usize * unit];
    for (n, (_, line)) in lines.iter().enumerate() {
        let ends = line.edges.iter().map(|edge| edge.0).chain([samples]);
        let levels = [line.initial].into_iter().chain(line.edges.iter().map(|edge| edge.1));
        let mut from = 0;
        for (level, to) in levels.zip(ends) {
            for sample in from..to.min(samples) {
                bytes[sample as usize * unit + n / 8] |= u8::from(level) << (n % 8);
            }
            from = to;
        }
    }
    let mut zip = Zip::default();
    zip.member("version", b"2");
    zip.member("metadata", metadata.as_bytes());
    for (n, chunk) in bytes.chunks(in_member * unit).enumerate() {
        zip.member(&format!("logic-1-{}", n + 1), chunk);
    }
    zip.finish()
}

/// A zip file of stored members (APPNOTE.TXT 4.3).
#[derive(Default)]
struct Zip {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    members: u16,
}

impl Zip {
    fn member(&mut self, name: &str, content: &[u8]) {
        let at = self.bytes.len() as u32;
        let size = (content.len() as u32).to_le_bytes();
        // Version 2.0, no flags, stored; 1 January 1980.
        let mut about = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        about.extend_from_slice(&crc32(content).to_le_bytes());
        about.extend_from_slice(&size);
        about.extend_from_slice(&size);
        about.extend_from_slice(&(name.len() as u16).to_le_bytes());
        about.extend_from_slice(&[0, 0]);
        self.bytes.extend_from_slice(b"PK\x03\x04");
        self.bytes.extend_from_slice(&about);
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(content);
        self.directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        self.directory.extend_from_slice(&about);
        // No comment, disk 0, no attributes.
        self.directory.extend_from_slice(&[0; 10]);
        self.directory.extend_from_slice(&at.to_le_bytes());
        self.directory.extend_from_slice(name.as_bytes());
        self.members += 1;
    }

    fn finish(mut self) -> Vec<u8> {
        let (at, size) = (self.bytes.len() as u32, self.directory.len() as u32);
        self.bytes.append(&mut self.directory);
        self.bytes.extend_from_slice(b"PK\x05\x06\0\0\0\0");
        self.bytes.extend_from_slice(&self.members.to_le_bytes());
        self.bytes.extend_from_slice(&self.members.to_le_bytes());
        self.bytes.extend_from_slice(&size.to_le_bytes());
        self.bytes.extend_from_slice(&at.to_le_bytes());
        self.bytes.extend_from_slice(&[0, 0]);
        self.bytes
    }
}

/// The CRC of ISO 3309, as in zip files.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        let shift = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        (0..8).fold(crc ^ u32::from(*byte), shift)
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
