//! The sixteen bytes between a stream's two ports, which also pack and unpack items (RM0090
//! 10.3.12).

use strobe_sim::kernel::device::Size;

/// Bytes in a FIFO: four words.
pub(super) const CAPACITY: u32 = 16;

/// A stream's FIFO, first byte in the lowest lane.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fifo {
    bytes: u128,
    len: u32,
}

impl Fifo {
    /// Bytes in it.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// Bytes that fit.
    pub(super) fn room(&self) -> u32 {
        CAPACITY - self.len
    }

    /// Appends an item; one for which there is no room is lost, which the ports do not let happen.
    pub(super) fn push(&mut self, item: u32, size: Size) {
        if size.bytes() <= self.room() {
            self.bytes |= u128::from(item & size.mask()) << (8 * self.len);
            self.len += size.bytes();
        }
    }

    /// Takes an item; missing bytes are zero.
    pub(super) fn pop(&mut self, size: Size) -> u32 {
        let item = self.bytes as u32 & size.mask();
        self.bytes >>= 8 * size.bytes();
        self.len = self.len.saturating_sub(size.bytes());
        item
    }

    /// FCR.FS: how full it is, in quarters; 4 is empty, 5 is full.
    pub(super) fn status(&self) -> u32 {
        match self.len {
            0 => 4,
            CAPACITY => 5,
            len => len / 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_bounded_queue_of_bytes(
            steps in proptest::collection::vec((any::<u32>(), 0usize..3, any::<bool>()), 0..60),
        ) {
            let (mut fifo, mut queue) = (Fifo::default(), std::collections::VecDeque::new());
            for (value, size, push) in steps {
                let size = [Size::Byte, Size::Half, Size::Word][size];
                let count = size.bytes() as usize;
                if push {
                    fifo.push(value, size);
                    if queue.len() + count <= CAPACITY as usize {
                        queue.extend(&value.to_le_bytes()[..count]);
                    }
                } else {
                    let mut next = |i| if i < count { queue.pop_front() } else { None };
                    let bytes = std::array::from_fn(|i| next(i).unwrap_or(0));
                    prop_assert_eq!(fifo.pop(size), u32::from_le_bytes(bytes));
                }
                prop_assert_eq!(fifo.len() as usize, queue.len());
                prop_assert_eq!(fifo.status() == 4, queue.is_empty());
            }
        }
    }
}
