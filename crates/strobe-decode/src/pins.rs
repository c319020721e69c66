//! Widths, periods and times between edges, out of a capture.

mod measurement;
mod pulses;
pub mod report;

use crate::pins::report::{CaptureSummary, Jitter, PinInterval, PinStatistics, SimulatedCapture};
use crate::summary::{ValueCounts, ValueSummary};

pub use strobe_model::spelling::Edges;

use crate::capture::{Capture, Level};

pub use measurement::measurement;

use pulses::{Counts, Walk};

/// What the reports show of a capture.
pub fn summary(capture: &Capture, file: String, format: &str) -> CaptureSummary {
    let resolution = u64::try_from(capture.resolution.ps(1)).unwrap_or(u64::MAX);
    // Of a chip's many pins those count that move.
    let recorded = capture.simulated.is_none();
    let channels = capture.channels.iter().filter(|c| recorded || !c.edges.is_empty());
    CaptureSummary {
        file,
        format: format.to_owned(),
        resolution_ps: resolution,
        resolution_inferred: capture.resolution_inferred,
        start_ps: capture.at_ps(0),
        duration_ps: capture.ps(capture.end),
        channels: channels.map(|c| c.name.clone()).collect(),
        cut: capture.cut,
        simulated: capture.simulated.as_ref().map(|simulated| SimulatedCapture {
            board: simulated.board.clone(),
            is_modelled: simulated.is_modelled,
        }),
    }
}

/// What a channel did. `histogram` asks for histograms with bins of at least so many picoseconds.
/// Widths are counted, so that memory grows with the different ones only.
///
/// # Panics
/// When there is no such channel.
pub fn statistics(capture: &Capture, index: usize, histogram: Option<u64>) -> PinStatistics {
    let channel = &capture.channels[index];
    let mut counts = Counts::default();
    let walk = Walk::along(channel, capture.end, &mut counts);
    let distribution = |values: &ValueCounts| {
        ValueSummary::of_counts(values, |ticks| capture.ps(ticks), histogram)
    };
    let period = distribution(&counts.periods);
    PinStatistics {
        duty_ppm: ValueSummary::of_counts(&counts.duties, |ppm| ppm, None),
        high_ps: distribution(&counts.high),
        low_ps: distribution(&counts.low),
        jitter: jitter(period.as_ref(), distribution(&counts.cycle_to_cycle)),
        period_ps: period,
        ..walk.totals(capture, channel)
    }
}

fn jitter(period: Option<&ValueSummary>, cycle_to_cycle: Option<ValueSummary>) -> Option<Jitter> {
    Some(Jitter { period_ps: period?.deviation, cycle_to_cycle_ps: cycle_to_cycle? })
}

/// Gives the widths of a simulated pin the bounds that they have with those of the same pin in
/// the runs of the low and of the high model.
pub fn enclose(likely: &mut PinStatistics, low: &PinStatistics, high: &PinStatistics) {
    for (own, low, high) in [
        (&mut likely.high_ps, &low.high_ps, &high.high_ps),
        (&mut likely.low_ps, &low.low_ps, &high.low_ps),
        (&mut likely.period_ps, &low.period_ps, &high.period_ps),
        (&mut likely.duty_ppm, &low.duty_ppm, &high.duty_ppm),
    ] {
        enclose_distribution(own, low.as_ref(), high.as_ref());
    }
}

/// The same of the times between two edges.
pub fn enclose_interval(likely: &mut PinInterval, low: &PinInterval, high: &PinInterval) {
    enclose_distribution(&mut likely.times_ps, low.times_ps.as_ref(), high.times_ps.as_ref());
}

/// A run without any values bounds nothing.
fn enclose_distribution(
    likely: &mut Option<ValueSummary>,
    low: Option<&ValueSummary>,
    high: Option<&ValueSummary>,
) {
    if let Some((low, high)) = low.or(high).zip(high.or(low)) {
        *likely = likely.take().map(|own| own.enclosed(low, high));
    }
}

/// Whether a change of level is one of the edges.
fn has(edges: Edges, before: Level, after: Level) -> bool {
    match edges {
        Edges::Rising => before.is_low() && after.is_high(),
        Edges::Falling => before.is_high() && after.is_low(),
        Edges::Any => before != Level::Unknown && after != Level::Unknown,
    }
}

/// Edges of one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trigger {
    /// The channel's index.
    pub channel: usize,
    /// Which of its edges.
    pub edges: Edges,
}

impl Trigger {
    /// When it happens, in order.
    fn times<'a>(&self, capture: &'a Capture) -> impl Iterator<Item = u64> + use<'a> {
        let edges = self.edges;
        let channel = &capture.channels[self.channel];
        let mut before = channel.initial;
        channel.edges.iter().filter_map(move |edge| {
            let level = std::mem::replace(&mut before, edge.level());
            has(edges, level, edge.level()).then_some(edge.at())
        })
    }

    fn name(&self, capture: &Capture) -> String {
        let edges = match self.edges {
            Edges::Any => "any edge",
            edges => edges.name(),
        };
        format!("{} {edges}", capture.channels[self.channel].name)
    }
}

