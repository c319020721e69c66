//! The time line of a run: who ran when, exactly for the part that was asked for, in short for the
//! whole, and the worst cases of the whole as moments.
//!
//! A thread's or handler's span ends where it falls asleep, which comes last in what it has of the
//! core. The rest is a span of the track for sleep, so that no time is on two tracks.

use std::collections::HashMap;
use strobe_model::measurement::ids;

use crate::code_profile::Who;
use crate::simulated::run_record::{Extreme, Overview, RunRecord, Segment, SimTime};
use strobe_model::measurement::{
    Cell, Column, Content, Extent, Level, Section, SummaryTrack, Timeline, Track, TrackKind, Unit,
};
use strobe_sim::observe::schedule::Start;

use super::nanoseconds;
use strobe_model::number::counted;

/// Each level of the summary has stretches so many times as long as those of the one before.
const COARSER: usize = 8;

/// No level has fewer stretches.
const FEWEST: usize = 16;

pub(super) fn section(record: &RunRecord) -> Option<Section> {
    let kept = record.scheduling.as_ref()?.timeline.as_ref()?;
    let mut builder = Builder::new(record);
    builder.out.extent = Extent { from: 0, to: nanoseconds(end(record, kept)) };
    let (from, to) = (nanoseconds(kept.begin.nanoseconds), nanoseconds(kept.end.nanoseconds));
    builder.out.exact.extend((from < to).then_some(Extent { from, to }));
    builder.spans(&kept.segments);
    let mut notes = vec![
        "Spans end where their owner falls asleep; cycles are those of the whole, of which some \
         are asleep."
            .to_owned(),
    ];
    if let Some(worst) = &kept.worst {
        let name = record.who(worst.who);
        let cycles = worst.latency.cycles;
        builder.waits(&name, cycles, worst.latency.at);
        notes.push(format!(
            "The exact part is around the worst latency of {name} ({}).",
            counted(cycles, "cycle")
        ));
    }
    if kept.dropped > 0 {
        let spans = counted(kept.dropped, "earlier span");
        notes.push(format!("{spans} that were asked for could not be kept."));
    }
    builder.summary(&kept.overview);
    if builder.worst_cases() {
        let note = "Moments (|) are everyone's worst latency, longest run and deepest stack.";
        notes.push(note.to_owned());
    }
    let title = "who ran when";
    let mut section =
        super::section(ids::section::TIMELINE, title, Content::Timeline(Box::new(builder.out)));
    section.notes = notes;
    Some(section)
}

/// When the run ended, which may be long after what was measured of it: summary and worst cases are
/// of the whole.
fn end(record: &RunRecord, kept: &crate::simulated::run_record::Schedule) -> u64 {
    let window = record.window.end;
    let rest = record.run_cycles.saturating_sub(window.cycle);
    let rest = super::duration_at(record, rest, window).unwrap_or(0);
    let segments = kept.segments.iter().map(|segment| segment.end.nanoseconds);
    let moments = worst_cases(record).map(|(.., at)| at.nanoseconds);
    let others = [window.nanoseconds.saturating_add(rest), kept.end.nanoseconds];
    segments.chain(moments).chain(others).max().unwrap_or(0)
}

struct Builder<'a> {
    record: &'a RunRecord,
    out: Timeline,
    tracks: HashMap<Option<Who>, u32>,
    details: Details,
}

/// What is known of each span beside its time.
struct Details {
    cycles: Column,
    idle: Column,
    how: Column,
    latency: Column,
    waited: Column,
}

impl<'a> Builder<'a> {
    fn new(record: &'a RunRecord) -> Self {
        let cycles = |id: &str, title: &str| Column::figure(id, title, Unit::CYCLES);
        let details = Details {
            cycles: cycles("cycles", "cycles"),
            idle: cycles("idle", "asleep"),
            how: Column::text("how", "how it came to run"),
            latency: cycles("latency", "latency"),
            waited: cycles("waited", "waited"),
        };
        let out = Timeline::new(Unit::NANOSECONDS);
        Builder { record, out, tracks: HashMap::new(), details }
    }

