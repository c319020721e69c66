//! A time line as formats want it: everything with its track, its name and a time in nanoseconds.

use std::cmp::Reverse;

use strobe_model::measurement::{Measurement, Timeline, Track, Unit};

use self::lanes::Lanes;
use super::ExportError;

mod lanes;

/// A time line with what its times mean.
pub(super) struct Timed<'a> {
    timeline: &'a Timeline,
    clock: Clock,
}

/// Something that took time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span<'a> {
    pub track: usize,
    pub name: &'a str,
    pub begin_ns: i64,
    /// Not before its beginning.
    pub end_ns: i64,
}

/// Something that took none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment<'a> {
    pub track: usize,
    pub name: &'a str,
    pub at_ns: i64,
}

/// A counter's value from a moment on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    pub track: usize,
    pub at_ns: i64,
    pub value: i64,
}

/// Something is missing here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap<'a> {
    pub from_ns: i64,
    pub to_ns: i64,
    pub events: Option<u64>,
    pub why: &'a str,
}

/// Why nothing is seen where a time line has a summary only.
const SUMMARY_ONLY: &str = "single events are not kept here";

/// What is wrong where a time line is not exact and has no summary.
const INEXACT: &str = "what is here may be wrong or not all of it";

impl<'a> Timed<'a> {
    /// A time line of that measurement.
    pub fn new(of: &Measurement, timeline: &'a Timeline) -> Result<Self, ExportError> {
        Ok(Timed { timeline, clock: Clock::new(of, &timeline.unit)? })
    }

    pub fn tracks(&self) -> &'a [Track] {
        &self.timeline.tracks
    }

    pub fn spans(&self) -> impl Iterator<Item = Span<'a>> {
        let (timeline, spans) = (self.timeline, &self.timeline.spans);
        let times = spans.begin.iter().zip(&spans.duration);
        spans.track.iter().zip(times).enumerate().map(
            move |(number, (track, (begin, duration)))| {
                let begin_ns = self.clock.ns(*begin);
                let end_ns = self.clock.ns(begin.saturating_add_unsigned(*duration)).max(begin_ns);
                let name = timeline.span_name(number);
                Span { track: *track as usize, name, begin_ns, end_ns }
            },
        )
    }

    pub fn moments(&self) -> impl Iterator<Item = Moment<'a>> {
        let (names, moments) = (&self.timeline.names, &self.timeline.moments);
        let each = moments.track.iter().zip(&moments.name).zip(&moments.at);
        each.map(|((track, name), at)| {
            let name = names.get(*name as usize).map_or("", String::as_str);
            Moment { track: *track as usize, name, at_ns: self.clock.ns(*at) }
        })
    }

    pub fn values(&self) -> impl Iterator<Item = Value> {
        let counters = &self.timeline.counters;
        let each = counters.track.iter().zip(&counters.at).zip(&counters.value);
        each.map(|((track, at), value)| Value {
            track: *track as usize,
            at_ns: self.clock.ns(*at),
            value: *value,
        })
    }

    /// The values of each track with their times, in the order of time.
    pub fn values_by_track(&self) -> impl Iterator<Item = Vec<(i64, i64)>> {
        let in_ns = |(at, value): (i64, i64)| (self.clock.ns(at), value);
        self.timeline
            .values_by_track()
            .into_iter()
            .map(move |values| values.into_iter().map(in_ns).collect())
    }

    /// The spans of each track, in lanes in which they lie beside or inside one another, the outer
    /// ones first.
    pub fn lanes(&self) -> Vec<(usize, Vec<Vec<Span<'a>>>)> {
        let mut all: Vec<Span> = self.spans().filter(|s| s.track < self.tracks().len()).collect();
        all.sort_by_key(|span| (span.track, span.begin_ns, Reverse(span.end_ns)));
        let mut tracks = Vec::new();
        for of_track in all.chunk_by(|a, b| a.track == b.track) {
            let mut lanes = Lanes::default();
            of_track.iter().for_each(|span| lanes.add(*span));
            tracks.push((of_track[0].track, lanes.spans));
        }
        tracks
    }

    /// What is missing, and what there is a summary of only.
    pub fn gaps(&self) -> Vec<Gap<'a>> {
        let gaps = &self.timeline.gaps;
        let times = gaps.from.iter().zip(&gaps.to);
        let each = times
            .zip(&gaps.events)
            .zip(&gaps.why)
            .map(|(((from, to), events), why)| self.gap(*from, *to, *events, why));
        let mut all: Vec<Gap> = each.collect();
        let why = if self.timeline.summary.is_empty() { INEXACT } else { SUMMARY_ONLY };
        let mut exact = self.timeline.exact.clone();
        exact.sort_by_key(|extent| extent.from);
        let mut from = self.timeline.extent.from;
        for extent in exact {
            if extent.from > from {
                all.push(self.gap(from, extent.from, None, why));
            }
            from = from.max(extent.to);
        }
        if from < self.timeline.extent.to {
            all.push(self.gap(from, self.timeline.extent.to, None, why));
        }
        all
    }

    fn gap(&self, from: i64, to: i64, events: Option<u64>, why: &'a str) -> Gap<'a> {
        let from_ns = self.clock.ns(from);
        Gap { from_ns, to_ns: self.clock.ns(to).max(from_ns), events, why }
    }
}

