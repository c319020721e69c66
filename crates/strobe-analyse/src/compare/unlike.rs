//! What the two sides do not have in common: what makes their figures hard to compare, and what is
//! not compared.

use std::collections::BTreeSet;

use strobe_model::measurement::{Measurement, Settings, Severity, Unit};

use super::comparison::{Comparison, SideId};
use super::found::Nameless;
use super::roots::Root;
use super::threshold::Excess;

/// Lengths of runs that are farther apart are different ones; a limit is reached within some
/// instructions.
pub(super) const LENGTHS_APART: f64 = 0.001;

/// Settings that are inputs of the firmware, by a part of their names.
const INPUTS: [&str; 4] = ["input", "adc", "fuses", "stimulus"];

/// One thing that the two do not have in common.
#[derive(Debug, Clone, PartialEq)]
pub enum Unlike {
    /// Another instrument, by its kind.
    Instrument([String; 2]),
    /// Another version of the program that measured.
    Tool([String; 2]),
    /// Another board; unknown where it is empty.
    Board([String; 2]),
    /// Another core; unknown where it is empty.
    Core([String; 2]),
    /// Another core clock in hertz, each that was set in turn.
    Clock([Vec<u32>; 2]),
    /// Another number of windows; none for the whole run.
    Windows([Option<u64>; 2]),
    /// Other inputs, by name and value.
    Inputs([Vec<(String, String)>; 2]),
    /// Compilers that one side alone has code of.
    Compiler([Vec<String>; 2]),
    /// Other settings of the instrument.
    Settings(Vec<Setting>),
    /// Ends for different reasons, by the text of the measurements.
    End([String; 2]),
    /// Runs of a set that ended for different reasons, with how many of each side did.
    RunEnds(Vec<(String, [usize; 2])>),
    /// Both were stopped, after different times in milliseconds.
    Stopped([f64; 2]),
    /// Both are recordings, of different lengths in milliseconds.
    RecordingLength {
        /// Those lengths.
        milliseconds: [f64; 2],
        /// Whether both are of a simulated board, which chooses no length by chance.
        simulated: bool,
    },
    /// Both were stopped after the same time in milliseconds.
    SameLength(f64),
    /// A side was shortened when it was written.
    Shortened {
        /// That side.
        side: SideId,
        /// What was left out.
        text: String,
    },
    /// Parts of rigs that both sides have, which are not compared.
    Parts(Vec<String>),
    /// Figures or sections that one side alone has, or has in another unit.
    OneSided {
        /// That side.
        side: SideId,
        /// Figures or sections.
        of: OneSided,
        /// Their ids, with their unit or title.
        ids: Vec<(String, String)>,
    },
    /// Both rest on one timing model.
    SharedModel,
    /// They rest on different timing models.
    OtherModel,
    /// They were built in different directories.
    Directories(Vec<Root>),
    /// A side knows no source files.
    NoFiles(SideId),
    /// B does another amount of the same work.
    Amount {
        /// So many times as much.
        times: f64,
        /// The part of the unit that is called that many times as often, from 0 to 1.
        share: f64,
        /// The unit of the measure.
        unit: Unit,
        /// Functions with their calls on each side, those that take most first.
        calls: Vec<(String, [i64; 2])>,
    },
    /// Tables whose rows have no names.
    NamelessRows(Vec<String>),
    /// Distributions in ticks of another length.
    Ticks {
        /// The first one's name.
        name: String,
        /// Its unit.
        unit: Unit,
        /// The number of distributions.
        count: u64,
    },
    /// Sides whose functions have no names.
    NoSymbols(Nameless),
    /// Two programs that have next to nothing in common.
    OtherPrograms {
        /// The number of functions of each side.
        functions: [usize; 2],
        /// The number of functions in both.
        both: usize,
        /// The part that these take of each side, from 0 to 1.
        shares: [f64; 2],
    },
    /// A limit is exceeded; perhaps by chance, if it is not certain.
    AboveLimit {
        /// By how much.
        excess: Excess,
        /// Whether it is certain.
        certain: bool,
    },
}

/// Things that one side alone may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OneSided {
    /// Headline figures.
    Totals,
    /// Sections.
    Sections,
}

/// A setting that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value on each side, if it has one.
    pub values: [Option<String>; 2],
}

