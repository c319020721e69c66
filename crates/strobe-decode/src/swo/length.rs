//! How long the packet would be that begins at a byte, for every byte of a block at once.
//!
//! Going from packet to packet is a chain: where the next begins is known only when the length of this one is. With lengths worked
//! out beforehand a link of that chain is a single look into a table, and the lengths themselves depend on nothing, so the
//! compiler makes vector instructions of this.

/// Bytes of a block.
pub(super) const BLOCK: usize = 4096;

/// Bytes that must follow a block: the longest packet's, and the rest of a vector.
pub(super) const AHEAD: usize = 8;

/// The length of a packet that begins with each byte of `bytes` but the last [`AHEAD`], as far as its continuation bits say; whether
/// such a packet exists is another question.
pub(super) fn lengths(bytes: &[u8], out: &mut [u8]) {
    let n = out.len();
    let at = |ahead: usize| bytes[ahead..].iter();
    let follow = at(1).zip(at(2)).zip(at(3)).zip(at(4)).zip(at(5));
    assert!(bytes.len() >= n + AHEAD, "what follows a block decides on lengths in it");
    for ((out, &header), ((((b1, b2), b3), b4), b5)) in out.iter_mut().zip(bytes).zip(follow) {
        // Of source packets 1, 2 or 4 bytes follow.
        let size = header & 3;
        let source = 1 + size + (size & size >> 1);
        // Of others as many as have their continuation bit set, and one more, if the header has it set; bit 7 says so of each.
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
