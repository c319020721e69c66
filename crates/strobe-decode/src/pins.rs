//! Widths, periods and times between edges, out of a capture.

use strobe_model::{CaptureSummary, Distribution, Jitter, PinInterval, PinLevel, PinStatistics};

use crate::capture::{Capture, Edge, Format, Level};

/// What the reports say of a capture.
pub fn summary(capture: &Capture, file: String, format: Format) -> CaptureSummary {
    let resolution = u64::try_from(capture.resolution.ps(1)).unwrap_or(u64::MAX);
    CaptureSummary {
        file,
        format: format.name().to_owned(),
        resolution_ps: resolution,
        resolution_inferred: capture.resolution_inferred,
        start_ps: capture.at_ps(0),
        duration_ps: capture.ps(capture.end),
        channels: capture.channels.iter().map(|c| c.name.clone()).collect(),
    }
}

/// What a channel did. `histogram` asks for histograms with bins of at least so many picoseconds.
///
/// # Panics
/// When there is no such channel.
pub fn statistics(capture: &Capture, channel: usize, histogram: Option<u64>) -> PinStatistics {
    let channel = &capture.channels[channel];
    let mut walk = Walk::default();
    let mut before = (0, channel.initial);
    for edge in &channel.edges {
        walk.stretch(before, edge.at());
        walk.edge(before.1, edge);
        before = (edge.at(), edge.level());
    }
    walk.stretch(before, capture.end);
    let distribution = |ticks: Vec<u64>| {
        let ps = ticks.iter().map(|t| capture.ps(*t)).collect();
        match histogram {
            Some(step) => Distribution::with_histogram(ps, step),
            None => Distribution::of(ps),
        }
    };
    let cycles = walk.periods.windows(2).map(|p| p[0].0.abs_diff(p[1].0)).collect();
    let period = distribution(walk.periods.iter().map(|p| p.0).collect());
    let jitter = distribution(cycles).and_then(|cycle_to_cycle_ps| {
        Some(Jitter { period_ps: period.as_ref()?.deviation, cycle_to_cycle_ps })
    });
    let duty = walk.periods.iter().filter_map(|(period, high)| {
        let ppm = u128::from((*high)?) * 1_000_000 / u128::from(*period);
        u64::try_from(ppm).ok()
    });
    PinStatistics {
        pin: channel.name.clone(),
        initial: level(channel.initial),
        rising: walk.rising,
        falling: walk.falling,
        unknown: walk.unknown,
        high_total_ps: capture.ps(walk.high_total),
        low_total_ps: capture.ps(walk.low_total),
        duty_ppm: Distribution::of(duty.collect()),
        high_ps: distribution(walk.high),
        low_ps: distribution(walk.low),
        period_ps: period,
        jitter,
    }
}

fn level(level: Level) -> PinLevel {
    match level {
        Level::Low => PinLevel::Low,
        Level::High => PinLevel::High,
        Level::Unknown => PinLevel::Unknown,
    }
}

/// A walk along a channel, in ticks.
#[derive(Default)]
struct Walk {
    rising: u64,
    falling: u64,
    unknown: u64,
    high_total: u64,
    low_total: u64,
    high: Vec<u64>,
    low: Vec<u64>,
    /// Each with its high part.
    periods: Vec<(u64, Option<u64>)>,
    last_rise: Option<u64>,
    last_fall: Option<u64>,
}

impl Walk {
    fn stretch(&mut self, (from, level): (u64, Level), to: u64) {
        match level {
            Level::High => self.high_total += to.saturating_sub(from),
            Level::Low => self.low_total += to.saturating_sub(from),
            Level::Unknown => {}
        }
    }

    fn edge(&mut self, before: Level, edge: &Edge) {
        let at = edge.at();
        match (before, edge.level()) {
            (Level::Low, Level::High) => {
                self.rising += 1;
                self.low.extend(self.last_fall.map(|fall| at - fall));
                if let Some(rise) = self.last_rise {
                    self.periods.push((at - rise, self.last_fall.map(|fall| fall - rise)));
                }
                (self.last_rise, self.last_fall) = (Some(at), None);
            }
            (Level::High, Level::Low) => {
                self.falling += 1;
                self.high.extend(self.last_rise.map(|rise| at - rise));
                self.last_fall = Some(at);
            }
            (_, Level::Unknown) => {
                self.unknown += 1;
                (self.last_rise, self.last_fall) = (None, None);
            }
            _ => {}
        }
    }
}

/// Which edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edges {
    /// From low to high.
    Rising,
    /// From high to low.
    Falling,
    /// Both.
    Any,
}

impl Edges {
    fn name(self) -> &'static str {
        match self {
            Edges::Rising => "rising",
            Edges::Falling => "falling",
            Edges::Any => "any edge",
        }
    }

    fn has(self, before: Level, after: Level) -> bool {
        match self {
            Edges::Rising => before.is_low() && after.is_high(),
            Edges::Falling => before.is_high() && after.is_low(),
            Edges::Any => before != Level::Unknown && after != Level::Unknown,
        }
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
            edges.has(level, edge.level()).then_some(edge.at())
        })
    }

    fn name(&self, capture: &Capture) -> String {
        format!("{} {}", capture.channels[self.channel].name, self.edges.name())
    }
}

/// From each start to the first end after it, and before the next start. Edges of two pins at one tick are together: a time
/// of 0; of the same pin an edge never ends what it starts.
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
    let (mut times, mut unanswered) = (Vec::new(), 0);
    let same = from.channel == to.channel;
    while let Some(start) = starts.next() {
        while ends.next_if(|end| *end < start || same && *end == start).is_some() {}
        // An edge that ends this and starts the next still ends this.
        let in_time =
            |end: &u64| starts.peek().is_none_or(|next| end < next || same && end == next);
        match ends.peek().copied().filter(in_time) {
            Some(end) => times.push(capture.ps(end - start)),
            None => unanswered += 1,
        }
    }
    let times_ps = match histogram {
        Some(step) => Distribution::with_histogram(times, step),
        None => Distribution::of(times),
    };
    PinInterval { from: from.name(capture), to: to.name(capture), times_ps, unanswered }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{Channel, Tick};

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