    /// The track of a thread or handler, or the one for sleep.
    fn track(&mut self, who: Option<Who>) -> u32 {
        let (record, tracks) = (self.record, &mut self.out.tracks);
        *self.tracks.entry(who).or_insert_with(|| {
            let (kind, number, name) = match who {
                Some(Who::Thread(_)) => (TrackKind::Thread, None, None),
                Some(Who::Interrupt(n)) => (TrackKind::Exception, Some(i64::from(n)), None),
                None => (TrackKind::Marks, None, Some("(asleep)".to_owned())),
            };
            let name = name.or_else(|| who.map(|who| record.who(who))).unwrap_or_default();
            tracks.push(Track { kind, number, name, unit: None });
            tracks.len() as u32 - 1
        })
    }

    fn span(&mut self, track: u32, begin: u64, end: u64) {
        let spans = &mut self.out.spans;
        spans.track.push(track);
        spans.name.push(None);
        spans.begin.push(nanoseconds(begin));
        spans.duration.push(end.saturating_sub(begin));
    }

    fn detail(&mut self, [cycles, idle, how, latency, waited]: [Cell; 5]) {
        self.details.cycles.cells.push(cycles);
        self.details.idle.cells.push(idle);
        self.details.how.cells.push(how);
        self.details.latency.cells.push(latency);
        self.details.waited.cells.push(waited);
    }

    fn spans(&mut self, segments: &[Segment]) {
        for (at, segment) in segments.iter().enumerate() {
            let asleep_from = asleep_from(segment);
            let track = self.track(Some(segment.who));
            self.span(track, segment.begin.nanoseconds, asleep_from);
            let cycles = segment.end.cycle.saturating_sub(segment.begin.cycle);
            let idle = (segment.idle > 0).then_some(segment.idle);
            let (latency, waited) = match segment.start {
                Start::Entered { latency, .. } => (Some(latency), None),
                Start::Switched { waited, .. } => (None, waited),
                _ => (None, None),
            };
            let how = how(self.record, segments, at);
            self.detail([cycles.into(), idle.into(), how.into(), latency.into(), waited.into()]);
            if segment.idle > 0 {
                let track = self.track(None);
                self.span(track, asleep_from, segment.end.nanoseconds);
                let [none, how, latency, waited] = [const { Cell::Empty }; 4];
                self.detail([none, segment.idle.into(), how, latency, waited]);
            }
        }
    }

    /// The latency that the exact part shows, on a track of its own.
    fn waits(&mut self, name: &str, cycles: u64, until: crate::simulated::run_record::SimTime) {
        let name = format!("{name} waits");
        let track = Track { kind: TrackKind::Marks, number: None, name, unit: None };
        self.out.tracks.push(track);
        let length = super::duration_at(self.record, cycles, until).unwrap_or(0);
        let track = self.out.tracks.len() as u32 - 1;
        self.span(track, until.nanoseconds.saturating_sub(length), until.nanoseconds);
        let [idle, how, latency, waited] = [const { Cell::Empty }; 4];
        self.detail([cycles.into(), idle, how, latency, waited]);
    }

    /// The worst cases of the whole run, the exact part or not; whether there are any.
    fn worst_cases(&mut self) -> bool {
        for (who, what, n, unit, at) in worst_cases(self.record) {
            let track = self.track(Some(who));
            let name = self.out.names.len() as u32;
            self.out.names.push(format!("{what}: {n} {unit}"));
            let moments = &mut self.out.moments;
            moments.track.push(track);
            moments.name.push(name);
            moments.at.push(nanoseconds(at.nanoseconds));
        }
        !self.out.moments.at.is_empty()
    }

