//! pprof's `profile.proto`, compressed, as `go tool pprof`, pprof's web page and many others read
//! it.
//!
//! Locations are those of the profile, with their addresses and inlined frames; labels are labels,
//! and every measure is a sample type.

use std::collections::HashMap;

use flate2::{Compression, GzBuilder};
use prost::Message;
use strobe_model::measurement::{Kind, Measurement, Number, Profile, Unit};

use super::chains::{At, Chains, Name, Sample};
use super::{About, Choice, Export, ExportError, InputKind, Output};

mod message;

/// The format.
pub(super) struct Pprof;

impl Export for Pprof {
    fn about(&self) -> About {
        About {
            name: "pprof",
            aliases: &[],
            extension: Some("pb.gz"),
            takes: InputKind::Profile,
            help: "compressed profile.proto, for go tool pprof and whatever else reads that",
        }
    }

    fn write(
        &self,
        measurement: &Measurement,
        choice: &Choice,
        out: &mut dyn Output,
    ) -> Result<(), ExportError> {
        let chains = Chains::new(super::profile(measurement, choice, self.about())?, choice)?;
        let bytes = Writer::new(&chains).profile(measurement).encode_to_vec();
        // Without a time of its own: the same measurement gives the same bytes.
        let mut out = GzBuilder::new().mtime(0).write(out.file("")?, Compression::default());
        std::io::Write::write_all(&mut out, &bytes)?;
        out.finish()?;
        Ok(())
    }
}

/// Fills the tables of a message. Numbers of locations and functions are indices and one more, as 0
/// is none.
struct Writer<'a> {
    chains: &'a Chains<'a>,
    message: message::Profile,
    strings: HashMap<String, i64>,
    /// Functions and locations of what is no function of the profile.
    others: HashMap<Name, u64>,
}

impl<'a> Writer<'a> {
    fn new(chains: &'a Chains<'a>) -> Self {
        let mut writer = Writer {
            chains,
            message: message::Profile::default(),
            strings: HashMap::new(),
            others: HashMap::new(),
        };
        writer.text("");
        writer
    }

    fn text(&mut self, text: &str) -> i64 {
        if let Some(&known) = self.strings.get(text) {
            return known;
        }
        let index = self.message.string_table.len() as i64;
        self.message.string_table.push(text.to_owned());
        self.strings.insert(text.to_owned(), index);
        index
    }

