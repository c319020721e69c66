//! Code that the language or the library brings along: formatting, floating-point arithmetic,
//! exceptions, and who in the program needs it. What belongs together are rules (`support.toml`).
//!
//! A family takes the bytes of its symbols, and what only they lead to. Who needs it are those
//! functions outside of libraries that lead to it; where formats decide, those whose format string
//! has such a conversion.

use serde::Deserialize;

use super::graph::Graph;
use super::items::Bytes;
use super::patterns::Patterns;
use crate::references::{Edge, Id, ReferenceKind};

/// The families, as data.
const BUILT_IN: &str = include_str!("support.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    family: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    id: String,
    name: String,
    symbol: Vec<String>,
    #[serde(default)]
    conversions: String,
    #[serde(default)]
    advice: Option<String>,
    #[serde(default)]
    instead: Vec<Instead>,
    #[serde(default)]
    apart: Vec<String>,
}

/// Advice for images that have a function.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Instead {
    symbol: String,
    advice: String,
}

/// A family that an image has.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) id: String,
    pub(super) name: String,
    /// What to do about it.
    pub(super) advice: Option<String>,
    /// Its symbols, the largest first.
    pub(super) members: Vec<Id>,
    /// What they take themselves.
    pub(super) own: Bytes,
    /// What else only they lead to, the largest first.
    pub(super) beside: Vec<Id>,
    /// Its symbols and what only they lead to.
    pub(super) all: Bytes,
    pub(super) needed_by: Needed,
}

/// Who needs a family, each with the reference that leads there.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Needed {
    /// Functions that lead to it.
    By(Vec<Edge>),
    /// Functions with a format string that needs it.
    ByFormats(Vec<Edge>),
    /// Functions lead to it, and no format string that is a constant needs it.
    ByNoFormat(Vec<Edge>),
    /// Nothing that the image shows.
    Unknown,
}

impl Needed {
    pub(super) fn edges(&self) -> &[Edge] {
        match self {
            Needed::By(edges) | Needed::ByFormats(edges) | Needed::ByNoFormat(edges) => edges,
            Needed::Unknown => &[],
        }
    }
}

/// The families of an image, the largest first.
pub(super) fn families(graph: &Graph<'_>) -> Vec<Family> {
    // The file is part of the program, and a test reads it.
    let rules = toml::from_str::<File>(BUILT_IN).map_or_else(|_| Vec::new(), |file| file.family);
    let patterns = patterns(&rules);
    let mut members: Vec<Vec<Id>> = vec![Vec::new(); rules.len()];
    for node in 0..graph.references.nodes.len() {
        let Some((linked, shown)) = graph.names(node) else { continue };
        let linked = Some(linked).filter(|linked| *linked != shown);
        let families = [linked, Some(shown)].into_iter().flatten();
        if let Some(family) = families.filter_map(|name| patterns.first_rule(name)).min() {
            members[family].push(node);
        }
    }
    let apart: Vec<Vec<Id>> =
        rules.iter().map(|rule| all_of(&rule.apart, &rules, &members)).collect();
    let all = rules.into_iter().zip(members).zip(apart);
    let found = all.filter(|((_, members), _)| !members.is_empty());
    let mut families: Vec<Family> =
        found.map(|((rule, members), apart)| family(graph, rule, members, &apart)).collect();
    families.retain(|family| family.all.sum() > 0);
    families.sort_by(|a, b| (b.all.flash, &a.id).cmp(&(a.all.flash, &b.id)));
    families
}

fn patterns(rules: &[Rule]) -> Patterns {
    Patterns::new(rules.iter().map(|rule| rule.symbol.as_slice())).unwrap_or_default()
}

/// The members of the families with these names.
fn all_of(ids: &[String], rules: &[Rule], members: &[Vec<Id>]) -> Vec<Id> {
    let named = rules.iter().zip(members).filter(|(rule, _)| ids.contains(&rule.id));
    named.flat_map(|(_, members)| members.iter().copied()).collect()
}

fn family(graph: &Graph<'_>, rule: Rule, mut members: Vec<Id>, apart: &[Id]) -> Family {
    let mut is_member = vec![false; graph.references.nodes.len()];
    members.iter().for_each(|node| is_member[*node] = true);
    let rest = graph.references.reached_without(|node| is_member[node]);
    let goes = |node: &Id| graph.is_reached[*node] && !rest[*node] && !is_member[*node];
    let mut beside: Vec<Id> = (0..graph.references.nodes.len()).filter(goes).collect();
    let size = |node: &Id| std::cmp::Reverse((graph.own[*node].sum(), *node));
    members.sort_by_key(size);
    beside.sort_by_key(size);
    let own = graph.sum(members.iter().copied());
    let mut all = graph.sum(beside.iter().copied());
    all += own;
    beside.iter().for_each(|node| is_member[*node] = true);
    let needed_by = needed_by(graph, &is_member, &rule.conversions);
    let is_all = apart.is_empty() || needed_by.edges().is_empty();
    let is_apart = is_all || !leading(graph, &is_member, apart).is_empty();
    let advice = advice(graph, &rule).filter(|_| is_apart);
    let Rule { id, name, .. } = rule;
    Family { id, name, advice, members, own, beside, all, needed_by }
}

