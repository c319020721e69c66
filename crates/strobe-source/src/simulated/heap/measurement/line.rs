//! Live bytes and blocks over time, and the largest free piece beside them.

use strobe_model::measurement::{Content, Extent, Section, TimelineBuilder, TrackKind, Unit};

use super::{Seen, section as of};
use crate::simulated::heap::arena::FragmentationSeries;
use crate::simulated::heap::replay::Level;

/// Values kept one by one; of longer runs, the least and most of each stretch of them.
const MOST_VALUES: usize = 8192;

/// A figure of a level.
type Figure = fn(&Level) -> u64;

/// The section; none where nothing was allocated.
pub(super) fn section(seen: &Seen, courses: &[FragmentationSeries]) -> Option<Section> {
    let levels = &seen.shadow.levels;
    if levels.is_empty() {
        return None;
    }
    let mut line = TimelineBuilder::new(Unit::NANOSECONDS);
    let at = |cycle: u64| i64::try_from(seen.nanoseconds(cycle)).unwrap_or(i64::MAX);
    let value = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let kept = thinned(levels, seen.shadow.peak);
    let tracks: [(&str, Unit, Figure); 2] = [
        ("live bytes", Unit::BYTES, |level| level.bytes),
        ("live blocks", Unit::COUNT, |level| level.blocks),
    ];
    for (name, unit, figure) in tracks {
        let track = line.track(TrackKind::Counter, None, name);
        line.track_mut(track).unit = Some(unit);
        line.value(track, 0, 0);
        for level in &kept {
            line.value(track, at(level.cycle), value(figure(level)));
        }
        line.value(track, at(seen.end), value(levels.last().map_or(0, figure)));
    }
    for course in courses.iter().filter(|course| !course.samples.is_empty()) {
        for (what, figure) in [("free", 0), ("largest free", 1)] {
            let name = format!("{what} ({})", course.name);
            let track = line.track(TrackKind::Counter, None, &name);
            line.track_mut(track).unit = Some(Unit::BYTES);
            for sample in &course.samples {
                let bytes = if figure == 0 { sample.free } else { sample.largest };
                line.value(track, at(sample.cycle), value(bytes));
            }
        }
    }
    let mut timeline = line.finish();
    if kept.len() < levels.len() {
        timeline.exact = Vec::new();
    } else {
        timeline.exact = vec![Extent { ..timeline.extent }];
    }
    let mut section = of("heap-timeline", "live heap", Content::Timeline(Box::new(timeline)));
    if kept.len() < levels.len() {
        section.notes.push(format!(
            "Of {} changes the least and the most of each stretch are kept, the peak among them.",
            levels.len()
        ));
    }
    Some(section)
}

/// The least and the most of each stretch, in their order, and the peak.
fn thinned(levels: &[Level], peak: Level) -> Vec<Level> {
    if levels.len() <= MOST_VALUES {
        return levels.to_vec();
    }
    let stretch = levels.len().div_ceil(MOST_VALUES / 2);
    let mut out = Vec::with_capacity(MOST_VALUES + 1);
    for part in levels.chunks(stretch) {
        let least = part.iter().min_by_key(|level| level.bytes);
        let most = part.iter().max_by_key(|level| level.bytes);
        let mut both: Vec<Level> = least.into_iter().chain(most).copied().collect();
        if part
            .first()
            .zip(part.last())
            .is_some_and(|(a, b)| (a.order..=b.order).contains(&peak.order))
        {
            both.push(peak);
        }
        both.sort_by_key(|level| level.order);
        both.dedup();
        out.extend(both);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_course_keeps_its_peak() {
        let level = |n: u32| Level {
            cycle: u64::from(n),
            order: n,
            bytes: u64::from(n * 7919 % 10_007),
            blocks: 1,
        };
        let levels: Vec<Level> = (0..100_000).map(level).collect();
        let peak = *levels.iter().max_by_key(|level| level.bytes).unwrap();
        let kept = thinned(&levels, peak);
        assert!(kept.len() <= MOST_VALUES + 1 && kept.contains(&peak));
        assert!(kept.windows(2).all(|pair| pair[0].order < pair[1].order));
        assert_eq!(thinned(&levels[..100], levels[3]).len(), 100);
    }
}
