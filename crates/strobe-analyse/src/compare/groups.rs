//! The functions of one side: what each has of a measure, what it calls, its instructions, and
//! where it was inlined. Clones that a compiler makes of a function are that function.

use std::collections::{BTreeMap, BTreeSet};
use strobe_model::measurement::ids;

use strobe_model::measurement::{Cell, Kind, Measure, Measurement, Profile, Samples};

use super::sum::Sum;
use crate::bands::{self, Band};

/// What code without a function is called.
pub(super) const NOWHERE: &str = "(no function)";

/// A function with its clones.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Its name, without what a compiler adds for clones and hashes.
    pub(super) name: String,
    pub(super) file: Option<String>,
    /// The names of its symbols.
    pub(super) names: BTreeSet<String>,
    /// Where it begins; with clones, the first one.
    pub(super) address: Option<u64>,
    /// It is a directory or another place in chains that has nothing of its own.
    pub(super) is_place: bool,
    pub(super) code: Vec<Instruction>,
    /// Names of what calls it and of what it calls.
    pub(super) near: BTreeSet<String>,
    /// Names of what calls it, without what it interrupts.
    pub(super) callers: BTreeSet<String>,
    pub(super) own: Sum,
    pub(super) inclusive: Sum,
    pub(super) calls: i64,
    /// The same with its ends.
    pub(super) called: Sum,
    pub(super) executions: i64,
    /// Parts of what it has by itself, without those that are idle.
    pub(super) parts: BTreeMap<String, i64>,
}

/// An instruction of the measurement's disassembly.
#[derive(Debug, Clone, Default)]
pub(super) struct Instruction {
    pub(super) address: u64,
    pub(super) text: String,
    /// The instruction without what depends on where the linker put things.
    pub(super) token: String,
    /// What the measure has at it, and how often it ran.
    pub(super) taken: Sum,
    pub(super) executions: Sum,
}

/// One side's profile by function.
pub(super) struct Side<'m> {
    pub(super) profile: &'m Profile,
    pub(super) groups: Vec<Group>,
    /// By function of the profile; the last one is for code without any.
    of: BTreeMap<Option<u32>, usize>,
    pub(super) has_inclusive: bool,
    pub(super) has_calls: bool,
    pub(super) has_executions: bool,
    pub(super) idle: Sum,
    pub(super) all: i64,
    /// The same with its ends, which are not those of the groups added up.
    pub(super) whole: Sum,
    pub(super) kind: Kind,
    /// Both sides rest on one model of one board, whose error they share.
    pub(super) one_model: bool,
    /// They rest on different timing models: what these may be off is in the bounds of figures.
    pub(super) other_models: bool,
    /// What lines of a function take that were inlined elsewhere: by name, then by group.
    pub(super) inlined: BTreeMap<String, BTreeMap<usize, i64>>,
}

