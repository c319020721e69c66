//! The Firefox profiler's processed format, version 55, which its page at
//! <https://profiler.firefox.com> brings up to date itself.
//!
//! Of a profile each measure is a process and each label a thread in it; a call chain is one sample
//! whose weight is its value. Chains have no time, so samples stand in a row at a millisecond each.
//! Of a time line each track is a thread, whose spans and moments are markers, and each
//! counter a counter.

use strobe_model::measurement::{Measurement, Profile, Timeline, TrackKind, Unit};

use self::format::{Counter, File, Thread};
use super::chains::{Chains, Frame, Name};
use super::timed::Timed;
use super::{About, Choice, Export, ExportError, Found, InputKind, Output};

mod format;

/// The format.
pub(super) struct Firefox;

impl Export for Firefox {
    fn about(&self) -> About {
        About {
            name: "firefox",
            aliases: &["gecko"],
            extension: Some("json"),
            takes: InputKind::Either,
            help: "JSON for profiler.firefox.com: call chains by label, or a time line's tracks",
        }
    }

    fn write(
        &self,
        measurement: &Measurement,
        choice: &Choice,
        out: &mut dyn Output,
    ) -> Result<(), ExportError> {
        let file = match super::find(measurement, choice, self.about())? {
            Found::Profile(profile) => profile_file(measurement, profile, choice)?,
            Found::Timeline(line) => timeline_file(measurement, line)?,
        };
        serde_json::to_writer(out.file("")?, &file)?;
        Ok(())
    }
}

fn profile_file(
    measurement: &Measurement,
    profile: &Profile,
    choice: &Choice,
) -> Result<File, ExportError> {
    let chains = Chains::new(profile, choice)?;
    let all: Vec<usize> = (0..chains.measures.len()).collect();
    chains.without_negative(&all, Firefox.about().name)?;
    let mut file = File::new(&measurement.subject.name);
    let by_label = chains.by_label();
    for (i, measure) in chains.measures.iter().enumerate() {
        let process = format!("{} ({})", measure.title, measure.unit);
        let mut is_main = true;
        for (label, of_label) in &by_label {
            let mut samples = of_label.iter().filter(|sample| sample.values[i] > 0).peekable();
            if samples.peek().is_none() {
                continue;
            }
            let name = match label {
                None => measure.title.clone().into(),
                Some(_) => chains.label(*label),
            };
            let mut thread = Thread::new(&name, &process, i, file.threads.len(), is_main);
            is_main = false;
            thread.samples.weight_type =
                if measure.unit == Unit::BYTES { "bytes" } else { "samples" };
            for sample in samples {
                let stack = stack(&mut thread, &chains, &chains.frames(sample, false));
                thread.sample(1_000_000, stack, sample.values[i]);
            }
            file.threads.push(thread);
        }
    }
    // Of several measures only the first one is in view at the beginning.
    let first = |thread: &Thread| thread.pid == "0";
    file.meta.initial_visible_threads =
        (0..file.threads.len()).filter(|i| first(&file.threads[*i])).collect();
    Ok(file)
}

/// A call chain in a thread's tables.
fn stack(thread: &mut Thread, chains: &Chains, frames: &[Frame]) -> Option<usize> {
    frames.iter().fold(None, |prefix, frame| {
        let category = match frame.name {
            Name::Idle(_) => format::IDLE,
            Name::Function(_) => format::CODE,
            Name::Label(_) | Name::NoSymbol | Name::NoFunction => format::OTHER,
        };
        let name = chains.name(frame.name);
        let file = chains.file(frame);
        Some(thread.stack(prefix, &name, file, frame.line, category))
    })
}

fn timeline_file(measurement: &Measurement, line: &Timeline) -> Result<File, ExportError> {
    let line = Timed::new(measurement, line)?;
    let mut file = File::new(&measurement.subject.name);
    let process = &measurement.subject.name;
    let mut thread_of = vec![None; line.tracks().len()];
    for (i, track) in line.tracks().iter().enumerate() {
        if track.kind != TrackKind::Counter {
            thread_of[i] = Some(file.threads.len());
            let is_main = file.threads.is_empty();
            file.threads.push(Thread::new(&track.name, process, 0, file.threads.len(), is_main));
        }
    }
    let thread = |track: usize| thread_of.get(track).copied().flatten();
    for span in line.spans() {
        if let Some(thread) = thread(span.track) {
            file.threads[thread].marker(span.name, span.begin_ns, Some(span.end_ns));
        }
    }
    samples(&line, &mut file, thread);
    let gaps = line.gaps();
    if !gaps.is_empty() || file.threads.is_empty() {
        let is_main = file.threads.is_empty();
        let mut lost = Thread::new("lost", process, 0, file.threads.len(), is_main);
        gaps.iter().for_each(|gap| lost.marker(gap.why, gap.from_ns, Some(gap.to_ns)));
        file.threads.push(lost);
    }
    file.threads.iter_mut().for_each(Thread::sort_markers);
    for (track, values) in line.tracks().iter().zip(line.values_by_track()) {
        if track.kind == TrackKind::Counter {
            let unit = track.unit.as_ref().map_or("", |unit| &unit.0);
            file.counters.push(Counter::new(&track.name, unit, &values));
        }
    }
    file.meta.initial_visible_threads = (0..file.threads.len()).collect();
    Ok(file)
}

/// Moments are markers; those of samples are samples at their time.
fn samples(line: &Timed, file: &mut File, thread: impl Fn(usize) -> Option<usize>) {
    let mut moments: Vec<_> = line.moments().collect();
    moments.sort_by_key(|moment| moment.at_ns);
    let mut before = vec![0; file.threads.len()];
    for moment in moments {
        let Some(i) = thread(moment.track) else { continue };
        if line.tracks()[moment.track].kind != TrackKind::Samples {
            file.threads[i].marker(moment.name, moment.at_ns, None);
            continue;
        }
        let category = if moment.name.starts_with('(') { format::IDLE } else { format::CODE };
        let stack = file.threads[i].stack(None, moment.name, None, None, category);
        file.threads[i].sample(moment.at_ns.saturating_sub(before[i]), Some(stack), 1);
        before[i] = moment.at_ns;
    }
}

#[cfg(test)]
mod tests;
