//! The four bytes between the data register and the shift register (RM0360, "RXFIFO and TXFIFO").

/// Bytes in a FIFO.
const SIZE: usize = 4;

/// A FIFO of 32 bits, first byte in the lowest lane.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fifo {
    bytes: u32,
    len: usize,
}

impl Fifo {
    /// Bytes in it.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends the low `count` bytes of `value`; false, and nothing changes, if they do not fit.
    pub(super) fn push(&mut self, value: u16, count: usize) -> bool {
        let fits = self.len + count <= SIZE;
        if fits {
            let value = u32::from(value) & ((1 << (8 * count)) - 1);
            self.bytes |= value << (8 * self.len);
            self.len += count;
        }
        fits
    }

    /// Takes `count` bytes (1 or 2), low byte first; missing ones read as zero.
    pub(super) fn pop(&mut self, count: usize) -> u16 {
        let value = self.bytes & ((1 << (8 * count)) - 1);
        self.bytes >>= 8 * count;
        self.len = self.len.saturating_sub(count);
        value as u16
    }

    /// FTLVL or FRLVL: empty, a quarter, a half, full (which is anything above a half).
    pub(super) fn level(&self) -> u32 {
        self.len.min(3) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_bounded_queue(
            steps in proptest::collection::vec((any::<u16>(), 1usize..3, any::<bool>()), 0..50),
        ) {
            let (mut fifo, mut queue) = (Fifo::default(), std::collections::VecDeque::new());
            for (value, count, push) in steps {
                if push {
                    let fits = queue.len() + count <= SIZE;
                    prop_assert_eq!(fifo.push(value, count), fits);
                    if fits {
                        queue.extend(&value.to_le_bytes()[..count]);
                    }
                } else {
                    let bytes = [0, 1].map(|i| if i < count { queue.pop_front() } else { None });
                    let expected = u16::from_le_bytes(bytes.map(Option::unwrap_or_default));
                    prop_assert_eq!(fifo.pop(count), expected);
                }
                prop_assert_eq!(fifo.len(), queue.len());
            }
        }
    }
}
