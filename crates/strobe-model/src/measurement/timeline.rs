//! What happened when: spans, moments and counters on tracks, with a summary of the whole and exact
//! events where they matter.
//!
//! Times are in the time line's unit from its beginning. All is kept by columns.

use serde::{Deserialize, Serialize};

use super::{Column, Problem, TimelineProblem, Unit};

/// Everything on a time line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timeline {
    /// The unit of all times.
    pub unit: Unit,
    /// From the first moment to the last.
    pub extent: Extent,
    /// The lines of the display.
    pub tracks: Vec<Track>,
    /// Names that spans and moments refer to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The parts in which every span, moment and value is here. Elsewhere there is the summary,
    /// and what was worth a moment of its own: worst cases.
    pub exact: Vec<Extent>,
    /// What took time.
    pub spans: Spans,
    /// What took none.
    pub moments: Moments,
    /// Values over time.
    pub counters: Counters,
    /// Where something is missing.
    pub gaps: Gaps,
    /// How much of each stretch every track had, at several levels, the finest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summary: Vec<Level>,
}

/// From a moment to another one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Extent {
    /// The first moment.
    pub from: i64,
    /// The first moment behind it.
    pub to: i64,
}

/// A line of the display.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Track {
    /// What it stands for.
    pub kind: TrackKind,
    /// The target's number for it: a thread's, an exception's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
    /// What it is called.
    pub name: String,
    /// Of a counter, the unit of its values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
}

/// What a track stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TrackKind {
    /// A thread of the target. Its spans are the times that it ran.
    Thread,
    /// An exception or interrupt. Its spans are its handler's.
    Exception,
    /// Functions of a thread, one inside the other.
    Functions,
    /// What somebody marked: windows, transfers, pulses.
    Marks,
    /// Samples: moments whose names are functions.
    Samples,
    /// A value over time.
    Counter,
}

/// What took time, by columns. Spans of one track lie beside or inside one another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spans {
    /// Tracks.
    pub track: Vec<u32>,
    /// Names; the track's where there is none.
    pub name: Vec<Option<u32>>,
    /// First moments.
    pub begin: Vec<i64>,
    /// How long each took.
    pub duration: Vec<u64>,
    /// What else is known of each: a cell for each span.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Column>,
}

/// What took no time, by columns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moments {
    /// Tracks.
    pub track: Vec<u32>,
    /// Names.
    pub name: Vec<u32>,
    /// When.
    pub at: Vec<i64>,
}

/// Values over time, by columns: each holds from its moment on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counters {
    /// Tracks.
    pub track: Vec<u32>,
    /// From when.
    pub at: Vec<i64>,
    /// Values.
    pub value: Vec<i64>,
}

/// Where something is missing, by columns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gaps {
    /// Not before.
    pub from: Vec<i64>,
    /// Not after.
    pub to: Vec<i64>,
    /// How much is missing, where that is known.
    pub events: Vec<Option<u64>>,
    /// Why.
    pub why: Vec<String>,
}

/// A summary: time cut into stretches of one width.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// When the first stretch begins.
    pub begin: i64,
    /// How long each is.
    pub width: u64,
    /// What each track has of them.
    pub tracks: Vec<SummaryTrack>,
}

/// What a track has of each stretch, without those of which it has nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SummaryTrack {
    /// The track.
    pub track: u32,
    /// Stretches, by number.
    pub stretch: Vec<u32>,
    /// Time that the track has of each.
    pub time: Vec<u64>,
    /// Spans that began in each.
    pub spans: Vec<u64>,
}

impl Extent {
    /// Whether it holds that moment, its end with it.
    fn reaches(self, at: i64) -> bool {
        self.from <= at && at <= self.to
    }

    fn check(self, part: &str) -> Result<(), TimelineProblem> {
        let Extent { from, to } = self;
        if from <= to {
            return Ok(());
        }
        Err(TimelineProblem::Order { part: part.to_owned(), from, to })
    }
}

impl Timeline {
    /// A time line without anything on it.
    pub fn new(unit: Unit) -> Self {
        Timeline {
            unit,
            extent: Extent::default(),
            tracks: Vec::new(),
            names: Vec::new(),
            exact: Vec::new(),
            spans: Spans::default(),
            moments: Moments::default(),
            counters: Counters::default(),
            gaps: Gaps::default(),
            summary: Vec::new(),
        }
    }

