//! Orbuculum's frames as its server writes them: tag, data, a byte that makes the sum 0, stuffed so
//! that no zero is left, and a zero.

/// Appends a frame.
pub fn frame(out: &mut Vec<u8>, tag: u8, data: &[u8]) {
    let sum = data.iter().fold(tag, |sum, byte| sum.wrapping_add(*byte));
    let mut code = out.len();
    out.push(1);
    let plain = [tag].into_iter().chain(data.iter().copied()).chain([sum.wrapping_neg()]);
    let mut left = data.len() + 2;
    for byte in plain {
        left -= 1;
        if byte != 0 {
            out.push(byte);
            out[code] += 1;
        }
        // A block is full with 254 bytes. No empty block follows a full one at the end.
        if byte == 0 || out[code] == 255 && left > 0 {
            code = out.len();
            out.push(1);
        }
    }
    out.push(0);
}

/// A stream in frames of so many bytes, all with one tag.
pub fn frames(tag: u8, stream: &[u8], size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    stream.chunks(size.max(1)).for_each(|data| frame(&mut out, tag, data));
    out
}