impl<'m> Side<'m> {
    /// Files distinguish functions of one name, unless `by_name` alone is wanted. Sums are as far
    /// off as a timing model may be, if one is given.
    pub(super) fn new(
        measurement: &Measurement,
        profile: &'m Profile,
        measure: &Measure,
        by_name: bool,
        band: Option<&Band>,
    ) -> Side<'m> {
        let kind = profile.measure(&measure.id).map_or(Kind::Exact, |m| m.kind.clone());
        let mut side = Side {
            profile,
            groups: Vec::new(),
            of: BTreeMap::new(),
            has_inclusive: profile.chains.of(&measure.id).is_some(),
            has_calls: profile.chains.of(ids::measure::CALLS).is_some(),
            has_executions: profile.leaves.of(ids::measure::EXECUTIONS).is_some(),
            idle: Sum::default(),
            all: 0,
            whole: Sum::default(),
            kind,
            one_model: false,
            other_models: false,
            inlined: BTreeMap::new(),
        };
        side.group(by_name);
        side.add_up(measure);
        side.whole = side.idle;
        side.groups.iter().for_each(|group| side.whole.add(group.own));
        match band.filter(|_| bands::is_work(measure)) {
            Some(band) => side.widen(band, measurement, measure),
            None => side.whole = side.whole.within_total(measurement, measure),
        }
        side.find_places();
        side.read_code(measurement, measure);
        side
    }

    /// Whether any function has a file.
    pub(super) fn knows_files(profile: &Profile) -> bool {
        profile.functions.file.iter().any(Option::is_some)
    }

    /// Whether any code has a function with a name of its own; `(.text, no symbol)` is none.
    pub(super) fn knows_names(&self) -> bool {
        let is_name = |name: &String| !name.starts_with('(') || name.contains("::");
        let mut used = self.profile.locations.function.iter().flatten();
        used.any(|at| self.profile.functions.name.get(*at as usize).is_some_and(is_name))
    }

    fn group(&mut self, by_name: bool) {
        let profile = self.profile;
        let used: BTreeSet<Option<u32>> = profile.locations.function.iter().copied().collect();
        let mut places: BTreeMap<(String, Option<String>), usize> = BTreeMap::new();
        for function in used {
            let name = match function {
                Some(_) => profile.function_name(function),
                None => NOWHERE,
            };
            let at = function.map(|f| f as usize);
            let file = at.and_then(|at| profile.functions.file.get(at).copied().flatten());
            let file = file.filter(|_| !by_name);
            let file = file.and_then(|file| profile.files.get(file as usize)).cloned();
            let key = (base(name).to_owned(), file.clone());
            let place = *places.entry(key).or_insert_with(|| {
                let name = base(name).to_owned();
                self.groups.push(Group { name, file, ..Group::default() });
                self.groups.len() - 1
            });
            let group = &mut self.groups[place];
            group.names.insert(name.to_owned());
            let address = at.and_then(|at| profile.functions.address.get(at).copied().flatten());
            group.address = [group.address, address.map(|a| a.0)].into_iter().flatten().min();
            self.of.insert(function, place);
        }
    }

    /// The group at a location.
    fn at(&self, location: Option<u32>) -> Option<usize> {
        let function = location.and_then(|at| self.profile.function_at(at));
        self.of.get(&function).copied()
    }

    fn add_up(&mut self, measure: &Measure) {
        let profile = self.profile;
        let parts: Vec<(&str, bool)> =
            profile.parts(&measure.id).map(|(part, of)| (part.id.as_str(), of.idle)).collect();
        let by_location = profile.leaves.of(&measure.id).is_some();
        if by_location {
            for (sample, at) in profile.leaves.at.iter().enumerate() {
                self.own(&profile.leaves, measure, &parts, (sample, *at));
            }
        }
        let idle: Vec<&str> = parts.iter().filter(|part| part.1).map(|part| part.0).collect();
        let calls = profile.chains.of(ids::measure::CALLS);
        for (sample, at) in profile.chains.at.iter().enumerate() {
            let chain = chain(profile, *at);
            let innermost = self.at(chain.first().copied()).or_else(|| self.nowhere());
            if let (Some(calls), Some(group)) = (calls, innermost) {
                let called = Sum::of_sample(calls, sample).unwrap_or_default();
                let group = &mut self.groups[group];
                group.calls = group.calls.saturating_add(called.value);
                group.called.add(called);
            }
            if !by_location && profile.chains.of(&measure.id).is_some() {
                self.own(&profile.chains, measure, &parts, (sample, chain.first().copied()));
            }
            self.chain(measure, &idle, sample, &chain);
        }
    }

    /// Adds what a timing model may be off, when everything has been added up.
    fn widen(&mut self, band: &Band, measurement: &Measurement, measure: &Measure) {
        self.kind = band.kind(&self.kind);
        self.whole = self.whole.whole(self.idle, band, (measurement, measure));
        for group in &mut self.groups {
            group.own = group.own.widened(Sum::default(), band);
            group.inclusive = group.inclusive.widened(Sum::default(), band);
        }
    }

    /// Where functions have addresses, what has none and no sample of its own is not one.
    fn find_places(&mut self) {
        let profile = self.profile;
        let has_addresses = profile.functions.address.iter().any(Option::is_some);
        let sampled: BTreeSet<Option<usize>> =
            profile.leaves.at.iter().map(|at| self.at(*at)).collect();
        for (number, group) in self.groups.iter_mut().enumerate() {
            let is_sampled = profile.leaves.at.is_empty() || sampled.contains(&Some(number));
            group.is_place = has_addresses && group.address.is_none() && !is_sampled;
        }
    }

    /// Where what belongs to no function is put.
    fn nowhere(&mut self) -> Option<usize> {
        if !self.of.contains_key(&None) {
            let names = [NOWHERE.to_owned()].into();
            self.groups.push(Group { name: NOWHERE.to_owned(), names, ..Group::default() });
            self.of.insert(None, self.groups.len() - 1);
        }
        self.of.get(&None).copied()
    }

    fn own(
        &mut self,
        samples: &Samples,
        measure: &Measure,
        parts: &[(&str, bool)],
        (sample, at): (usize, Option<u32>),
    ) {
        let idle: Vec<&str> = parts.iter().filter(|part| part.1).map(|part| part.0).collect();
        let Some((sum, idle)) = Sum::of(samples, &measure.id, &idle, sample) else { return };
        let Some(group) = self.at(at).or_else(|| self.nowhere()) else { return };
        self.idle.add(idle);
        self.all = self.all.saturating_add(sum.value).saturating_add(idle.value);
        let value = |id: &str| samples.of(id).and_then(|v| v.values.get(sample).copied());
        let entry = &mut self.groups[group];
        entry.own.add(sum);
        for (id, _) in parts.iter().filter(|(_, idle)| !idle) {
            *entry.parts.entry((*id).to_owned()).or_default() += value(id).unwrap_or(0);
        }
        let ran = value("executions").unwrap_or(0) - value("executions-idle").unwrap_or(0);
        entry.executions = entry.executions.saturating_add(ran);
        let Some(at) = at else { return };
        for frame in self.profile.frames_at(at) {
            let outer = self.profile.frames.outer.get(frame).copied().flatten();
            let function = self.profile.frames.function.get(frame).copied();
            if outer.is_some() {
                let name = base(self.profile.function_name(function)).to_owned();
                *self.inlined.entry(name).or_default().entry(group).or_default() += sum.value;
            }
        }
    }

    fn chain(&mut self, measure: &Measure, idle: &[&str], sample: usize, chain: &[u32]) {
        let groups: Vec<usize> = chain.iter().filter_map(|at| self.at(Some(*at))).collect();
        if let [inner, outer, ..] = groups.as_slice() {
            let names = [inner, outer].map(|at| self.groups[*at].name.clone());
            let [of_inner, of_outer] = names;
            if of_outer != NOWHERE && of_outer != of_inner {
                self.groups[*inner].callers.insert(of_outer.clone());
            }
            self.groups[*inner].near.insert(of_outer);
            self.groups[*outer].near.insert(of_inner);
        }
        let found = Sum::of(&self.profile.chains, &measure.id, idle, sample);
        let Some((sum, _)) = found else { return };
        // One that calls itself has what it takes once.
        for group in groups.into_iter().collect::<BTreeSet<_>>() {
            self.groups[group].inclusive.add(sum);
        }
    }

    fn read_code(&mut self, measurement: &Measurement, measure: &Measure) {
        let Some(table) = measurement.table(ids::section::DISASSEMBLY) else { return };
        let columns = ["address", "text"].map(|id| table.column(id));
        let [Some(addresses), Some(texts)] = columns else { return };
        let mut starts: BTreeMap<u64, usize> = BTreeMap::new();
        let addresses_of = &self.profile.functions.address;
        for (function, group) in &self.of {
            let address = function.and_then(|f| addresses_of.get(f as usize).copied().flatten());
            starts.extend(address.map(|address| (address.0 & !1, *group)));
        }
        let taken = by_address(self.profile, &measure.id);
        for (address, text) in addresses.cells.iter().zip(&texts.cells) {
            let (Cell::Address(address), Some(text)) = (address, text.text()) else { continue };
            let Some((_, group)) = starts.range(..=address.0).next_back() else { continue };
            let (taken, executions) = taken.get(&address.0).copied().unwrap_or_default();
            self.groups[*group].code.push(Instruction {
                address: address.0,
                text: text.to_owned(),
                token: token(text),
                taken,
                executions,
            });
        }
    }
}

