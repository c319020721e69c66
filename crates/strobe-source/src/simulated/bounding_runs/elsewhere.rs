//! Code that runs in another model alone: no row of the likely run can have it in its bounds.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use strobe_model::measurement::ids;

use strobe_analyse::attribution::{By, RowPlace, rows};
use strobe_model::measurement::{Content, Finding, Measurement, Severity};
use strobe_model::number::counted;

/// Functions that are listed of each model.
const LISTED: usize = 4;

/// What the reader should know of functions that run with the least or the most of each wait, and
/// not in the likely run.
pub(super) fn functions(likely: &Measurement, others: [&Measurement; 2]) -> Option<Finding> {
    let own = cycles(likely);
    if own.is_empty() {
        return None;
    }
    let mut each = Vec::new();
    for (other, of) in others.into_iter().zip(["least", "most"]) {
        let all = cycles(other).into_iter();
        let mut alone: Vec<(String, u64)> =
            all.filter(|(name, _)| !own.contains_key(name)).collect();
        alone.sort_by_key(|(_, cycles)| Reverse(*cycles));
        let more = alone.len().saturating_sub(LISTED);
        let listed = alone.iter().take(LISTED);
        let mut list: Vec<String> =
            listed.map(|(name, n)| format!("{name} ({})", counted(*n, "cycle"))).collect();
        if more > 0 {
            list.push(counted(more as u64, "other"));
        }
        if !list.is_empty() {
            each.push(format!("with the {of} of each wait {}", list.join(", ")));
        }
    }
    let text = format!(
        "Functions that do not run here, and are in no row, run in another model: {}.",
        each.join("; ")
    );
    (!each.is_empty()).then(|| Finding::new(Severity::Note, "other-code-of-model", text))
}

/// The cycles of each function that took any.
fn cycles(of: &Measurement) -> BTreeMap<String, u64> {
    let content = of.section(ids::section::PROFILE).map(|section| &section.content);
    let Some(Content::Profile(profile)) = content else { return BTreeMap::new() };
    let Some(flat) = rows(profile, "cycles", &By::Function) else { return BTreeMap::new() };
    let mut out = BTreeMap::new();
    for row in flat.rows {
        let RowPlace::Function(Some(at)) = row.spot else { continue };
        let cycles = u64::try_from(row.sums.all.value).unwrap_or(0);
        if let Some(name) = profile.functions.name.get(at as usize).filter(|_| cycles > 0) {
            *out.entry(name.clone()).or_default() += cycles;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use strobe_model::measurement::{
        Address, Ended, Instrument, Kind, Measure, Profile, Samples, Subject, Unit, Values, Window,
    };

    use super::*;

    /// A run of functions with an instruction each.
    fn ran(functions: &[(&str, i64)]) -> Measurement {
        let window = Window::untimed("a test", Ended::default());
        let mut out = Measurement::new(Subject::default(), Instrument::default(), window);
        let mut profile = Profile {
            measures: vec![Measure {
                id: "cycles".to_owned(),
                title: "cycles".to_owned(),
                unit: Unit::CYCLES,
                kind: Kind::Exact,
                part: None,
            }],
            ..Profile::default()
        };
        for (at, (name, _)) in (0u32..).zip(functions) {
            let address = Some(Address(0x10 * u64::from(at)));
            profile.functions.name.push((*name).to_owned());
            profile.functions.address.push(address);
            profile.functions.file.push(None);
            profile.locations.address.push(address);
            profile.locations.function.push(Some(at));
            profile.locations.frame.push(None);
        }
        let values = functions.iter().map(|(_, cycles)| *cycles).collect();
        profile.leaves = Samples {
            at: (0..functions.len() as u32).map(Some).collect(),
            label: Vec::new(),
            values: vec![Values { measure: "cycles".to_owned(), values, ..Values::default() }],
        };
        out.push("profile", "profile", Content::Profile(Box::new(profile)));
        out
    }

    #[test]
    fn functions_run_only_in_other_models_are_named() {
        let stated = |all: [&[(&str, i64)]; 3]| {
            let [likely, low, high] = all.map(ran);
            functions(&likely, [&low, &high]).map(|finding| finding.text)
        };
        let own: &[(&str, i64)] = &[("main", 100), ("never", 0)];
        let high: &[(&str, i64)] =
            &[("e", 1), ("slow", 2_000), ("main", 90), ("a", 9), ("b", 8), ("c", 7), ("d", 6)];
        let text = stated([own, &[("never", 5)], high]).expect("a note");
        for words in [
            "with the least of each wait never (5 cycles); ",
            "with the most of each wait slow (2,000 cycles), a (9 cycles), b (8 cycles), c (7 \
             cycles), 2 others.",
        ] {
            assert!(text.contains(words), "{text}");
        }
        assert_eq!(stated([own, own, own]), None);
        assert_eq!(stated([&[], high, high]), None, "nothing was measured");
    }
}
