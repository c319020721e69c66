//! How busy a simulated core was while a bus was in use.

use crate::bus::report::{BusCore, CoreTime};

use super::Decoded;
use crate::capture::{AWAKE, Capture, Channel};

/// From, to, in ticks of the capture.
type Span = (u64, u64);

/// What the core did meanwhile; `None` for what an instrument took, and where no word was found.
pub(super) fn meanwhile(decoded: &Decoded, capture: &Capture) -> Option<BusCore> {
    let simulated = capture.simulated.as_ref()?;
    let awake = capture.channels.iter().find(|channel| channel.name == AWAKE)?;
    let awake = highs(awake, capture.end);
    // At least a tick takes a picosecond, so that none is lost on the way there and back.
    let tick = |ps: i64| {
        let ps = u64::try_from(ps.saturating_sub(capture.at_ps(0))).unwrap_or(0);
        capture.tick_at(ps).min(capture.end)
    };
    let ticks = |from: i64, to: i64| (tick(from), tick(to));
    let words = decoded.lanes.iter().flat_map(|lane| &lane.words);
    let words = joined(words.map(|word| ticks(word.start_ps, word.end_ps)).collect());
    let transfers = decoded.transfers.iter().map(|t| ticks(t.start_ps, t.end_ps)).collect();
    let transfers = joined(transfers);
    let whole = (words.first()?.0, words.last()?.1);
    let time = |spans: &[Span]| CoreTime {
        time_ps: capture.ps(spans.iter().map(|(from, to)| to.saturating_sub(*from)).sum()),
        cycles: simulated.cycles(spans.iter().copied()),
        awake_cycles: simulated.cycles(common(spans, &awake)),
    };
    Some(BusCore {
        span: time(&[whole]),
        words: time(&words),
        transfers: (!transfers.is_empty()).then(|| time(&transfers)),
    })
}

/// When a channel is high.
fn highs(channel: &Channel, end: u64) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut since = channel.initial.is_high().then_some(0);
    for edge in &channel.edges {
        match since {
            None if edge.level().is_high() => since = Some(edge.at()),
            Some(from) if edge.level().is_low() => {
                spans.push((from, edge.at()));
                since = None;
            }
            _ => {}
        }
    }
    spans.extend(since.map(|from| (from, end)));
    spans
}

/// Spans by time, with those that touch or overlap made one.
fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut all: Vec<Span> = Vec::new();
    for (from, to) in spans {
        match all.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => all.push((from, to)),
        }
    }
    all
}

/// What two lists of spans by time have in common.
fn common(a: &[Span], b: &[Span]) -> Vec<Span> {
    let (mut i, mut j) = (0, 0);
    let mut all = Vec::new();
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let (from, to) = (x.0.max(y.0), x.1.min(y.1));
        if from < to {
            all.push((from, to));
        }
        if x.1 < y.1 { i += 1 } else { j += 1 }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_joined_and_intersected() {
        let spans = joined(vec![(50, 60), (0, 10), (5, 20), (20, 30)]);
        assert_eq!(spans, [(0, 30), (50, 60)]);
        assert_eq!(common(&spans, &[(10, 55), (58, 100)]), [(10, 30), (50, 55), (58, 60)]);
    }
}