    fn profile(mut self, measurement: &Measurement) -> message::Profile {
        for measure in &self.chains.measures {
            let (r#type, unit) = (self.text(&measure.id), self.text(&measure.unit.0));
            self.message.sample_type.push(message::ValueType { r#type, unit });
        }
        self.message.default_sample_type = self.message.sample_type.first().map_or(0, |t| t.r#type);
        self.mapping(measurement);
        self.functions();
        self.locations();
        for sample in &self.chains.samples {
            let sample = self.sample(sample);
            self.message.sample.push(sample);
        }
        self.period(measurement);
        for comment in comments(measurement, self.chains) {
            let comment = self.text(&comment);
            self.message.comment.push(comment);
        }
        self.message
    }

    /// All code is in one file, whose symbols are all here.
    fn mapping(&mut self, measurement: &Measurement) {
        let addresses = self.chains.profile.locations.address.iter().flatten().map(|a| a.0);
        let (start, limit) = (addresses.clone().min(), addresses.max());
        self.message.mapping = vec![message::Mapping {
            id: 1,
            memory_start: start.unwrap_or(0),
            memory_limit: limit.map_or(0, |limit| limit.saturating_add(1)),
            filename: self.text(&measurement.subject.name),
            build_id: self.text(measurement.subject.build_id.as_deref().unwrap_or("")),
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            has_inline_frames: true,
            ..message::Mapping::default()
        }];
    }

    fn functions(&mut self) {
        let Profile { functions, files, .. } = self.chains.profile;
        for (i, name) in functions.name.iter().enumerate() {
            let name = self.text(name);
            let file = functions.file[i].and_then(|file| files.get(file as usize));
            let filename = self.text(file.map_or("", String::as_str));
            let id = i as u64 + 1;
            let function =
                message::Function { id, name, system_name: name, filename, start_line: 0 };
            self.message.function.push(function);
        }
    }

    fn locations(&mut self) {
        let profile = self.chains.profile;
        for location in 0..profile.locations.address.len() as u32 {
            let i = location as usize;
            let function = profile.locations.function[i];
            let of_function = function.and_then(|f| profile.functions.address[f as usize]);
            let address = profile.locations.address[i].or(of_function);
            let mut line = Vec::new();
            for frame in profile.frames_at(location) {
                line.push(message::Line {
                    function_id: u64::from(profile.frames.function[frame]) + 1,
                    line: profile.frames.line[frame].unwrap_or(0).into(),
                    column: 0,
                });
            }
            if line.is_empty() {
                let function_id = match function {
                    Some(function) => u64::from(function) + 1,
                    None => self.other(Name::NoSymbol).0,
                };
                line.push(message::Line { function_id, line: 0, column: 0 });
            }
            self.message.location.push(message::Location {
                id: i as u64 + 1,
                mapping_id: 1,
                address: address.map_or(0, |address| address.0),
                line,
                is_folded: false,
            });
        }
    }

    /// The function of something that is none, and a location in it.
    fn other(&mut self, name: Name) -> (u64, u64) {
        let functions = self.chains.profile.functions.name.len() as u64;
        let locations = self.chains.profile.locations.address.len() as u64;
        let next = self.others.len() as u64 + 1;
        let number = *self.others.entry(name).or_insert(next);
        let id = functions + number;
        if number == next {
            let name = self.text(&self.chains.name(name));
            let other = message::Function { id, name, system_name: name, ..Default::default() };
            self.message.function.push(other);
        }
        (id, locations + number)
    }

    /// A location in something that is no function.
    fn other_location(&mut self, name: Name) -> u64 {
        let (function_id, id) = self.other(name);
        if !self.message.location.iter().rev().any(|location| location.id == id) {
            let line = vec![message::Line { function_id, line: 0, column: 0 }];
            let location = message::Location { id, mapping_id: 1, line, ..Default::default() };
            self.message.location.push(location);
        }
        id
    }

    fn sample(&mut self, sample: &Sample) -> message::Sample {
        let mut location_id = Vec::new();
        if let Some(measure) = sample.idle {
            location_id.push(self.other_location(Name::Idle(measure)));
        }
        match sample.at {
            At::Nowhere => location_id.push(self.other_location(Name::NoFunction)),
            At::Location(location) => location_id.push(u64::from(location) + 1),
            At::Stack(stack) => {
                let locations = self.chains.locations(stack);
                location_id.extend(locations.into_iter().map(|l| u64::from(l) + 1));
            }
        }
        let label = sample.label.and_then(|l| self.chains.profile.labels.get(l as usize));
        let label = label.map(|label| {
            let (key, str) = (self.text(&label.key), self.text(&label.value));
            message::Label { key, str }
        });
        message::Sample { location_id, value: sample.values.clone(), label: Vec::from_iter(label) }
    }

    /// How far samples are apart, and how long the measurement took.
    fn period(&mut self, measurement: &Measurement) {
        let sampled = self.chains.measures.iter().find_map(|measure| match &measure.kind {
            Kind::Sampled { period: Some(period), period_unit: Some(unit) } => Some((period, unit)),
            _ => None,
        });
        if let Some((period, unit)) = sampled {
            let (r#type, unit) = (self.text("period"), self.text(&unit.0));
            self.message.period_type = Some(message::ValueType { r#type, unit });
            self.message.period = i64::try_from(*period).unwrap_or(i64::MAX);
        }
        let duration = &measurement.window.duration;
        if *duration.unit() == Unit::NANOSECONDS {
            let nanoseconds = duration.value().map_or(0, Number::as_u64);
            self.message.duration_nanos = i64::try_from(nanoseconds).unwrap_or(i64::MAX);
        }
    }
}

/// What the format has no field for.
fn comments(measurement: &Measurement, chains: &Chains) -> Vec<String> {
    let (instrument, subject) = (&measurement.instrument, &measurement.subject);
    let mut comments = vec![format!("{}: {}", instrument.tool, instrument.kind)];
    comments.extend(subject.board.as_ref().map(|board| format!("board: {board}")));
    for measure in &chains.measures {
        let profile = chains.profile;
        let values = profile.chains.of(&measure.id).or_else(|| profile.leaves.of(&measure.id));
        let bounds = values.filter(|values| !values.low.is_empty()).map(|values| {
            let sum = |ends: &[i64]| ends.iter().map(|end| i128::from(*end)).sum::<i128>();
            let ends = [sum(&values.low), sum(&values.values), sum(&values.high)];
            let least = ends.iter().min().copied().unwrap_or_default();
            let most = ends.iter().max().copied().unwrap_or_default();
            format!(", {least} to {most}")
        });
        let trust = match &measure.kind {
            Kind::Exact => continue,
            Kind::Modelled { why } => format!("modelled{}: {why}", bounds.unwrap_or_default()),
            Kind::Sampled { .. } => "sampled".to_owned(),
            Kind::AtLeast => "at least what is here".to_owned(),
        };
        comments.push(format!("{}: {trust}", measure.id));
    }
    if chains.profile.merged_calls > 0 {
        comments.push(format!("calls not kept apart: {}", chains.profile.merged_calls));
    }
    comments
}

#[cfg(test)]
mod tests;
