//! Building a time line event by event: names are kept once, tracks are made when they are first
//! needed.

use std::collections::HashMap;

use super::{Extent, Timeline, Track, TrackKind, Unit};

/// Stands for the track's name until that is known for good.
const OF_TRACK: u32 = u32::MAX;

/// A time line that is still growing. Nothing needs to be added in order.
#[derive(Debug, Clone)]
pub struct TimelineBuilder {
    timeline: Timeline,
    names: HashMap<String, u32>,
    tracks: HashMap<(TrackKind, Key), u32>,
    cut: Option<i64>,
}

/// What distinguishes tracks of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Number(i64),
    Name(String),
}

impl TimelineBuilder {
    /// Nothing yet; times are in that unit.
    pub fn new(unit: Unit) -> Self {
        TimelineBuilder {
            timeline: Timeline::new(unit),
            names: HashMap::new(),
            tracks: HashMap::new(),
            cut: None,
        }
    }

    /// The track of that kind with that number or, where it has none, that name; made if there is
    /// none.
    pub fn track(&mut self, kind: TrackKind, number: Option<i64>, name: &str) -> u32 {
        let key = number.map_or_else(|| Key::Name(name.to_owned()), Key::Number);
        let next = self.timeline.tracks.len() as u32;
        let track = *self.tracks.entry((kind, key)).or_insert(next);
        if track == next {
            let name = name.to_owned();
            self.timeline.tracks.push(Track { kind, number, name, unit: None });
        }
        track
    }

    /// The track of that kind with that number; made, with that name, if there is none.
    pub fn numbered_track(
        &mut self,
        kind: TrackKind,
        number: i64,
        name: impl FnOnce() -> String,
    ) -> u32 {
        match self.tracks.get(&(kind, Key::Number(number))) {
            Some(track) => *track,
            None => self.track(kind, Some(number), &name()),
        }
    }

    /// A track that [`TimelineBuilder::track`] has returned.
    pub fn track_mut(&mut self, track: u32) -> &mut Track {
        &mut self.timeline.tracks[track as usize]
    }

    /// All tracks, to name them.
    pub fn tracks_mut(&mut self) -> &mut [Track] {
        &mut self.timeline.tracks
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.names.get(name) {
            return known;
        }
        let new = self.timeline.names.len() as u32;
        self.timeline.names.push(name.to_owned());
        self.names.insert(name.to_owned(), new);
        new
    }

    /// Something took time. Without a name it has its track's.
    pub fn span(&mut self, track: u32, name: Option<&str>, begin: i64, end: i64) {
        let name = name.map(|name| self.name(name));
        let spans = &mut self.timeline.spans;
        spans.track.push(track);
        spans.name.push(name);
        spans.begin.push(begin);
        spans.duration.push(u64::try_from(end.saturating_sub(begin)).unwrap_or(0));
    }

    /// Something took none. Without a name it has its track's.
    pub fn moment(&mut self, track: u32, name: Option<&str>, at: i64) {
        let name = name.map_or(OF_TRACK, |name| self.name(name));
        let moments = &mut self.timeline.moments;
        moments.track.push(track);
        moments.name.push(name);
        moments.at.push(at);
    }

    /// A counter has a value from now on.
    pub fn value(&mut self, track: u32, at: i64, value: i64) {
        let counters = &mut self.timeline.counters;
        counters.track.push(track);
        counters.at.push(at);
        counters.value.push(value);
    }

    /// Something is missing.
    pub fn gap(&mut self, from: i64, to: i64, events: Option<u64>, why: &str) {
        let gaps = &mut self.timeline.gaps;
        gaps.from.push(from);
        gaps.to.push(to.max(from));
        gaps.events.push(events);
        gaps.why.push(why.to_owned());
    }

    /// From here on not everything is kept.
    pub fn cut(&mut self, at: i64) {
        self.cut.get_or_insert(at);
    }

    /// Spans, moments, values and gaps so far.
    pub fn len(&self) -> usize {
        let Timeline { spans, moments, counters, gaps, .. } = &self.timeline;
        spans.begin.len() + moments.at.len() + counters.at.len() + gaps.from.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The time line, from its first moment to its last.
    pub fn finish(mut self) -> Timeline {
        for i in 0..self.timeline.moments.name.len() {
            if self.timeline.moments.name[i] == OF_TRACK {
                let track = self.timeline.moments.track[i] as usize;
                let name = self.timeline.tracks[track].name.clone();
                self.timeline.moments.name[i] = self.name(&name);
            }
        }
        let extent = self.extent();
        let to = self.cut.map_or(extent.to, |cut| cut.clamp(extent.from, extent.to));
        self.timeline.extent = extent;
        self.timeline.exact = vec![Extent { from: extent.from, to }];
        self.timeline
    }

    fn extent(&self) -> Extent {
        let Timeline { spans, moments, counters, gaps, .. } = &self.timeline;
        let ends =
            spans.begin.iter().zip(&spans.duration).map(|(b, d)| b.saturating_add_unsigned(*d));
        let moments = moments.at.iter().chain(&counters.at).copied();
        let starts = spans.begin.iter().chain(&gaps.from).copied().chain(moments.clone());
        let from = starts.min().unwrap_or(0);
        let last = moments.map(|at| at.saturating_add(1));
        let to = ends.chain(gaps.to.iter().copied()).chain(last).max().unwrap_or(from);
        Extent { from, to }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unnamed_events_get_the_last_name_of_their_track() {
        let mut builder = TimelineBuilder::new(Unit::NANOSECONDS);
        let track = builder.track(TrackKind::Marks, Some(5), "mark 5");
        assert_eq!(builder.track(TrackKind::Marks, Some(5), "?"), track);
        assert_ne!(builder.track(TrackKind::Marks, None, "mark 5"), track);
        builder.moment(track, None, 10);
        builder.moment(track, Some("other"), 11);
        builder.span(track, None, 4, 9);
        builder.track_mut(track).name = "loaded".to_owned();
        let timeline = builder.finish();
        assert_eq!(timeline.names, ["other", "loaded"]);
        assert_eq!(timeline.moments.name, [1, 0]);
        assert_eq!(timeline.span_name(0), "loaded");
        assert_eq!(timeline.extent, Extent { from: 4, to: 12 });
        assert_eq!(timeline.exact, [timeline.extent]);
    }
}
