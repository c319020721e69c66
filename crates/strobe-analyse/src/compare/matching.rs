//! Which function of A is which of B: by name and file, by name, then by what it is made of.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::groups::{Group, Side};

/// Functions that are this much alike are one that was renamed; from experience, unrelated ones
/// share a third of their sequences at most.
const ALIKE: f64 = 0.7;

/// The best must be better than the next one by so much.
const APART: f64 = 0.05;

/// Functions of fewer instructions are alike by chance.
const FEWEST: usize = 5;

/// The most pairs that are looked at, so that no file takes hours.
const MOST_PAIRS: usize = 4_000_000;

/// A function in both, or in one alone; by place in each side's groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match {
    /// Its place in A.
    pub a: Option<usize>,
    /// Its place in B.
    pub b: Option<usize>,
    /// Why the two are taken for one.
    pub how: MatchKind,
}

/// Why two functions are taken for one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MatchKind {
    /// The same name, in the same file or where no file is known.
    Named,
    /// The same name in another file.
    Moved,
    /// Another name, instructions that are alike to this part.
    Alike(f64),
    /// There is none on the other side.
    Alone,
}

/// All functions of both sides, each in one match.
pub(super) fn matches(a: &Side, b: &Side) -> Vec<Match> {
    let mut matching = Matching {
        a: &a.groups,
        b: &b.groups,
        left: (0..a.groups.len()).collect(),
        right: (0..b.groups.len()).collect(),
        found: Vec::new(),
    };
    matching.same(|group| Some((group.name.clone(), group.file.clone())), |_, _| MatchKind::Named);
    matching.same(
        |group| Some((group.name.clone(), None)),
        |a, b| {
            if a.file.is_some() && b.file.is_some() { MatchKind::Moved } else { MatchKind::Named }
        },
    );
    matching.alike();
    let Matching { left, right, mut found, .. } = matching;
    found.extend(left.into_iter().map(|a| Match { a: Some(a), b: None, how: MatchKind::Alone }));
    found.extend(right.into_iter().map(|b| Match { a: None, b: Some(b), how: MatchKind::Alone }));
    found
}

struct Matching<'g> {
    a: &'g [Group],
    b: &'g [Group],
    left: BTreeSet<usize>,
    right: BTreeSet<usize>,
    found: Vec<Match>,
}

type Key = (String, Option<String>);

impl Matching<'_> {
    fn take(&mut self, a: usize, b: usize, how: MatchKind) {
        self.left.remove(&a);
        self.right.remove(&b);
        self.found.push(Match { a: Some(a), b: Some(b), how });
    }

    /// Matches what has a key of which there is one on each side.
    fn same(
        &mut self,
        key: impl Fn(&Group) -> Option<Key>,
        how: impl Fn(&Group, &Group) -> MatchKind,
    ) {
        let of = |groups: &[Group], left: &BTreeSet<usize>| {
            let mut keys: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
            for at in left {
                if let Some(key) = key(&groups[*at]) {
                    keys.entry(key).or_default().push(*at);
                }
            }
            keys
        };
        let there = of(self.b, &self.right);
        for (key, in_a) in of(self.a, &self.left) {
            if let ([a], Some([b])) = (in_a.as_slice(), there.get(&key).map(Vec::as_slice)) {
                self.take(*a, *b, how(&self.a[*a], &self.b[*b]));
            }
        }
    }

    /// Matches what is left by its instructions, the most alike first.
    fn alike(&mut self) {
        if self.left.len().saturating_mul(self.right.len()) > MOST_PAIRS {
            return;
        }
        let names: BTreeMap<&str, &str> = self
            .found
            .iter()
            .filter_map(|m| Some((self.b[m.b?].name.as_str(), self.a[m.a?].name.as_str())))
            .collect();
        let marks = |groups: &[Group], left: &BTreeSet<usize>| {
            left.iter().map(|at| (*at, Marks::of(&groups[*at]))).collect::<Vec<_>>()
        };
        let (of_a, of_b) = (marks(self.a, &self.left), marks(self.b, &self.right));
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        for (a, of_a) in &of_a {
            for (b, of_b) in &of_b {
                let alike = of_a.alike(of_b);
                if alike >= ALIKE {
                    let near = nearness(&self.a[*a], &self.b[*b], &names);
                    // Neighbours decide between those that are as much alike.
                    pairs.push((alike + 0.2 * near, *a, *b));
                }
            }
        }
        pairs.sort_by(|x, y| y.0.total_cmp(&x.0).then((x.1, x.2).cmp(&(y.1, y.2))));
        for (score, a, b) in pairs.clone() {
            if !self.left.contains(&a) || !self.right.contains(&b) {
                continue;
            }
            let rival = pairs.iter().find(|(_, x, y)| {
                (*x == a) != (*y == b) && self.left.contains(x) && self.right.contains(y)
            });
            if rival.is_none_or(|rival| rival.0 + APART <= score) {
                let of = |marks: &[(usize, Marks)], at| marks.iter().position(|m| m.0 == at);
                let alike = of(&of_a, a).zip(of(&of_b, b));
                let alike = alike.map_or(ALIKE, |(i, j)| of_a[i].1.alike(&of_b[j].1));
                self.take(a, b, MatchKind::Alike(alike));
            }
        }
    }
}

