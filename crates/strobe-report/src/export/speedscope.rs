//! The JSON of speedscope (<https://www.speedscope.app/file-format-schema.json>): a profile for
//! each measure and label, or the spans of each track of a time line.

use std::collections::HashMap;

use serde::Serialize;
use strobe_model::measurement::{Measurement, Profile, Timeline, Unit};

use super::chains::{Chains, Frame};
use super::timed::{Span, Timed};
use super::{About, Choice, Export, ExportError, Found, InputKind, Output};

/// The format.
pub(super) struct Speedscope;

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: &'a str,
    exporter: &'a str,
    active_profile_index: usize,
    shared: Shared,
    profiles: Vec<Part>,
}

#[derive(Default, Serialize)]
struct Shared {
    frames: Vec<Place>,
}

#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
struct Place {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Part {
    Sampled {
        name: String,
        unit: &'static str,
        start_value: i64,
        end_value: i128,
        samples: Vec<Vec<usize>>,
        weights: Vec<i64>,
    },
    Evented {
        name: String,
        unit: &'static str,
        start_value: i64,
        end_value: i64,
        events: Vec<Event>,
    },
}

#[derive(Serialize)]
struct Event {
    r#type: char,
    at: i64,
    frame: usize,
}

impl Export for Speedscope {
    fn about(&self) -> About {
        About {
            name: "speedscope",
            aliases: &[],
            extension: Some("speedscope.json"),
            takes: InputKind::Either,
            help: "JSON for speedscope.app: call chains by label, or the spans of a time line",
        }
    }

    fn write(
        &self,
        measurement: &Measurement,
        choice: &Choice,
        out: &mut dyn Output,
    ) -> Result<(), ExportError> {
        let mut places = Places::default();
        let profiles = match super::find(measurement, choice, self.about())? {
            Found::Profile(profile) => sampled(profile, choice, &mut places)?,
            Found::Timeline(line) => evented(measurement, line, &mut places)?,
        };
        let file = File {
            schema: SCHEMA,
            name: &measurement.subject.name,
            exporter: &measurement.instrument.tool,
            active_profile_index: 0,
            shared: Shared { frames: places.list },
            profiles,
        };
        serde_json::to_writer(out.file("")?, &file)?;
        Ok(())
    }
}

/// Frames, each of which is written once.
#[derive(Default)]
struct Places {
    list: Vec<Place>,
    index: HashMap<Place, usize>,
}

impl Places {
    fn of(&mut self, place: Place) -> usize {
        let Places { list, index } = self;
        *index.entry(place).or_insert_with_key(|place| {
            list.push(place.clone());
            list.len() - 1
        })
    }
}

/// What speedscope calls a unit; others are plain numbers.
fn unit(unit: &Unit) -> &'static str {
    match unit {
        unit if *unit == Unit::NANOSECONDS => "nanoseconds",
        unit if *unit == Unit::BYTES => "bytes",
        _ => "none",
    }
}

fn sampled(
    profile: &Profile,
    choice: &Choice,
    places: &mut Places,
) -> Result<Vec<Part>, ExportError> {
    let chains = Chains::new(profile, choice)?;
    let all: Vec<usize> = (0..chains.measures.len()).collect();
    chains.without_negative(&all, Speedscope.about().name)?;
    let mut place = |frame: &Frame| {
        places.of(Place {
            name: chains.name(frame.name).into_owned(),
            file: chains.file(frame).map(str::to_owned),
            // Frames of two lines are two frames, which is wanted of single places only.
            line: frame.line.filter(|_| choice.by_place),
        })
    };
    let (by_label, mut parts) = (chains.by_label(), Vec::new());
    for (i, measure) in chains.measures.iter().enumerate() {
        for (label, of_label) in &by_label {
            let (mut samples, mut weights) = (Vec::new(), Vec::new());
            for sample in of_label.iter().filter(|sample| sample.values[i] > 0) {
                samples.push(chains.frames(sample, false).iter().map(&mut place).collect());
                weights.push(sample.values[i]);
            }
            if weights.is_empty() {
                continue;
            }
            let name = match by_label.len() {
                1 if label.is_none() => measure.title.clone(),
                _ => format!("{}: {}", measure.title, chains.label(*label)),
            };
            let end_value = weights.iter().map(|weight| i128::from(*weight)).sum();
            let unit = unit(&measure.unit);
            parts.push(Part::Sampled { name, unit, start_value: 0, end_value, samples, weights });
        }
    }
    Ok(parts)
}

fn evented(
    measurement: &Measurement,
    line: &Timeline,
    places: &mut Places,
) -> Result<Vec<Part>, ExportError> {
    let line = Timed::new(measurement, line)?;
    let mut parts = Vec::new();
    for (track, lanes) in line.lanes() {
        for (i, lane) in lanes.iter().enumerate() {
            let name = match i {
                0 => line.tracks()[track].name.clone(),
                _ => format!("{} ({})", line.tracks()[track].name, i + 1),
            };
            let mut frame =
                |name: &str| places.of(Place { name: name.to_owned(), file: None, line: None });
            let start_value = lane.first().map_or(0, |span| span.begin_ns);
            let end_value = lane.iter().map(|span| span.end_ns).max().unwrap_or(start_value);
            let events = events(lane, &mut frame);
            let unit = "nanoseconds";
            parts.push(Part::Evented { name, unit, start_value, end_value, events });
        }
    }
    Ok(parts)
}

/// Beginnings and ends in their order; spans are sorted and lie beside or inside one another.
fn events(lane: &[Span], frame: &mut dyn FnMut(&str) -> usize) -> Vec<Event> {
    let mut events = Vec::new();
    let mut open: Vec<(i64, usize)> = Vec::new();
    for span in lane {
        while let Some((at, frame)) = open.pop_if(|(end, _)| *end <= span.begin_ns) {
            events.push(Event { r#type: 'C', at, frame });
        }
        let frame = frame(span.name);
        events.push(Event { r#type: 'O', at: span.begin_ns, frame });
        open.push((span.end_ns, frame));
    }
    let rest = open.into_iter().rev().map(|(at, frame)| Event { r#type: 'C', at, frame });
    events.extend(rest);
    events
}

#[cfg(test)]
mod tests;