impl Unlike {
    /// Its name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Unlike::Instrument(_) => "other-instrument",
            Unlike::Tool(_) => "other-tool",
            Unlike::Board(_) => "other-board",
            Unlike::Core(_) => "other-core",
            Unlike::Clock(_) => "other-clock",
            Unlike::Windows(_) => "other-windows",
            Unlike::Inputs(_) => "other-inputs",
            Unlike::Compiler(_) => "other-compiler",
            Unlike::Settings(_) => "other-settings",
            Unlike::End(_) | Unlike::RunEnds(_) => "other-end",
            Unlike::Stopped(_) | Unlike::RecordingLength { .. } => "other-length",
            Unlike::SameLength(_) => "same-length",
            Unlike::Shortened { .. } => "shortened-side",
            Unlike::Parts(_) => "parts",
            Unlike::OneSided { of: OneSided::Totals, .. } => "one-sided-totals",
            Unlike::OneSided { of: OneSided::Sections, .. } => "one-sided-sections",
            Unlike::SharedModel => "shared-model",
            Unlike::OtherModel => "other-model",
            Unlike::Directories(_) => "other-directory",
            Unlike::NoFiles(_) => "no-files",
            Unlike::Amount { .. } => "other-amount",
            Unlike::NamelessRows(_) => "not-compared",
            Unlike::Ticks { .. } => "other-tick",
            Unlike::NoSymbols(_) => "no-symbols",
            Unlike::OtherPrograms { .. } => "different-programs",
            Unlike::AboveLimit { certain: true, .. } => "above-limit",
            Unlike::AboveLimit { certain: false, .. } => "maybe-above-limit",
        }
    }

    /// How grave it is: a warning where figures may mislead.
    pub fn severity(&self) -> Severity {
        match self {
            Unlike::Settings(_)
            | Unlike::RecordingLength { simulated: false, .. }
            | Unlike::SameLength(_)
            | Unlike::OneSided { .. }
            | Unlike::SharedModel
            | Unlike::OtherModel
            | Unlike::Directories(_)
            | Unlike::NoFiles(_)
            | Unlike::NamelessRows(_) => Severity::Note,
            _ => Severity::Warning,
        }
    }
}

/// Adds what makes the figures hard to compare.
pub(super) fn differing(compared: &mut Comparison, sides: [&Measurement; 2], is_set: bool) {
    let of = |text: fn(&Measurement) -> String| sides.map(text);
    let unlike = &mut compared.unlike;
    differ(unlike, of(|m| m.instrument.kind.clone()), Unlike::Instrument);
    differ(unlike, of(|m| m.instrument.tool.clone()), Unlike::Tool);
    differ(unlike, of(|m| m.subject.board.clone().unwrap_or_default()), Unlike::Board);
    differ(unlike, of(|m| m.subject.core.clone().unwrap_or_default()), Unlike::Core);
    differ(unlike, sides.map(clock), Unlike::Clock);
    differ(unlike, sides.map(|m| m.window.entries), Unlike::Windows);
    unlike.extend(other_compilers(sides));
    differ(unlike, sides.map(inputs), Unlike::Inputs);
    unlike.extend(ends(sides));
    unlike.extend(shortened(sides));
    unlike.extend(other_settings(sides.map(|side| &side.instrument.settings), is_set));
}

/// Adds a property in which the two differ.
fn differ<T: PartialEq>(unlike: &mut Vec<Unlike>, sides: [T; 2], kind: fn([T; 2]) -> Unlike) {
    if sides[0] != sides[1] {
        unlike.push(kind(sides));
    }
}

fn clock(side: &Measurement) -> Vec<u32> {
    side.subject.clock.iter().map(|span| span.hz).collect()
}

fn inputs(side: &Measurement) -> Vec<(String, String)> {
    let is_input = |name: &str| INPUTS.iter().any(|part| name.contains(part));
    let settings = side.instrument.settings.iter().filter(|(name, _)| is_input(name));
    settings.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Settings of the instrument that are not the same. Runs of a set are shifted against each other.
fn other_settings([a, b]: [&Settings; 2], is_set: bool) -> Option<Unlike> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let differ = names.into_iter().filter(|name| a.get(*name) != b.get(*name));
    let differ = differ.filter(|name| !is_set || *name != "phase");
    let settings = differ.map(|name| {
        let values = [a, b].map(|of| of.get(name).cloned());
        Setting { name: name.clone(), values }
    });
    let settings: Vec<Setting> = settings.collect();
    (!settings.is_empty()).then_some(Unlike::Settings(settings))
}

