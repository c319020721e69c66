//! Frames of the target kit, as documented, built bit by bit.

/// A frame of so many words: head and time, and a value if there is one.
pub fn frame(words: &[u32]) -> Vec<u8> {
    let mut bytes = vec![0x80];
    for word in words {
        let mut bits: Vec<bool> = (0..32).map(|bit| word & (1 << bit) != 0).collect();
        bits.resize(35, false);
        for group in bits.chunks(7) {
            let value = |(place, &bit): (usize, &bool)| if bit { 1u8 << place } else { 0 };
            bytes.push(group.iter().enumerate().map(value).sum());
        }
    }
    let odd = (0..7u8).filter(|bit| bytes.iter().filter(|b| *b & (1 << bit) != 0).count() % 2 == 1);
    let check: u8 = odd.map(|bit| 1 << bit).sum();
    bytes[0] += check;
    bytes
}

/// The head of a record.
pub fn head(kind: u32, id: u32, number: u16) -> u32 {
    kind * 0x1000_0000 + id * 0x1_0000 + u32::from(number)
}
