//! Packet lengths for every byte of a block at once, as if a packet began there.
//!
//! Decoding is a dependency chain: the next packet's position depends on the length of this one.
//! With precomputed lengths a link of that chain is one table look-up, and the lengths themselves
//! are independent, so the compiler vectorises their computation.

/// Size of a block.
pub(super) const BLOCK: usize = 4096;

/// Bytes needed after a block: the longest packet, and the rest of a vector.
pub(super) const AHEAD: usize = 8;

/// The length of a packet that begins at each byte of `bytes` but the last [`AHEAD`], by the
/// continuation bits; whether such a packet exists is checked elsewhere.
pub(super) fn lengths(bytes: &[u8], out: &mut [u8]) {
    let n = out.len();
    let at = |ahead: usize| bytes[ahead..].iter();
    let follow = at(1).zip(at(2)).zip(at(3)).zip(at(4)).zip(at(5));
    assert!(bytes.len() >= n + AHEAD, "lengths in a block depend on the bytes after it");
    for ((out, &header), ((((b1, b2), b3), b4), b5)) in out.iter_mut().zip(bytes).zip(follow) {
        // Source packets have 1, 2 or 4 payload bytes.
        let size = header & 3;
        let source = 1 + size + (size & size >> 1);
        // If the header has bit 7 set, the payload is all bytes with bit 7 set and one more.
        let two = b1 & b2;
        let three = two & b3;
        let four = three & b4;
        let five = four & b5;
        let follow = 1 + (b1 >> 7) + (two >> 7) + (three >> 7);
        // Only the second format of the global timestamp may have more than four.
        let more = (four >> 7) + (five >> 7);
        let follow = follow + if header == super::packet::GTS2 { more } else { 0 };
        let protocol = 1 + (follow & if header >= 0x80 { 0xff } else { 0 });
        *out = if size == 0 { protocol } else { source };
    }
}