/// What a measure has at each address, and how often the instruction there ran.
fn by_address(profile: &Profile, measure: &str) -> BTreeMap<u64, (Sum, Sum)> {
    let mut all: BTreeMap<u64, (Sum, Sum)> = BTreeMap::new();
    let samples = &profile.leaves;
    let [values, ran] = [measure, "executions"].map(|id| samples.of(id));
    for (sample, at) in samples.at.iter().enumerate() {
        let address = at.and_then(|at| profile.locations.address.get(at as usize).copied());
        let Some(address) = address.flatten() else { continue };
        let value = |values: Option<&strobe_model::measurement::Values>| {
            values.and_then(|values| Sum::of_sample(values, sample)).unwrap_or_default()
        };
        let sum = all.entry(address.0).or_default();
        sum.0.add(value(values));
        sum.1.add(value(ran));
    }
    all
}

/// The locations of a chain, the innermost first.
fn chain(profile: &Profile, at: Option<u32>) -> Vec<u32> {
    let stacks = &profile.stacks;
    let caller =
        |at: &u32| stacks.parent.get(*at as usize).copied().flatten().filter(|parent| parent < at);
    let each = std::iter::successors(at, caller);
    each.filter_map(|at| stacks.location.get(at as usize).copied()).collect()
}

/// A name without what compilers add to clones (`.part.0`, `.constprop.1`, `.isra.0`, `.cold`,
/// `.lto_priv.3`, `.llvm.123`), which demangled names have as ` [clone .part.0]`, and without the
/// hash of an older Rust name.
pub(super) fn base(name: &str) -> &str {
    let name = name.split_once(" [clone .").map_or(name, |(name, _)| name);
    const ADDED: [&str; 7] =
        [".part.", ".constprop.", ".isra.", ".cold", ".lto_priv.", ".llvm.", ".localalias"];
    let cut = ADDED.iter().filter_map(|added| name.find(added)).min();
    let name = &name[..cut.filter(|cut| *cut > 0).unwrap_or(name.len())];
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            path
        }
        _ => name,
    }
}