    /// The name of a span: its own or its track's.
    pub fn span_name(&self, span: usize) -> &str {
        let own = self.spans.name.get(span).copied().flatten();
        let own = own.and_then(|name| self.names.get(name as usize));
        let track = || self.tracks.get(*self.spans.track.get(span)? as usize);
        own.or_else(|| track().map(|track| &track.name)).map_or("", String::as_str)
    }

    /// The values of each track with their moments, in the order of time; those of one moment stay
    /// in their order.
    pub fn values_by_track(&self) -> Vec<Vec<(i64, i64)>> {
        let mut by_track = vec![Vec::new(); self.tracks.len()];
        let Counters { track, at, value } = &self.counters;
        for (track, value) in track.iter().zip(at.iter().copied().zip(value.iter().copied())) {
            if let Some(values) = by_track.get_mut(*track as usize) {
                values.push(value);
            }
        }
        by_track.iter_mut().for_each(|values| values.sort_by_key(|(at, _)| *at));
        by_track
    }

    pub(super) fn check(&self) -> Result<(), Problem> {
        use super::profile::{inside, lengths};
        let (tracks, names) = (self.tracks.len(), self.names.len());
        let Spans { track, name, begin, duration, details } = &self.spans;
        lengths("spans", track.len(), &[name.len(), begin.len(), duration.len()])?;
        let cells: Vec<usize> = details.iter().map(|column| column.cells.len()).collect();
        lengths("details of spans", track.len(), &cells)?;
        inside("spans", "track", track, tracks)?;
        inside("spans", "name", name.iter().flatten(), names)?;
        let Moments { track, name, at } = &self.moments;
        lengths("moments", track.len(), &[name.len(), at.len()])?;
        inside("moments", "track", track, tracks)?;
        inside("moments", "name", name, names)?;
        let Counters { track, at, value } = &self.counters;
        lengths("counters", track.len(), &[at.len(), value.len()])?;
        inside("counters", "track", track, tracks)?;
        let Gaps { from, to, events, why } = &self.gaps;
        lengths("gaps", from.len(), &[to.len(), events.len(), why.len()])?;
        self.check_summary()?;
        self.check_times()
    }

    fn check_summary(&self) -> Result<(), Problem> {
        use super::profile::{inside, lengths};
        for level in &self.summary {
            if level.width == 0 {
                return Err(TimelineProblem::StretchWidth.into());
            }
            for part in &level.tracks {
                inside("summaries", "track", [&part.track], self.tracks.len())?;
                let n = part.stretch.len();
                lengths("summaries", n, &[part.time.len(), part.spans.len()])?;
                if part.stretch.windows(2).any(|pair| pair[0] >= pair[1]) {
                    return Err(TimelineProblem::StretchOrder.into());
                }
            }
        }
        Ok(())
    }

    /// Nothing ends before it begins, or is where the time line is not.
    fn check_times(&self) -> Result<(), Problem> {
        let extent = self.extent;
        extent.check("the time line")?;
        for exact in &self.exact {
            exact.check("a part that is exact")?;
            if !extent.reaches(exact.from) || !extent.reaches(exact.to) {
                let &Extent { from, to } = exact;
                return Err(TimelineProblem::Exact { from, to }.into());
            }
        }
        let gaps = self.gaps.from.iter().zip(&self.gaps.to);
        for (i, (&from, &to)) in gaps.enumerate() {
            Extent { from, to }.check(&format!("gap {i}"))?;
        }
        let outside = |at: &i64| !extent.reaches(*at);
        for (kind, times) in [
            ("span", &self.spans.begin),
            ("moment", &self.moments.at),
            ("value", &self.counters.at),
        ] {
            if let Some(index) = times.iter().position(outside) {
                return Err(TimelineProblem::Outside { kind, index, at: times[index] }.into());
            }
        }
        let mut ends = self.spans.begin.iter().zip(&self.spans.duration);
        let late = |(begin, duration): (&i64, &u64)| {
            begin.checked_add_unsigned(*duration).is_none_or(|end| end > extent.to)
        };
        match ends.position(late) {
            Some(index) => Err(TimelineProblem::SpanEnd { index }.into()),
            None => Ok(()),
        }
    }
}
