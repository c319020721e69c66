//! Widths, periods and times between edges, out of a capture.

mod measurement;
mod pulses;
pub mod report;

use crate::pins::report::{CaptureSummary, Jitter, PinInterval, PinStatistics, SimulatedCapture};
use crate::summary::{ValueCounts, ValueSummary};
use strobe_model::Bounds;

pub use strobe_model::spelling::Edges;

use crate::capture::{Capture, Channel, Level, Simulated};

pub use measurement::measurement;

use pulses::{Counts, Lists, Period, Walk, Widths, ppm};

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
        simulated: capture.simulated.as_ref().map(|simulated| {
            let (least, most) = simulated.whole(capture.end);
            let [low, likely, high] = [least, capture.end, most].map(|t| capture.ps(t));
            let board = simulated.board.clone();
            SimulatedCapture { board, duration_ps: Bounds { low, likely, high } }
        }),
    }
}

/// What a channel did. `histogram` asks for histograms with bins of at least so many picoseconds.
///
/// # Panics
/// When there is no such channel.
pub fn statistics(capture: &Capture, channel: usize, histogram: Option<u64>) -> PinStatistics {
    match &capture.simulated {
        None => counted(capture, &capture.channels[channel], histogram),
        Some(simulated) => bounded(capture, simulated, channel, histogram),
    }
}

