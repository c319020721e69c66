//! When a peripheral's clock stands still, because power reduction or a sleep mode has stopped it:
//! what goes on inside is late by that when the clock runs again.

/// Whether the clock stands, and since when.
#[derive(Debug, Default)]
pub(super) struct Standstill {
    since: Option<u64>,
}

impl Standstill {
    /// Whether it stands.
    pub(super) fn is_on(&self) -> bool {
        self.since.is_some()
    }

    /// The clock runs or stands at `now`: if that is new, the cycles that it has stood, of which
    /// there are none yet where it has just stopped.
    pub(super) fn change(&mut self, runs: bool, now: u64) -> Option<u64> {
        match (self.since, runs) {
            (None, false) => {
                self.since = Some(now);
                Some(0)
            }
            (Some(since), true) => {
                self.since = None;
                Some(now - since)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_count_and_only_the_end_takes_time() {
        let mut standstill = Standstill::default();
        assert_eq!(standstill.change(true, 5), None);
        assert_eq!(standstill.change(false, 10), Some(0));
        assert!(standstill.is_on());
        assert_eq!(standstill.change(false, 20), None);
        assert_eq!(standstill.change(true, 25), Some(15));
        assert!(!standstill.is_on());
    }
}
