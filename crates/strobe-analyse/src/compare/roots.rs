//! Directories that both sides were built in: the same tree checked out at two places has the same
//! files, not moved ones.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use strobe_model::measurement::{Content, Measurement};

use super::comparison::Comparison;
use super::origins;
use super::unlike::Unlike;

/// So many files that lie alike in two directories make them one tree, whatever lies beside them.
const A_TREE: usize = 3;

/// Programs are put together from no more trees than this: their own, an SDK, a toolchain.
const MOST_TREES: usize = 8;

/// The most files that are looked at on a side.
const MOST_FILES: usize = 20_000;

/// A directory of A that is one of B.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Root {
    /// Its path in A.
    pub a: String,
    /// Its path in B.
    pub b: String,
}

/// A with the files of B's directories, where both were built from one tree at two places; adds
/// which ones those are.
pub(super) fn as_in_b<'m>(
    compared: &mut Comparison,
    a: &'m Measurement,
    b: &Measurement,
) -> Cow<'m, Measurement> {
    let roots = roots(&files(a), &files(b));
    if roots.is_empty() {
        return Cow::Borrowed(a);
    }
    let mut moved = a.clone();
    for section in &mut moved.sections {
        let Content::Profile(profile) = &mut section.content else { continue };
        for file in &mut profile.files {
            if let Some(there) = roots.iter().find_map(|root| root.of(file)) {
                *file = there;
            }
        }
    }
    compared.unlike.push(Unlike::Directories(roots));
    Cow::Owned(moved)
}

impl Root {
    /// Where a file of A lies in B.
    fn of(&self, file: &str) -> Option<String> {
        let rest = file.strip_prefix(&self.a)?;
        rest.starts_with(['/', '\\']).then(|| format!("{}{rest}", self.b))
    }
}

fn is_in(file: &str, directory: &str) -> bool {
    file.strip_prefix(directory).is_some_and(|rest| rest.starts_with(['/', '\\']))
}

fn files(side: &Measurement) -> BTreeSet<&str> {
    let profiles = side.sections.iter().filter_map(|section| match &section.content {
        Content::Profile(profile) => Some(profile),
        _ => None,
    });
    profiles.flat_map(|profile| &profile.files).map(String::as_str).collect()
}

/// The directories that explain the most files, one after the other.
fn roots(a: &BTreeSet<&str>, b: &BTreeSet<&str>) -> Vec<Root> {
    let both: Vec<&str> = a.intersection(b).copied().collect();
    let mut left: BTreeSet<&str> = a.difference(b).copied().collect();
    let mut right: BTreeSet<&str> = b.difference(a).copied().collect();
    let mut found = Vec::new();
    if a.len().max(b.len()) > MOST_FILES {
        return found;
    }
    while found.len() < MOST_TREES {
        let counts = candidates(&left, &right);
        let most = left.len().max(right.len());
        let fits = counts.into_iter().filter(|(root, n)| is_tree(root, *n, most, &both));
        // Of two that explain as much, the longer one explains less.
        let best = fits.max_by(|(x, n), (y, m)| (n, y.a.len(), y).cmp(&(m, x.a.len(), x)));
        let Some((root, _)) = best else { break };
        let there: BTreeSet<String> = left.iter().filter_map(|file| root.of(file)).collect();
        left.retain(|file| !is_in(file, &root.a));
        right.retain(|file| !there.contains(*file));
        found.push(root);
    }
    // The longest first: one directory may lie in another.
    found.sort_by_key(|root| std::cmp::Reverse(root.a.len()));
    found
}

/// Pairs of directories in which files lie alike, with how many.
fn candidates(left: &BTreeSet<&str>, right: &BTreeSet<&str>) -> BTreeMap<Root, usize> {
    let mut named: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    right.iter().for_each(|file| named.entry(name(file)).or_default().push(file));
    let mut counts: BTreeMap<Root, usize> = BTreeMap::new();
    for file in left {
        let there = named.get(name(file)).map_or(&[][..], Vec::as_slice);
        // So many files of one name (`mod.rs`) say nothing, and take long.
        let pairs: BTreeSet<Root> =
            there.iter().take(64).filter_map(|other| root(file, other)).collect();
        pairs.into_iter().for_each(|root| *counts.entry(root).or_default() += 1);
    }
    counts
}

fn name(file: &str) -> &str {
    file.rsplit(['/', '\\']).next().unwrap_or(file)
}

