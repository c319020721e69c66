//! The last stretch in which the code itself had interrupts masked: what an interrupt that waited
//! for its end waited for.

use std::collections::BTreeMap;

/// A masked stretch, from the instruction that masked to the one that did not any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    from: u32,
    /// The cycle at which it ended.
    until: Option<u64>,
}

/// Follows what code does to its masks; what an entry into a handler does is not its doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Masked(Option<Stretch>);

impl Masked {
    /// The instruction at `pc` has written a mask: interrupts are masked from then on, or not.
    pub(crate) fn set(&mut self, masked: bool, pc: u32, now: u64) {
        match &mut self.0 {
            Some(Stretch { until: until @ None, .. }) if !masked => *until = Some(now),
            None | Some(Stretch { until: Some(_), .. }) if masked => {
                self.0 = Some(Stretch { from: pc, until: None });
            }
            _ => {}
        }
    }

    /// Nothing is known of a masked stretch any more.
    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }

    /// The instruction that masked what has been pending since `pended_at` and comes in now.
    pub(crate) fn held_up(&self, pended_at: u64) -> Option<u32> {
        let stretch = self.0?;
        stretch.until.is_some_and(|until| pended_at <= until).then_some(stretch.from)
    }
}

/// The same for each exception, of what code disables one by one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Disabled(BTreeMap<u16, Masked>);

impl Disabled {
    /// The instruction at `pc` has disabled exceptions, or enabled them.
    pub(crate) fn set(
        &mut self,
        exceptions: impl Iterator<Item = u16>,
        disabled: bool,
        pc: u32,
        now: u64,
    ) {
        for exception in exceptions {
            if disabled {
                self.0.entry(exception).or_default().set(true, pc, now);
            } else if let Some(one) = self.0.get_mut(&exception) {
                one.set(false, pc, now);
            }
        }
    }

    /// The instruction that disabled an exception, which has been pending since `pended_at`.
    pub(crate) fn held_up(&self, exception: u16, pended_at: u64) -> Option<u32> {
        self.0.get(&exception)?.held_up(pended_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_is_held_up_by_what_disabled_it() {
        let mut disabled = Disabled::default();
        disabled.set([17, 18].into_iter(), false, 0x10, 5);
        disabled.set([17].into_iter(), true, 0x20, 10);
        disabled.set([17, 18].into_iter(), false, 0x30, 40);
        assert_eq!(disabled.held_up(17, 15), Some(0x20));
        assert_eq!(disabled.held_up(18, 15), None);
    }

    #[test]
    fn first_mask_delays_requests_until_the_masks_end() {
        let mut masked = Masked::default();
        masked.set(false, 0x10, 5);
        assert_eq!(masked.held_up(4), None);
        masked.set(true, 0x20, 10);
        masked.set(true, 0x30, 20);
        assert_eq!(masked.held_up(15), None, "it still is masked");
        masked.set(false, 0x40, 40);
        masked.set(false, 0x50, 50);
        assert_eq!(masked.held_up(15), Some(0x20));
        assert_eq!(masked.held_up(41), None);
        masked.forget();
        assert_eq!(masked.held_up(15), None);
    }
}
