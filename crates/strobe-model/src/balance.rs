//! The balance: what was taken equals what is accounted for, or there is no report.

/// Cycles (or samples, or bytes: the record states which) by what became of them.
///
/// Can only be built balanced: `taken = attributed + unattributed + idle + lost`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balance(Parts);

/// The parts of a [`Balance`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    /// Everything the instrument took.
    pub taken: u64,
    /// Attributed to named code.
    pub attributed: u64,
    /// Not attributable, each amount with its reason.
    pub unattributed: Vec<(String, u64)>,
    /// Asleep or idle.
    pub idle: u64,
    /// Known to be lost.
    pub lost: u64,
}

/// The parts do not add up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unbalanced {
    /// What should be accounted for.
    pub taken: u64,
    /// What is.
    pub accounted: u64,
}

impl std::fmt::Display for Unbalanced {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(
            f,
            "the totals do not balance: {} taken, {} accounted for",
            self.taken, self.accounted
        )
    }
}

impl std::error::Error for Unbalanced {}

impl Balance {
    /// Checks the parts.
    ///
    /// # Errors
    /// When they do not add up.
    pub fn new(parts: Parts) -> Result<Self, Unbalanced> {
        let unattributed = parts.unattributed.iter().map(|(_, n)| u128::from(*n)).sum::<u128>();
        let accounted = u128::from(parts.attributed)
            + unattributed
            + u128::from(parts.idle)
            + u128::from(parts.lost);
        if accounted == u128::from(parts.taken) {
            Ok(Balance(parts))
        } else {
            let accounted = u64::try_from(accounted).unwrap_or(u64::MAX);
            Err(Unbalanced { taken: parts.taken, accounted })
        }
    }

    /// The parts, which add up.
    pub fn parts(&self) -> &Parts {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn only_balanced_parts_make_a_balance(a: u32, u: u32, i: u32, l: u32, off in 0u64..3) {
            let sum = u64::from(a) + u64::from(u) + u64::from(i) + u64::from(l);
            let parts = Parts {
                taken: sum + off,
                attributed: a.into(),
                unattributed: vec![("no symbol".into(), u.into())],
                idle: i.into(),
                lost: l.into(),
            };
            prop_assert_eq!(Balance::new(parts).is_ok(), off == 0);
        }
    }
}