/// Compilers, with their versions and options, that one side alone has code of: a library may be
/// another one. What is not known of one does not differ.
fn other_compilers(sides: [&Measurement; 2]) -> Option<Unlike> {
    let [a, b] = sides.map(|measurement| -> BTreeSet<String> {
        let facts = measurement.subject.facts.iter().filter(|fact| fact.name == "compiler");
        facts.filter_map(|fact| fact.text.clone()).collect()
    });
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let only = [a.difference(&b), b.difference(&a)].map(|only| only.cloned().collect::<Vec<_>>());
    only.iter().any(|only| !only.is_empty()).then_some(Unlike::Compiler(only))
}

/// Runs that were stopped have no length of their own: what they took is not to be divided by one
/// another in silence.
fn ends(sides: [&Measurement; 2]) -> Option<Unlike> {
    let [end_a, end_b] = sides.map(|side| &side.window.ended);
    if (&end_a.kind, end_a.code) != (&end_b.kind, end_b.code) {
        return Some(Unlike::End([end_a.text.clone(), end_b.text.clone()]));
    }
    let are_whole = sides.iter().all(|side| side.window.entries.is_none());
    let ([Some(a), Some(b)], true) = (sides.map(milliseconds), are_whole) else { return None };
    let are_apart = (a - b).abs() > LENGTHS_APART * a.max(b);
    let was_stopped = ["limit", "default-limit", "interrupted"].contains(&end_a.kind.as_str());
    let was_recorded = ["end-of-file", "end-of-recording"].contains(&end_a.kind.as_str());
    if was_stopped && are_apart {
        Some(Unlike::Stopped([a, b]))
    } else if was_recorded && are_apart {
        // A recording of a board is as long as it was let run.
        let simulated = sides.iter().all(|side| side.instrument.kind.starts_with("simulated"));
        Some(Unlike::RecordingLength { milliseconds: [a, b], simulated })
    } else {
        was_stopped.then_some(Unlike::SameLength(a))
    }
}

/// How long one was, where that is known as a time.
fn milliseconds(side: &Measurement) -> Option<f64> {
    let duration = &side.window.duration;
    let in_one = match duration.unit() {
        unit if *unit == Unit::NANOSECONDS => 1e6,
        unit if *unit == Unit::PICOSECONDS => 1e9,
        _ => return None,
    };
    Some(duration.value()?.as_f64() / in_one)
}

/// A side that was cut off when it was written: what it lacks is not gone, and what is only in the
/// other one is not new.
fn shortened(sides: [&Measurement; 2]) -> impl Iterator<Item = Unlike> {
    SideId::BOTH.into_iter().zip(sides).filter_map(|(side, measurement)| {
        let finding = measurement.findings.iter().find(|finding| finding.code == "shortened")?;
        Some(Unlike::Shortened { side, text: finding.text.clone() })
    })
}

/// Chips of rigs have figures of their own, which no total of the whole has.
pub(super) fn not_by_part(compared: &mut Comparison, a: &Measurement, b: &Measurement) {
    let is_in_b = |name: &String| b.parts.iter().any(|part| part.name == *name);
    let names = a.parts.iter().map(|part| &part.name).filter(|name| is_in_b(name));
    let names: Vec<String> = names.cloned().collect();
    if !names.is_empty() {
        compared.unlike.push(Unlike::Parts(names));
    }
}

/// What one side alone has, or has in another unit.
pub(super) fn one_sided(compared: &mut Comparison, a: &Measurement, b: &Measurement) {
    for (id, side, other) in [(SideId::A, a, b), (SideId::B, b, a)] {
        let totals = side.totals.iter().filter(|total| {
            other.total(&total.id).is_none_or(|there| there.unit() != total.quantity.unit())
        });
        let totals = totals.map(|total| (total.id.clone(), total.quantity.unit().to_string()));
        let sections = side.sections.iter().filter(|s| other.section(&s.id).is_none());
        let sections = sections.map(|section| (section.id.clone(), section.title.clone()));
        let groups =
            [(OneSided::Totals, totals.collect()), (OneSided::Sections, sections.collect())];
        for (of, ids) in groups {
            let ids: Vec<(String, String)> = ids;
            if !ids.is_empty() {
                compared.unlike.push(Unlike::OneSided { side: id, of, ids });
            }
        }
    }
}