/// What lies in front of the folders and the name that two paths end with.
fn root(a: &str, b: &str) -> Option<Root> {
    let [mut x, mut y] = [a, b];
    loop {
        let cut = |path: &str| path.rfind(['/', '\\']);
        let (Some(at), Some(there)) = (cut(x), cut(y)) else { break };
        if x[at + 1..] != y[there + 1..] {
            break;
        }
        (x, y) = (&x[..at], &y[..there]);
    }
    let is_known = x.len() < a.len() && !x.is_empty() && !y.is_empty() && x != y;
    is_known.then(|| Root { a: x.to_owned(), b: y.to_owned() })
}

/// Whether two directories are one tree at two places, not a directory of one tree whose files were
/// moved into another, and not two programs that have a `main.c` each. At least half of what the
/// side with more files has beside those of both, `most`, must lie in it.
fn is_tree(root: &Root, files: usize, most: usize, both: &[&str]) -> bool {
    let stays = |directory: &str| both.iter().any(|file| is_in(file, directory));
    if stays(&root.a) || stays(&root.b) {
        return false;
    }
    if origins::other_version(&root.a, &root.b).is_some() {
        return false;
    }
    // Where files beside them stayed, a few that did not were moved.
    let shared = parent(&root.a, &root.b);
    files >= A_TREE || files * 2 >= most && !both.iter().any(|file| file.starts_with(&shared))
}

/// What both directories lie in.
fn parent(a: &str, b: &str) -> String {
    let parts = |path: &str| -> Vec<String> {
        path.split_inclusive(['/', '\\']).map(str::to_owned).collect()
    };
    let (a, b) = (parts(a), parts(b));
    a.iter().zip(&b).take_while(|(x, y)| x == y).map(|(x, _)| x.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(a: &[&str], b: &[&str]) -> Vec<(String, String)> {
        let roots = roots(&a.iter().copied().collect(), &b.iter().copied().collect());
        roots.into_iter().map(|root| (root.a, root.b)).collect()
    }

    fn one(a: &str, b: &str) -> Vec<(String, String)> {
        vec![(a.to_owned(), b.to_owned())]
    }

    #[test]
    fn a_tree_at_two_places_is_one() {
        let a = ["/w/main/src/a.c", "/w/main/src/b.c", "/usr/lib/x.S"];
        let b = ["/w/change/src/a.c", "/w/change/src/c.c", "/usr/lib/x.S"];
        assert_eq!(found(&a, &b), one("/w/main", "/w/change"));
        // A work tree inside the checkout, and a single file.
        assert_eq!(found(&["/w/a.c"], &["/w/.trees/x/a.c"]), one("/w", "/w/.trees/x"));
        // What lies beside them stayed; enough files say that it is a tree.
        let a = ["/w/main/a.c", "/w/main/b.c", "/w/main/c.c", "/w/sdk/x.c"];
        let b = ["/w/new/a.c", "/w/new/b.c", "/w/new/c.c", "/w/sdk/x.c"];
        assert_eq!(found(&a, &b), one("/w/main", "/w/new"));
        let windows = found(&["C:\\a\\src\\m.c"], &["D:\\b\\src\\m.c"]);
        assert_eq!(windows, one("C:\\a", "D:\\b"));
    }

    #[test]
    fn a_moved_file_and_another_version_are_no_tree() {
        assert_eq!(found(&["src/drv/u.c", "src/m.c"], &["src/hal/u.c", "src/m.c"]), []);
        assert_eq!(found(&["drv/u.c", "m.c"], &["hal/u.c", "m.c"]), []);
        assert_eq!(found(&["/w/u.c", "/w/m.c"], &["/w/sub/u.c", "/w/m.c"]), []);
        // Two programs that begin alike.
        let a = ["/p/blink/main.c", "/p/blink/led.c", "/p/blink/avr.c"];
        let b = ["/p/loop/main.c", "/p/loop/clock.c", "/p/loop/test.S"];
        assert_eq!(found(&a, &b), []);
        let of = |version: &str| ["a", "b", "c"].map(|n| format!("/r/heap-{version}/{n}.c"));
        let (old, new) = (of("1.2"), of("1.3"));
        let [old, new] = [&old, &new].map(|files| files.each_ref().map(String::as_str));
        assert_eq!(found(&old, &new), []);
    }
}
