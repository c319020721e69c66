//! Telling orbuculum's frames from raw bytes: blocks without a zero byte (consistent overhead byte stuffing), a zero between them, and the sum
//! of each 0.

/// Frames in a row that make sure: by chance one in 65536 pairs is sound.
const SURE: usize = 2;

/// Whether a stream that begins like this consists of frames; `None` if more must come to tell.
pub(super) fn looks_like(bytes: &[u8]) -> Option<bool> {
    let mut pieces = bytes.split(|byte| *byte == 0);
    // What is behind the last zero is not whole.
    let whole = bytes.iter().filter(|byte| **byte == 0).count();
    let frames: Vec<&[u8]> = pieces.by_ref().take(whole).collect();
    let sound = frames.iter().take_while(|frame| is_frame(frame)).count();
    if sound >= SURE {
        return Some(true);
    }
    (sound < frames.len()).then_some(false)
}

/// Whether these bytes are a frame: tag, data, and a byte that makes the sum 0.
fn is_frame(bytes: &[u8]) -> bool {
    let (mut sum, mut length, mut at) = (0u8, 0, 0);
    while at < bytes.len() {
        let next = at + usize::from(bytes[at]);
        let Some(block) = bytes.get(at + 1..next) else { return false };
        sum = block.iter().fold(sum, |sum, byte| sum.wrapping_add(*byte));
        length += block.len();
        at = next;
    }
    length >= 2 && sum == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame as its format has it: blocks of up to 254 bytes, each with its length plus one in front.
    fn frame(data: &[u8]) -> Vec<u8> {
        let mut plain = [&[1], data].concat();
        plain.push(plain.iter().fold(0u8, |sum, byte| sum.wrapping_sub(*byte)));
        let mut out = Vec::new();
        let zeros = plain.split(|byte| *byte == 0);
        for piece in zeros {
            let mut rest = piece;
            while rest.len() > 253 {
                out.push(0xff);
                out.extend(&rest[..254]);
                rest = &rest[254..];
            }
            out.push(rest.len() as u8 + 1);
            out.extend(rest);
        }
        out.push(0);
        out
    }

    #[test]
    fn frames_are_recognised() {
        let data: Vec<u8> = (0..600u32).map(|i| (i * 5) as u8).collect();
        let stream = [frame(b"\x17\x00\x01\x00\x08"), frame(&data), frame(&[])].concat();
        assert_eq!(looks_like(&stream), Some(true));
        assert_eq!(looks_like(&stream[..5]), None);
        let mut damaged = stream.clone();
        damaged[3] ^= 4;
        assert_eq!(looks_like(&damaged), Some(false));
    }

    #[test]
    fn raw_bytes_are_not() {
        assert_eq!(looks_like(&[0, 0, 0, 0, 0, 0x80, 0x17, 1, 2]), Some(false));
        assert_eq!(looks_like(b"\x01H\x01e\x01l\x01l\x01o"), None);
        let stream = strobe_synth::swo::mixed(2000, 1).bytes;
        assert_eq!(looks_like(&stream), Some(false));
    }
}
