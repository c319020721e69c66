//! Collapsed stacks: a line for each call chain, its frames with semicolons between them and its
//! value. What flame graph tools read.

use std::collections::BTreeMap;

use strobe_model::measurement::Measurement;

use super::chains::Chains;
use super::{About, Choice, Export, ExportError, InputKind, Output};
use crate::visible::is_obeyed;

/// The format.
pub(super) struct Collapsed;

impl Export for Collapsed {
    fn about(&self) -> About {
        About {
            name: "collapsed",
            aliases: &["folded"],
            extension: Some("folded"),
            takes: InputKind::Profile,
            help: "a line for each call chain, for flamegraph.pl, inferno and speedscope",
        }
    }

    fn write(
        &self,
        measurement: &Measurement,
        choice: &Choice,
        out: &mut dyn Output,
    ) -> Result<(), ExportError> {
        let chains = Chains::new(super::profile(measurement, choice, self.about())?, choice)?;
        chains.without_negative(&[0], self.about().name)?;
        let mut lines: BTreeMap<String, i128> = BTreeMap::new();
        for sample in chains.samples.iter().filter(|sample| sample.values[0] != 0) {
            let frames = chains.frames(sample, true);
            let names: Vec<String> = frames.iter().map(|f| plain(&chains.name(f.name))).collect();
            *lines.entry(names.join(";")).or_default() += i128::from(sample.values[0]);
        }
        let out = out.file("")?;
        for (line, value) in lines {
            writeln!(out, "{line} {value}")?;
        }
        Ok(())
    }
}

/// A name without what would end it.
fn plain(name: &str) -> String {
    let plain = |c: char| match c {
        ';' => ':',
        c if is_obeyed(c) => ' ',
        c => c,
    };
    let text: String = name.trim().chars().map(plain).collect();
    if text.is_empty() { "(unnamed)".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use strobe_model::measurement::Profile;

    use super::super::subjects;
    use super::*;

    fn written(profile: &Profile, choice: &Choice) -> String {
        let measurement = subjects::of(profile.clone());
        String::from_utf8(subjects::write(&Collapsed, &measurement, choice)).unwrap()
    }

    fn sum(text: &str) -> i128 {
        text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<i128>().unwrap()).sum()
    }

    #[test]
    fn every_chain_is_a_line_with_its_count() {
        assert_eq!(
            written(&subjects::run(), &Choice::default()),
            "handler SysTick;tick 30\n\
             thread main;main 100\n\
             thread main;main;wait 50\n\
             thread main;main;wait;(asleep) 400\n"
        );
    }

    #[test]
    fn names_end_where_they_should() {
        let text = written(&subjects::hostile(), &Choice::default());
        assert_eq!(text.lines().count(), 4);
        assert!(
            text.contains("thread main :x;a:b 12 fn=(1) c;<T as \"Q\">::f&'s\\ 50\n"),
            "{text}"
        );
    }

    #[test]
    fn sums_are_the_profiles() {
        for (name, profile) in subjects::profiles() {
            for measure in &profile.measures {
                let choice = Choice { measure: Some(measure.id.clone()), ..Choice::default() };
                let total = subjects::total(&profile, &measure.id);
                assert_eq!(sum(&written(&profile, &choice)), total, "{name}, {}", measure.id);
            }
        }
    }

    #[test]
    fn differences_are_refused() {
        let mut profile = subjects::heap();
        profile.chains.values[0].values[0] = -1;
        let mut out = Vec::new();
        let error = Collapsed.write(&subjects::of(profile), &Choice::default(), &mut out);
        assert_eq!(
            error.unwrap_err().to_string(),
            "collapsed has no negative values, and `bytes` has"
        );
    }

    proptest! {
        #[test]
        fn sums_are_any_profiles(profile in subjects::any_run()) {
            let text = written(&profile, &Choice::default());
            prop_assert_eq!(sum(&text), subjects::total(&profile, "cycles"));
            let asleep = text.lines().filter(|line| line.contains(";(asleep) "));
            let asleep = asleep.collect::<Vec<_>>();
            prop_assert_eq!(sum(&asleep.join("\n")), subjects::total(&profile, "asleep"));
        }
    }
}