/// What to do about a family: it may depend on which library it is of.
fn advice(graph: &Graph<'_>, rule: &Rule) -> Option<String> {
    let functions = graph.firmware.functions();
    let has = |symbol: &str| functions.iter().any(|f| f.linkage_names().any(|name| name == symbol));
    let instead = rule.instead.iter().find(|instead| has(&instead.symbol));
    instead.map(|instead| instead.advice.clone()).or_else(|| rule.advice.clone())
}

/// References from outside of libraries that lead to a family, directly or through a library, but
/// not through what is set apart.
fn leading(graph: &Graph<'_>, is_member: &[bool], apart: &[Id]) -> Vec<Edge> {
    let members = (0..is_member.len()).filter(|node| is_member[*node]);
    let mut work: Vec<Id> = members.filter(|node| graph.is_reached[*node]).collect();
    let mut is_seen = is_member.to_vec();
    apart.iter().for_each(|node| is_seen[*node] = true);
    let mut found: Vec<Edge> = Vec::new();
    while let Some(node) = work.pop() {
        for edge in graph.references.to(node) {
            let is_new = !std::mem::replace(&mut is_seen[edge.from], true);
            if !is_new || !graph.is_reached[edge.from] {
                continue;
            }
            if graph.is_library(edge.from) || is_data(graph, edge.from) {
                work.push(edge.from)
            } else {
                found.push(*edge)
            }
        }
    }
    found.sort_unstable();
    found
}

/// Who needs a family.
fn needed_by(graph: &Graph<'_>, is_member: &[bool], conversions: &str) -> Needed {
    let found = leading(graph, is_member, &[]);
    if conversions.is_empty() {
        return if found.is_empty() { Needed::Unknown } else { Needed::By(found) };
    }
    let mut formats = formats(graph, conversions);
    match (formats.is_empty(), found.is_empty()) {
        (false, _) => {
            formats.dedup_by_key(|edge| edge.from);
            Needed::ByFormats(formats)
        }
        (true, false) if is_rust(graph) => Needed::By(found),
        (true, false) => Needed::ByNoFormat(found),
        (true, true) => Needed::Unknown,
    }
}

/// Rust has no format strings in the image.
fn is_rust(graph: &Graph<'_>) -> bool {
    graph.firmware.producers().iter().any(|producer| producer.contains("rustc"))
}

fn is_data(graph: &Graph<'_>, node: Id) -> bool {
    graph.text(node).is_none()
        && !matches!(graph.references.nodes[node].what, crate::references::NodeKind::Function(_))
}

/// References of the program's own code to format strings with one of these conversions.
fn formats(graph: &Graph<'_>, conversions: &str) -> Vec<Edge> {
    let nodes = 0..graph.references.nodes.len();
    let texts =
        nodes.filter(|node| graph.text(*node).is_some_and(|text| converts(text, conversions)));
    let edges = texts.flat_map(|node| graph.references.to(node));
    let is_own = |edge: &&Edge| {
        edge.how == ReferenceKind::Takes
            && graph.is_reached[edge.from]
            && !graph.is_library(edge.from)
    };
    let mut edges: Vec<Edge> = edges.filter(is_own).copied().collect();
    edges.sort_unstable();
    edges
}

/// Whether a format string has one of these conversions (C11, 7.21.6.1).
pub(super) fn converts(text: &str, conversions: &str) -> bool {
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once('%') {
        let after = behind.trim_start_matches(|c: char| "-+ #0'".contains(c));
        let is_width = |c: char| c.is_ascii_digit() || "*.$".contains(c);
        let after = after.trim_start_matches(is_width);
        let after = after.trim_start_matches(|c: char| "hlLjztq".contains(c));
        match after.chars().next() {
            Some(c) if conversions.contains(c) => return true,
            Some(c) => rest = &after[c.len_utf8()..],
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_rules() {
        let file: File = toml::from_str(BUILT_IN).unwrap();
        assert!(file.family.iter().flat_map(|rule| &rule.symbol).count() > 100);
        let all = Patterns::new(file.family.iter().map(|rule| rule.symbol.as_slice())).unwrap();
        let first = |name: &str| all.first_rule(name).map(|rule| file.family[rule].id.as_str());
        assert_eq!(first("_printf_float"), Some("float-formatting"));
        assert_eq!(first("__aeabi_dmul"), Some("soft-double"));
        assert_eq!(first("__aeabi_fmul"), Some("soft-float"));
        assert_eq!(first("_vfprintf_r"), Some("printf"));
        assert_eq!(first("core::fmt::Formatter::pad_integral"), Some("rust-formatting"));
        assert_eq!(first("main"), None);
    }

    #[test]
    fn conversions_are_found_where_they_are() {
        let floats = "aAeEfFgG";
        for yes in ["%f", "%-8.3lf", "a %d %5.1e", "%%%g", "%+*.*Lf", "100%% %a"] {
            assert!(converts(yes, floats), "{yes}");
        }
        for no in ["", "%", "%%f", "%d of %s", "100 %", "%ld fine", "%-", "%5%f"] {
            assert!(!converts(no, floats), "{no}");
        }
    }
}