/// Of a recorded channel: its widths are counted, so that memory grows with the different ones
/// only.
fn counted(capture: &Capture, channel: &Channel, histogram: Option<u64>) -> PinStatistics {
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

/// Of a simulated channel, whose widths have bounds.
fn bounded(
    capture: &Capture,
    simulated: &Simulated,
    index: usize,
    histogram: Option<u64>,
) -> PinStatistics {
    let channel = &capture.channels[index];
    let along = |width: &dyn Fn(u64, u64) -> u64| {
        let mut widths = Widths { width, lists: Lists::default() };
        let walk = Walk::along(channel, capture.end, &mut widths);
        (walk, widths.lists)
    };
    let between = |from, to| simulated.between((index, from), (index, to));
    let (walk, likely) = along(&|from, to| to - from);
    let (low, high) =
        (along(&|from, to| between(from, to).0), along(&|from, to| between(from, to).1));
    let lists = [&likely, &low.1, &high.1];
    let distribution = |of: fn(&Lists) -> Vec<u64>| {
        let ps = |list: &Lists| of(list).into_iter().map(|t| capture.ps(t)).collect::<Vec<_>>();
        distribution(lists.map(ps), histogram)
    };
    let period = distribution(|list| list.periods.iter().map(|p| p.0).collect());
    PinStatistics {
        duty_ppm: duty(lists),
        high_ps: distribution(|list| list.high.clone()),
        low_ps: distribution(|list| list.low.clone()),
        jitter: jitter(period.as_ref(), cycle_to_cycle(capture, lists, histogram)),
        period_ps: period,
        ..walk.totals(capture, channel)
    }
}

fn jitter(period: Option<&ValueSummary>, cycle_to_cycle: Option<ValueSummary>) -> Option<Jitter> {
    Some(Jitter { period_ps: period?.deviation, cycle_to_cycle_ps: cycle_to_cycle? })
}

/// Values with the least and the most that each may be.
fn distribution(
    [values, low, high]: [Vec<u64>; 3],
    histogram: Option<u64>,
) -> Option<ValueSummary> {
    let bounds: Vec<_> = low.into_iter().zip(high).collect();
    let distribution = match histogram {
        Some(step) => ValueSummary::with_histogram(values.clone(), step),
        None => ValueSummary::of(values.clone()),
    };
    Some(distribution?.bounded(&values, &bounds))
}

/// By how much each period differs from the one before.
fn cycle_to_cycle(
    capture: &Capture,
    [likely, low, high]: [&Lists; 3],
    histogram: Option<u64>,
) -> Option<ValueSummary> {
    let apart = |periods: &[Period]| capture.ps(periods[0].0.abs_diff(periods[1].0));
    let values = likely.periods.windows(2).map(apart).collect();
    let pairs = || low.periods.windows(2).zip(high.periods.windows(2));
    // Two periods between bounds are apart by no less than the gap between the bounds, and no more
    // than their ends.
    let least = pairs().map(|(low, high)| {
        let gaps = [low[0].0.saturating_sub(high[1].0), low[1].0.saturating_sub(high[0].0)];
        capture.ps(gaps[0].max(gaps[1]))
    });
    let most = pairs().map(|(low, high)| {
        let ends = [high[0].0.saturating_sub(low[1].0), high[1].0.saturating_sub(low[0].0)];
        capture.ps(ends[0].max(ends[1]))
    });
    distribution([values, least.collect(), most.collect()], histogram)
}

/// The high part of each period, in millionths.
fn duty([likely, low, high]: [&Lists; 3]) -> Option<ValueSummary> {
    let parts =
        |list: &Lists| list.periods.iter().filter_map(|(_, parts)| *parts).collect::<Vec<_>>();
    // In a bound these are no longer together a period: what one has less, the other may have more.
    let pairs = parts(low).into_iter().zip(parts(high));
    let (least, most) =
        pairs.map(|(least, most)| (ppm(least.0, most.1), ppm(most.0, least.1))).unzip();
    let values = parts(likely).into_iter().map(|(high, low)| ppm(high, low)).collect();
    distribution([values, least, most], None)
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
    let (mut times, mut bounds) = (ValueCounts::default(), [const { Vec::new() }; 3]);
    let same = from.channel == to.channel;
    while let Some(start) = starts.next() {
        while ends.next_if(|end| *end < start || same && *end == start).is_some() {}
        // An edge that ends this and starts the next still ends this.
        let in_time =
            |end: &u64| starts.peek().is_none_or(|next| end < next || same && end == next);
        match ends.peek().copied().filter(in_time) {
            Some(end) if capture.simulated.is_some() => {
                let (low, high) = capture.between((from.channel, start), (to.channel, end));
                for (list, ticks) in bounds.iter_mut().zip([end - start, low, high]) {
                    list.push(capture.ps(ticks));
                }
            }
            Some(end) => times.add(end - start),
            None => unanswered += 1,
        }
    }
    let times_ps = match capture.simulated {
        None => ValueSummary::of_counts(&times, |ticks| capture.ps(ticks), histogram),
        Some(_) => distribution(bounds, histogram),
    };
    PinInterval { from: from.name(capture), to: to.name(capture), times_ps, unanswered }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{Edge, Recording, Tick};

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
    fn model_uncertainty_bounds_each_figure() {
        let mut recording = Recording::new("board", 0, &[("pin".to_owned(), false)], 100);
        // Slack grows in the first pulse by 1 and 3 us, in the first low by 0 and 1, then no more.
        let slack = [(2, 2), (3, 5), (3, 6), (3, 6), (3, 6)];
        for ((n, at), slack) in [10, 20, 40, 50, 70].into_iter().enumerate().zip(slack) {
            assert!(recording.edge(0, n % 2 == 0, at * US, (slack.0 * US, slack.1 * US)));
        }
        let pin = statistics(&recording.finish(80 * US, &[(0, 8_000_000)]), 0, None);
        let high = pin.high_ps.unwrap();
        let bounds = high.bounds.unwrap();
        assert_eq!((bounds.min.low, high.min, bounds.max.high), (9 * US, 10 * US, 13 * US));
        assert_eq!((bounds.mean.low, bounds.mean.high), (9_500_000, 11_500_000));
        let period = pin.period_ps.unwrap();
        assert_eq!((period.min, period.bounds.unwrap().max.high), (30 * US, 34 * US));
        let (duty, jitter) = (pin.duty_ppm.unwrap(), pin.jitter.unwrap());
        assert_eq!((duty.min, duty.bounds.unwrap().max.high), (333_333, 13_000_000 / 33));
        let bounds = jitter.cycle_to_cycle_ps.bounds.unwrap();
        assert_eq!((bounds.max.low, bounds.max.high), (0, 4 * US));
    }

    /// A pulse of unknown length within a period of a known one.
    #[test]
    fn longer_high_part_shortens_the_low_part() {
        let mut recording = Recording::new("board", 0, &[("pin".to_owned(), false)], 100);
        let slack = [(2, 2), (4, 8), (2, 2)];
        for ((n, at), slack) in [10, 20, 40].into_iter().enumerate().zip(slack) {
            assert!(recording.edge(0, n % 2 == 0, at * US, (slack.0 * US, slack.1 * US)));
        }
        let pin = statistics(&recording.finish(80 * US, &[(0, 8_000_000)]), 0, None);
        let duty = pin.duty_ppm.unwrap();
        let bounds = duty.bounds.unwrap();
        let all = (bounds.min.low, duty.min, bounds.max.high);
        assert_eq!(all, (266_666, 333_333, 533_333), "8, 10 and 16 of 30 us");
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
