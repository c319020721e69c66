//! How much of a stack was never written, by the word that the system has filled it with before.
//!
//! Many systems paint their stacks (FreeRTOS with `0xa5a5a5a5`, ChibiOS with `0x55555555`, Zephyr
//! with `0xaaaaaaaa`, NuttX with `0xdeadbeef`) and look later how far the paint has gone. That is a
//! lower bound of what was used: words that a function skips, or writes with the same value, look
//! as if nobody had been there.

/// Equal words that make paint.
const LEAST: usize = 4;
/// Words below the paint that are something else: what a system keeps at a stack's end.
const MOST_BELOW: usize = 64;

/// The paint of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint {
    /// The word that it was filled with.
    pub word: u32,
    /// Words from the stack's end to the first that is not paint any more.
    pub unused: usize,
}

/// The paint of a stack whose words are these, from its end (the lowest address) up; `None` where
/// there is none. Zeros are what memory holds from start-up, and no paint.
pub fn of_stack(words: impl IntoIterator<Item = u32>) -> Option<Paint> {
    let (mut last, mut run) = (0, 0);
    for (at, word) in words.into_iter().enumerate() {
        if word == last {
            run += 1;
            continue;
        }
        if last != 0 && run >= LEAST {
            return Some(Paint { word: last, unused: at });
        }
        if at > MOST_BELOW {
            return None;
        }
        (last, run) = (word, 1);
    }
    // All of it is paint: nobody has used this stack, or these words are no stack's.
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(below: &[u32], word: u32, painted: usize, above: &[u32]) -> Vec<u32> {
        let paint = std::iter::repeat_n(word, painted);
        below.iter().copied().chain(paint).chain(above.iter().copied()).collect()
    }

    #[test]
    fn paint_ends_where_something_was_written() {
        let words = stack(&[], 0xa5a5_a5a5, 10, &[1, 0xa5a5_a5a5, 2]);
        assert_eq!(of_stack(words), Some(Paint { word: 0xa5a5_a5a5, unused: 10 }));
        // What the system keeps at the stack's end is not in use by calls.
        let words = stack(&[7, 8, 9], 0xdead_beef, 4, &[1]);
        assert_eq!(of_stack(words), Some(Paint { word: 0xdead_beef, unused: 7 }));
    }

    #[test]
    fn memory_without_paint_gives_no_figure() {
        assert_eq!(of_stack([]), None);
        assert_eq!(of_stack(stack(&[], 0, 40, &[1])), None, "zeros are there from start-up");
        assert_eq!(of_stack(stack(&[], 5, 3, &[1])), None, "three equal words are chance");
        assert_eq!(of_stack(stack(&[], 5, 30, &[])), None, "nobody has used it");
        let busy: Vec<u32> = (1..200).collect();
        assert_eq!(of_stack(stack(&busy, 5, 30, &[1])), None, "equal words inside of frames");
    }
}