/// An instruction without addresses: where a branch leads and where a constant lies changes with
/// the linking.
fn token(text: &str) -> String {
    let mnemonic = text.split_whitespace().next().unwrap_or_default();
    let first = text.split([',', ' ']).filter(|word| !word.is_empty()).nth(1).unwrap_or_default();
    if text.contains('<') {
        return mnemonic.to_owned();
    }
    if text.contains("[pc") || mnemonic.starts_with("movw") || mnemonic.starts_with("movt") {
        return format!("{mnemonic} {first}");
    }
    let is_address = |word: &str| {
        let word = word.trim_start_matches(['#', '[']).trim_end_matches([',', ']']);
        word.strip_prefix("0x").is_some_and(|digits| digits.len() > 4)
    };
    let words = text.split_whitespace().map(|word| if is_address(word) { "@" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_have_the_name_of_their_origin() {
        for (name, of) in [
            ("send.part.0", "send"),
            ("send.constprop.0.isra.1", "send"),
            ("Ring<int>::put(int) [clone .isra.0]", "Ring<int>::put(int)"),
            ("mix(Ring<int>&) [clone .constprop.0] [clone .lto_priv.0]", "mix(Ring<int>&)"),
            ("app::run::h0123456789abcdef", "app::run"),
            ("app::here", "app::here"),
            (".part.0", ".part.0"),
        ] {
            assert_eq!(base(name), of);
        }
    }

    #[test]
    fn instructions_are_the_same_wherever_they_are_linked() {
        for (a, b) in [
            ("bne #0x80000ca <loop+0xa>", "bne #0x80001d8 <loop+0xc>"),
            ("ldr r0, [pc, #0x14]", "ldr r0, [pc, #0x20]"),
            ("bl 0x8000400", "bl 0x8000480"),
        ] {
            assert_eq!(token(a), token(b), "{a}");
        }
        assert_ne!(token("subs r3, #1"), token("subs r3, #2"));
        assert_ne!(token("ldr r0, [r1, #4]"), token("ldr r0, [r1, #8]"));
    }
}
