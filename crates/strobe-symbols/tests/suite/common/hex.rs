//! Intel HEX for tests: written from the format's definition, independent of the reader. Shared
//! with the fuzz target.

/// A record with its checksum: all bytes together add up to zero.
pub(crate) fn record(kind: u8, offset: u16, data: &[u8]) -> String {
    let [high, low] = offset.to_be_bytes();
    let mut bytes = vec![data.len() as u8, high, low, kind];
    bytes.extend(data);
    bytes.push(bytes.iter().fold(0, |sum: u8, byte| sum.wrapping_sub(*byte)));
    let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!(":{digits}\n")
}

/// Arbitrary bytes as individually valid records, to test their combinations: the first of each
/// four bytes is a kind and a length, the next two the offset.
pub(crate) fn from_noise(noise: &[u8]) -> Vec<u8> {
    let mut text = String::new();
    let mut rest = noise;
    while let [how, high, low, after @ ..] = rest {
        let length = usize::from(how >> 3).min(after.len());
        let (data, next) = after.split_at(length);
        let offset = u16::from_be_bytes([*high, *low]);
        text += &match how & 7 {
            1 => record(2, 0, &[*high, *low]),
            2 => record(4, 0, &[*high, *low]),
            3 => record(5, 0, &[*high, *low, *low, *high]),
            4 => record(3, 0, &[*high, *low, *low, *high]),
            _ => record(0, offset, data),
        };
        rest = next;
    }
    (text + ":00000001FF\n").into_bytes()
}