/// What a unit of time is in nanoseconds.
struct Clock {
    /// From when on (in the unit; in nanoseconds) one unit takes `numerator / denominator`
    /// nanoseconds; never empty.
    rates: Vec<Rate>,
}

#[derive(Clone, Copy)]
struct Rate {
    from: i64,
    from_ns: i128,
    numerator: i128,
    denominator: i128,
}

impl Rate {
    fn ns(&self, at: i64) -> i128 {
        let since = i128::from(at) - i128::from(self.from);
        self.from_ns + (since * self.numerator).div_euclid(self.denominator)
    }
}

impl Clock {
    fn new(of: &Measurement, unit: &Unit) -> Result<Clock, ExportError> {
        let constant = |numerator, denominator| {
            Ok(Clock { rates: vec![Rate { from: 0, from_ns: 0, numerator, denominator }] })
        };
        if *unit == Unit::NANOSECONDS {
            return constant(1, 1);
        } else if *unit == Unit::PICOSECONDS {
            return constant(1, 1000);
        } else if *unit != Unit::CYCLES {
            return Err(ExportError::Untimed(unit.clone()));
        }
        let mut rates: Vec<Rate> = Vec::new();
        for span in of.subject.clock.iter().filter(|span| span.hz > 0) {
            let from = i64::try_from(span.cycle).unwrap_or(i64::MAX);
            let from_ns = rates.last().map_or(0, |before| before.ns(from));
            let from = if rates.is_empty() { 0 } else { from };
            let denominator = i128::from(span.hz);
            rates.push(Rate { from, from_ns, numerator: 1_000_000_000, denominator });
        }
        if rates.is_empty() { Err(ExportError::Untimed(unit.clone())) } else { Ok(Clock { rates }) }
    }

    fn ns(&self, at: i64) -> i64 {
        let after = self.rates.partition_point(|rate| rate.from <= at);
        let ns = self.rates[after.saturating_sub(1)].ns(at);
        i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX })
    }
}

#[cfg(test)]
mod tests {
    use strobe_model::measurement::{ClockSpan, Extent, TimelineBuilder, TrackKind};

    use super::super::subjects;
    use super::*;

    #[test]
    fn cycles_become_nanoseconds_by_the_clock_of_their_time() {
        let mut of = subjects::measurement();
        let clock = |of: &Measurement| Clock::new(of, &Unit::CYCLES);
        assert!(matches!(clock(&of), Err(ExportError::Untimed(_))));
        of.subject.clock =
            vec![ClockSpan { cycle: 0, hz: 8_000_000 }, ClockSpan { cycle: 800, hz: 16_000_000 }];
        let clock = clock(&of).unwrap();
        assert_eq!(
            [0, 1, 800, 816, 817].map(|at| clock.ns(at)),
            [0, 125, 100_000, 101_000, 101_062]
        );
        assert!(Clock::new(&of, &Unit::TICKS).is_err());
    }

    #[test]
    fn summarised_time_is_a_gap() {
        let mut builder = TimelineBuilder::new(Unit::NANOSECONDS);
        let track = builder.track(TrackKind::Marks, None, "a");
        builder.span(track, None, 0, 100);
        let mut line = builder.finish();
        line.exact = vec![Extent { from: 60, to: 70 }, Extent { from: 10, to: 20 }];
        let of = subjects::measurement();
        let gaps: Vec<(i64, i64)> = Timed::new(&of, &line)
            .unwrap()
            .gaps()
            .iter()
            .map(|gap| (gap.from_ns, gap.to_ns))
            .collect();
        assert_eq!(gaps, [(0, 10), (20, 60), (70, 100)]);
    }
}
