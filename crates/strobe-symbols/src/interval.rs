//! Overlapping claims on addresses resolved into disjoint pieces that one binary search can answer.
//!
//! Functions nest (an entry point inside another function), inlined scopes nest, and damaged debug
//! information overlaps at will. The rule is the same everywhere: the claim with the highest
//! priority wins. This module must not know what is claimed.

use std::collections::BinaryHeap;

/// A claim on the addresses `start..end`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim<T> {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Where two claims overlap the higher one wins; between equals, the one later in the list.
    pub(crate) priority: u64,
    pub(crate) value: T,
}

/// Addresses `start..end` that belong to exactly one claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece<T> {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) value: T,
}

/// Resolves overlaps; the result is sorted and disjoint. Takes n log n steps whatever the overlaps
/// are.
pub(crate) fn flatten<T: Copy + PartialEq>(mut claims: Vec<Claim<T>>) -> Vec<Piece<T>> {
    claims.retain(|claim| claim.start < claim.end);
    claims.sort_by_key(|claim| claim.start);
    let mut pieces: Vec<Piece<T>> = Vec::with_capacity(claims.len());
    // (priority, position in the list, end): what is active at `at`.
    let mut active: BinaryHeap<(u64, usize, u64)> = BinaryHeap::new();
    let mut waiting = 0;
    let mut at = 0;
    loop {
        while active.peek().is_some_and(|&(_, _, end)| end <= at) {
            active.pop();
        }
        if active.is_empty() {
            match claims.get(waiting) {
                Some(claim) => at = at.max(claim.start),
                None => return pieces,
            }
        }
        while let Some(claim) = claims.get(waiting).filter(|claim| claim.start <= at) {
            active.push((claim.priority, waiting, claim.end));
            waiting += 1;
        }
        let Some(&(_, winner, end)) = active.peek() else { continue };
        if end <= at {
            continue;
        }
        let until = claims.get(waiting).map_or(end, |next| end.min(next.start));
        append(&mut pieces, Piece { start: at, end: until, value: claims[winner].value });
        at = until;
    }
}

fn append<T: PartialEq>(pieces: &mut Vec<Piece<T>>, piece: Piece<T>) {
    match pieces.last_mut() {
        Some(last) if last.end == piece.start && last.value == piece.value => last.end = piece.end,
        _ => pieces.push(piece),
    }
}

/// The piece that holds an address.
pub(crate) fn find<T>(pieces: &[Piece<T>], address: u64) -> Option<&Piece<T>> {
    let after = pieces.partition_point(|piece| piece.start <= address);
    pieces[..after].last().filter(|piece| address < piece.end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn claim(start: u64, end: u64, priority: u64, value: char) -> Claim<char> {
        Claim { start, end, priority, value }
    }

    #[test]
    fn the_inner_claim_splits_the_outer_one() {
        let pieces = flatten(vec![claim(0, 10, 0, 'a'), claim(3, 5, 1, 'b')]);
        let expected = [(0, 3, 'a'), (3, 5, 'b'), (5, 10, 'a')];
        assert_eq!(pieces, expected.map(|(start, end, value)| Piece { start, end, value }));
    }

    #[test]
    fn neighbours_with_one_value_become_one_piece() {
        let pieces = flatten(vec![claim(4, 6, 0, 'a'), claim(0, 4, 0, 'a')]);
        assert_eq!(pieces, [Piece { start: 0, end: 6, value: 'a' }]);
    }

    proptest! {
        /// Checks the definition: for each address the winner among all claims that contain it.
        #[test]
        fn every_address_gets_the_highest_claim(
            raw in prop::collection::vec((0u64..40, 0u64..20, 0u64..4), 0..12)
        ) {
            let claims: Vec<Claim<usize>> = raw
                .iter()
                .enumerate()
                .map(|(value, &(start, length, priority))| {
                    Claim { start, end: start + length, priority, value }
                })
                .collect();
            let mut by_start = claims.clone();
            by_start.sort_by_key(|claim| claim.start);
            let pieces = flatten(claims);
            prop_assert!(pieces.windows(2).all(|pair| pair[0].end <= pair[1].start));
            for address in 0..64 {
                let holders = by_start.iter().filter(|c| (c.start..c.end).contains(&address));
                let expected = holders.max_by_key(|c| c.priority).map(|c| c.value);
                prop_assert_eq!(find(&pieces, address).map(|piece| piece.value), expected);
            }
        }
    }
}