/// From each start to the first end after it, and before the next start. Edges of two pins at one
/// tick are together: a time of 0; of the same pin an edge never ends what it starts.
///
/// # Panics
/// When there are no such channels.
pub fn interval(
    capture: &Capture,
    from: Trigger,
    to: Trigger,
    histogram: Option<u64>,
) -> PinInterval {
    let mut ends = to.times(capture).peekable();
    let mut starts = from.times(capture).peekable();
    let mut unanswered = 0;
    let mut times = ValueCounts::default();
    let same = from.channel == to.channel;
    while let Some(start) = starts.next() {
        while ends.next_if(|end| *end < start || same && *end == start).is_some() {}
        // An edge that ends this and starts the next still ends this.
        let in_time =
            |end: &u64| starts.peek().is_none_or(|next| end < next || same && end == next);
        match ends.peek().copied().filter(in_time) {
            Some(end) => times.add(end - start),
            None => unanswered += 1,
        }
    }
    let times_ps = ValueSummary::of_counts(&times, |ticks| capture.ps(ticks), histogram);
    PinInterval { from: from.name(capture), to: to.name(capture), times_ps, unanswered }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{Channel, Edge, Tick};

    /// A microsecond to the tick; levels as they change, `x` for unknown.
    fn capture(lines: &[(char, &[(u64, char)])], end: u64) -> Capture {
        let level = |c: char| match c {
            'x' => Level::Unknown,
            c => Level::of(c == '1'),
        };
        let channel = |(initial, edges): &(char, &[(u64, char)])| Channel {
            name: "pin".to_owned(),
            initial: level(*initial),
            edges: edges.iter().map(|(at, c)| Edge::new(*at, level(*c))).collect(),
        };
        Capture {
            tick: Tick::from_hz(1_000_000).unwrap(),
            resolution: Tick::from_hz(1_000_000).unwrap(),
            resolution_inferred: false,
            start: 0,
            end,
            channels: lines.iter().map(channel).collect(),
            notes: Vec::new(),
            cut: false,
            simulated: None,
        }
    }

    const US: u64 = 1_000_000;

    #[test]
    fn widths_periods_and_duty() {
        let edges = [(10, '1'), (15, '0'), (20, '1'), (26, '0'), (32, '1'), (40, '0')];
        let pin = statistics(&capture(&[('0', &edges)], 50), 0, None);
        assert_eq!((pin.rising, pin.falling), (3, 3));
        let high = pin.high_ps.unwrap();
        assert_eq!((high.count, high.min, high.max), (3, 5 * US, 8 * US));
        // The lows at the beginning and the end have no known length.
        assert_eq!(pin.low_ps.unwrap().count, 2);
        let period = pin.period_ps.unwrap();
        assert_eq!(
            (period.count, period.min, period.mean, period.max),
            (2, 10 * US, 11 * US, 12 * US)
        );
        assert_eq!(pin.duty_ppm.unwrap().max, 500_000);
        let jitter = pin.jitter.unwrap();
        assert_eq!((jitter.period_ps, jitter.cycle_to_cycle_ps.max), (1_414_213, 2 * US));
        assert_eq!((pin.high_total_ps, pin.low_total_ps), (19 * US, 31 * US));
    }

    #[test]
    fn further_runs_bound_the_widths_of_a_pin() {
        let pulses = |widths: [u64; 2]| {
            let edges = [(10, '1'), (10 + widths[0], '0'), (40, '1'), (40 + widths[1], '0')];
            statistics(&capture(&[('0', &edges)], 80), 0, None)
        };
        let [mut likely, low, high] = [[10, 12], [9, 12], [13, 14]].map(pulses);
        enclose(&mut likely, &low, &high);
        let bounds = likely.high_ps.and_then(|high| high.bounds).expect("bounds");
        let all = [bounds.min, bounds.max].map(|b| (b.low / US, b.likely / US, b.high / US));
        assert_eq!(all, [(9, 10, 13), (12, 12, 14)]);
        assert_eq!(likely.period_ps.and_then(|period| period.bounds), None, "the same in all");
    }

    #[test]
    fn hardly_any_edges_give_hardly_any_figures() {
        let none = statistics(&capture(&[('1', &[])], 50), 0, Some(1));
        assert_eq!((none.high_ps, none.period_ps, none.high_total_ps), (None, None, 50 * US));
        let one = statistics(&capture(&[('1', &[(20, '0')])], 50), 0, None);
        assert_eq!((one.falling, one.high_ps, one.low_ps), (1, None, None));
        let pulse = statistics(&capture(&[('0', &[(20, '1'), (30, '0')])], 50), 0, None);
        assert_eq!((pulse.high_ps.unwrap().max, pulse.jitter), (10 * US, None));
    }

    #[test]
    fn nothing_is_measured_across_an_unknown_level() {
        let edges = [(10, '1'), (12, 'x'), (14, '1'), (16, '0'), (20, '1'), (23, '0')];
        let pin = statistics(&capture(&[('0', &edges)], 50), 0, None);
        assert_eq!((pin.rising, pin.falling, pin.unknown), (2, 2, 1));
        assert_eq!(pin.high_ps.unwrap().count, 1);
        assert_eq!(pin.period_ps, None);
    }

    #[test]
    fn intervals_pair_each_start_with_the_next_end() {
        let a: &[(u64, char)] = &[(10, '1'), (12, '0'), (20, '1'), (22, '0'), (30, '1'), (31, '0')];
        let b: &[(u64, char)] = &[(13, '1'), (14, '0'), (30, '1')];
        let capture = capture(&[('0', a), ('0', b)], 50);
        let rise = |channel| Trigger { channel, edges: Edges::Rising };
        let between = interval(&capture, rise(0), rise(1), None);
        assert_eq!(between.unanswered, 1);
        let times = between.times_ps.unwrap();
        assert_eq!((times.count, times.min, times.max), (2, 0, 3 * US));
        let periods = interval(&capture, rise(0), rise(0), None);
        assert_eq!((periods.times_ps.unwrap().count, periods.unanswered), (2, 1));
        let widths = Trigger { channel: 0, edges: Edges::Falling };
        let widths = interval(&capture, rise(0), widths, None).times_ps.unwrap();
        assert_eq!((widths.count, widths.max), (3, 2 * US));
    }
}
