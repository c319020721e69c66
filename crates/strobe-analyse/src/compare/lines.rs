//! Which line of A is which of B: a line that was put in moves all that are below it, which are
//! the same all the same.

use std::collections::{BTreeMap, BTreeSet};

use strobe_model::measurement::Profile;

/// Lines of each function that ran, by its name and file.
type Functions<'p> = BTreeMap<(&'p str, &'p str), BTreeSet<u32>>;

/// Lines of A, as `FILE:LINE`, that are at another place in B, and that place.
///
/// Lines of a function are counted from its first one, and behind what was changed in it from its
/// last one.
pub(super) fn moved(a: &Profile, b: &Profile) -> BTreeMap<String, String> {
    let (of_a, of_b) = (functions(a), functions(b));
    let mut all = BTreeMap::new();
    for ((name, file), in_a) in of_a {
        let Some(in_b) = of_b.get(&(name, file)) else { continue };
        for (from, to) in pairs(&in_a, in_b).into_iter().filter(|(from, to)| from != to) {
            // What two functions have, as a macro, stays where the first one has it.
            all.entry(format!("{file}:{from}")).or_insert_with(|| format!("{file}:{to}"));
        }
    }
    all
}

fn functions(profile: &Profile) -> Functions<'_> {
    let frames = &profile.frames;
    let mut all = Functions::new();
    let places = frames.function.iter().zip(&frames.file).zip(&frames.line);
    for ((function, file), line) in places {
        let file = file.and_then(|file| profile.files.get(file as usize));
        if let (Some(file), Some(line)) = (file, *line) {
            let name = profile.function_name(Some(*function));
            all.entry((name, file.as_str())).or_default().insert(line);
        }
    }
    all
}

fn pairs(a: &BTreeSet<u32>, b: &BTreeSet<u32>) -> Vec<(u32, u32)> {
    let ends = |lines: &BTreeSet<u32>| Some((*lines.first()?, *lines.last()?));
    let (Some((first_a, last_a)), Some((first_b, last_b))) = (ends(a), ends(b)) else {
        return Vec::new();
    };
    let alike = a.iter().zip(b).take_while(|(x, y)| *x - first_a == *y - first_b).count();
    let left = a.len().min(b.len()) - alike;
    let back = a.iter().rev().zip(b.iter().rev()).take(left);
    let alike_back = back.take_while(|(x, y)| last_a - *x == last_b - *y).count();
    let changed = a.len() - alike_back;
    let each = a.iter().enumerate().map(|(at, line)| {
        // What was changed itself is nearest to what is above it.
        let to = if at < changed {
            (line - first_a).saturating_add(first_b)
        } else {
            last_b.saturating_sub(last_a - line)
        };
        (*line, to)
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_below_what_was_put_in_are_the_same() {
        let of = |a: &[u32], b: &[u32]| {
            pairs(&a.iter().copied().collect(), &b.iter().copied().collect())
        };
        assert_eq!(of(&[10, 11, 13], &[17, 18, 20]), [(10, 17), (11, 18), (13, 20)]);
        assert_eq!(of(&[10, 11, 13], &[10, 11, 12, 15]), [(10, 10), (11, 11), (13, 15)]);
        assert_eq!(of(&[10, 11, 12, 15], &[10, 11, 13]), [(10, 10), (11, 11), (12, 12), (15, 13)]);
        assert_eq!(of(&[5], &[u32::MAX]), [(5, u32::MAX)]);
        assert_eq!(of(&[1, 9, u32::MAX], &[u32::MAX])[2], (u32::MAX, u32::MAX), "no overflow");
        assert_eq!(of(&[], &[1]), []);
    }
}
