//! Writes Intel HEX, for programmers that read a file: bytes at load addresses, whatever file they
//! were read from.

use ihex::Record;

/// Data bytes of a record. Every reader takes so many, and some take no more.
const RECORD_BYTES: usize = 32;
/// Addresses that one extended linear address record reaches.
const REACH: usize = 1 << 16;

/// The text of bytes at addresses, in the order given. Bytes that would lie behind the address
/// space are left out.
pub fn write<'a>(pieces: impl IntoIterator<Item = (u32, &'a [u8])>) -> String {
    let mut records = Vec::new();
    let mut high = 0;
    for (mut address, mut bytes) in pieces {
        while !bytes.is_empty() {
            let offset = address as u16;
            if (address >> 16) as u16 != high {
                high = (address >> 16) as u16;
                records.push(Record::ExtendedLinearAddress(high));
            }
            let size = bytes.len().min(RECORD_BYTES).min(REACH - usize::from(offset));
            let (value, rest) = bytes.split_at(size);
            records.push(Record::Data { offset, value: value.to_vec() });
            let Some(next) = address.checked_add(size as u32) else { break };
            (address, bytes) = (next, rest);
        }
    }
    records.push(Record::EndOfFile);
    // It refuses records of more than 255 bytes and a missing end, of which there are none.
    ihex::create_object_file_representation(&records).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::read;
    use super::*;

    proptest! {
        /// What is written is read again, across the borders of 64 KiB and up to the last address.
        #[test]
        fn written_hex_reads_back_the_same(
            pieces in proptest::collection::vec((0u32..0x400, 1usize..3000), 1..8),
            last in any::<bool>(),
        ) {
            let mut all: Vec<(u32, Vec<u8>)> = Vec::new();
            let mut from = 0x0800_0000u32;
            for (n, (gap, size)) in pieces.into_iter().enumerate() {
                // Small gaps are filled when they are read.
                from += 0xff00 + gap;
                all.push((from, (0..size).map(|i| (i * 7 + n) as u8).collect()));
                from += size as u32;
            }
            if last {
                all.push((u32::MAX - 99, vec![0x5a; 100]));
            }
            let text = write(all.iter().map(|(address, bytes)| (*address, &bytes[..])));
            let image = read(text.as_bytes()).expect("it is Intel HEX");
            let found: Vec<(u32, Vec<u8>)> =
                image.segments.iter().map(|s| (s.load_address.0, s.data().to_vec())).collect();
            prop_assert_eq!(found, all);
        }
    }
}