/// Sequences of three instructions with how often each occurs.
pub(super) struct Marks {
    sequences: BTreeMap<u64, usize>,
    instructions: usize,
    all: usize,
}

impl Marks {
    pub(super) fn of(group: &Group) -> Marks {
        let mut sequences: BTreeMap<u64, usize> = BTreeMap::new();
        for three in group.code.windows(3) {
            let mut hasher = DefaultHasher::new();
            three.iter().for_each(|instruction| instruction.token.hash(&mut hasher));
            *sequences.entry(hasher.finish()).or_default() += 1;
        }
        let all = sequences.values().sum();
        Marks { sequences, instructions: group.code.len(), all }
    }

    /// The part of both that is in both, from 0 to 1.
    fn alike(&self, other: &Marks) -> f64 {
        let (few, many) =
            (self.instructions.min(other.instructions), self.instructions.max(other.instructions));
        if few < FEWEST || many > 2 * few {
            return 0.0;
        }
        2.0 * self.common(other) as f64 / (self.all + other.all).max(1) as f64
    }

    /// The part of its own that the other has too, from 0 to 1.
    pub(super) fn within(&self, other: &Marks) -> f64 {
        self.common(other) as f64 / self.all.max(1) as f64
    }

    fn common(&self, other: &Marks) -> usize {
        let each = self.sequences.iter();
        each.map(|(sequence, n)| other.sequences.get(sequence).map_or(0, |m| *n.min(m))).sum()
    }
}

/// The part of the neighbours of both that is in both, by the names in A.
fn nearness(a: &Group, b: &Group, names: &BTreeMap<&str, &str>) -> f64 {
    let of_b: BTreeSet<&str> =
        b.near.iter().map(|name| names.get(name.as_str()).copied().unwrap_or(name)).collect();
    let of_a: BTreeSet<&str> = a.near.iter().map(String::as_str).collect();
    let common = of_a.intersection(&of_b).count();
    2.0 * common as f64 / (of_a.len() + of_b.len()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::groups::Instruction;
    use super::*;

    fn group(name: &str, file: Option<&str>, code: &[&str]) -> Group {
        let code = code
            .iter()
            .map(|text| Instruction { token: (*text).to_owned(), ..Instruction::default() });
        Group {
            name: name.to_owned(),
            file: file.map(str::to_owned),
            code: code.collect(),
            ..Group::default()
        }
    }

    fn matched(a: &[Group], b: &[Group]) -> Vec<(Option<usize>, Option<usize>, bool)> {
        let mut matching = Matching {
            a,
            b,
            left: (0..a.len()).collect(),
            right: (0..b.len()).collect(),
            found: Vec::new(),
        };
        matching.alike();
        matching.found.iter().map(|m| (m.a, m.b, matches!(m.how, MatchKind::Alike(_)))).collect()
    }

    const CODE: &[&str] = &["push", "movs r0", "ldr", "adds", "subs", "bne", "pop"];

    #[test]
    fn a_renamed_function_is_known_by_its_instructions() {
        let other = ["a", "b", "c", "d", "e", "f", "g"];
        let a = [group("old", None, CODE), group("x", None, &other)];
        let mut changed = CODE.to_vec();
        changed.push("bx lr");
        let b = [group("new", None, &changed)];
        assert_eq!(matched(&a, &b), [(Some(0), Some(0), true)]);
    }

    #[test]
    fn twins_without_neighbours_are_not_distinguished() {
        let a = [group("one", None, CODE), group("two", None, CODE)];
        let b = [group("three", None, CODE)];
        assert_eq!(matched(&a, &b), []);
        let mut near = [group("one", None, CODE), group("two", None, CODE)];
        near[1].near.insert("main".to_owned());
        let mut there = [group("three", None, CODE)];
        there[0].near.insert("main".to_owned());
        assert_eq!(matched(&near, &there), [(Some(1), Some(0), true)]);
    }

    #[test]
    fn short_functions_are_not_matched_by_content() {
        let a = [group("old", None, &CODE[..3])];
        let b = [group("new", None, &CODE[..3])];
        assert_eq!(matched(&a, &b), []);
    }
}
