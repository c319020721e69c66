//! How long the packet would be that begins at a byte, for every byte of a block at once.
//!
//! Going from packet to packet is a chain: where the next begins is known only when the length of this one is. With lengths worked
//! out beforehand a link of that chain is a single look into a table, and the lengths themselves depend on nothing, so the
//! compiler makes vector instructions of this.

/// Bytes of a block.
pub(super) const BLOCK: usize = 4096;

/// Bytes that must follow a block: the longest packet's, and the rest of a vector.
pub(super) const AHEAD: usize = 8;

/// The longest packet that continuation bits make, header included.
const LONGEST: u8 = 7;

/// The length of a packet that begins with each byte of `bytes` but the last [`AHEAD`], as far as its continuation bits say; whether
/// such a packet exists is another question.
pub(super) fn lengths(bytes: &[u8], out: &mut [u8]) {
    let n = out.len();
    assert!(bytes.len() >= n + AHEAD, "what follows a block decides on lengths in it");
    let at = |ahead: usize| &bytes[ahead..ahead + n];
    let (b0, b1, b2, b3) = (at(0), at(1), at(2), at(3));
    let (b4, b5) = (at(4), at(5));
    for i in 0..n {
        let header = b0[i];
        // Source packets: 1, 2 or 4 bytes follow.
        let size = header & 3;
        let source = 1 + size + u8::from(size == 3);
        // Others: as many as have their continuation bit set, and one more.
        let (c1, c2, c3) = (b1[i] >> 7, b2[i] >> 7, b3[i] >> 7);
        let (c4, c5) = (b4[i] >> 7, b5[i] >> 7);
        let two = c1 & c2;
        let three = two & c3;
        let four = three & c4;
        let five = four & c5;
        // Only the second format of the global timestamp may have more than four.
        let more = if header == super::packet::GTS2 { four + five } else { 0 };
        let follow = 1 + c1 + two + three + more;
        let protocol = if header >> 7 == 1 { 1 + follow } else { 1 };
        out[i] = if size == 0 { protocol } else { source };
        debug_assert!(out[i] <= LONGEST);
    }
}