    fn summary(&mut self, overview: &Overview) {
        let Details { cycles, idle, how, latency, waited } = &mut self.details;
        let columns = [cycles, idle, how, latency, waited];
        let used =
            columns.into_iter().filter(|column| column.cells.iter().any(|c| *c != Cell::Empty));
        self.out.spans.details = used.map(|column| column.clone()).collect();
        let longest = overview.lanes.iter().map(|lane| lane.stretches.len()).max().unwrap_or(0);
        if overview.width == 0 || longest == 0 {
            return;
        }
        let mut lanes: Vec<(u32, Vec<(u64, u64)>)> = Vec::new();
        let mut asleep = vec![(0, 0); longest];
        for lane in &overview.lanes {
            let track = self.track(Some(lane.who));
            lanes.push((track, lane.stretches.iter().map(|s| (s.0, s.2)).collect()));
            for (sum, stretch) in asleep.iter_mut().zip(&lane.stretches) {
                sum.0 += stretch.1;
            }
        }
        if asleep.iter().any(|sum| sum.0 > 0) {
            let track = self.track(None);
            lanes.push((track, asleep));
        }
        let (mut width, mut stretches) = (overview.width, longest);
        loop {
            let tracks = lanes.iter().map(|(track, stretches)| summary_track(*track, stretches));
            self.out.summary.push(Level { begin: 0, width, tracks: tracks.collect() });
            stretches = stretches.div_ceil(COARSER);
            if stretches < FEWEST {
                return;
            }
            width *= COARSER as u64;
            for (_, lane) in &mut lanes {
                let sum = |part: &[(u64, u64)]| {
                    part.iter().fold((0, 0), |sum, s| (sum.0 + s.0, sum.1 + s.1))
                };
                *lane = lane.chunks(COARSER).map(sum).collect();
            }
        }
    }
}

/// One of the whole run's worst cases: who, what, how much of it, and when.
type WorstCase<'a> = (Who, &'static str, u64, &'static str, &'a SimTime);

/// Everyone's worst latency, longest run and deepest stack.
fn worst_cases(record: &RunRecord) -> impl Iterator<Item = WorstCase<'_>> {
    let handlers = record.exceptions.iter().flat_map(|handler| {
        let who = Who::Interrupt(handler.number);
        let latency = handler.latency_worst.as_ref();
        [in_cycles(who, "worst latency", latency), longest(who, handler.longest_run.as_ref()), None]
    });
    let threads = record.scheduling.iter().flat_map(|scheduling| &scheduling.threads);
    let threads = (0..).zip(threads).flat_map(|(number, thread)| {
        let who = Who::Thread(number);
        let latency = in_cycles(who, "worst latency", thread.wake.max.as_ref());
        let deepest = thread.deepest.as_ref();
        let deepest = deepest.map(|mark| (who, "deepest stack", mark.bytes, "bytes", &mark.at));
        [latency, longest(who, thread.longest_run.as_ref()), deepest]
    });
    handlers.chain(threads).flatten()
}

fn longest(who: Who, extreme: Option<&Extreme>) -> Option<WorstCase<'_>> {
    in_cycles(who, "longest run", extreme)
}

fn in_cycles<'a>(
    who: Who,
    what: &'static str,
    extreme: Option<&'a Extreme>,
) -> Option<WorstCase<'a>> {
    extreme.map(|extreme| (who, what, extreme.cycles, "cycles", &extreme.at))
}

fn summary_track(track: u32, stretches: &[(u64, u64)]) -> SummaryTrack {
    let mut out = SummaryTrack { track, ..SummaryTrack::default() };
    for (stretch, (time, spans)) in (0..).zip(stretches).filter(|(_, s)| **s != (0, 0)) {
        out.stretch.push(stretch);
        out.time.push(*time);
        out.spans.push(*spans);
    }
    out
}

/// Nanoseconds at which a segment's sleep begins: it comes last.
fn asleep_from(segment: &Segment) -> u64 {
    let cycles = segment.end.cycle.saturating_sub(segment.begin.cycle).max(1);
    let (begin, end) = (segment.begin.nanoseconds, segment.end.nanoseconds);
    let idle = u128::from(end.saturating_sub(begin)) * u128::from(segment.idle.min(cycles));
    end.saturating_sub(u64::try_from(idle / u128::from(cycles)).unwrap_or(u64::MAX))
}

fn how(record: &RunRecord, all: &[Segment], at: usize) -> String {
    match all[at].start {
        Start::Window => "measuring begins".to_owned(),
        Start::Reset => "reset".to_owned(),
        Start::Resumed => "goes on".to_owned(),
        Start::Entered { chained: true, .. } => "tail-chained".to_owned(),
        Start::Entered { chained: false, .. } => "entered".to_owned(),
        Start::Switched { by_itself, .. } => {
            let thread = |s: &&Segment| matches!(s.who, Who::Thread(_));
            let other = all[..at].iter().rev().find(thread);
            let other = other.map_or_else(|| "the one before".to_owned(), |s| record.who(s.who));
            if by_itself { format!("{other} gave up") } else { format!("preempts {other}") }
        }
    }
}
