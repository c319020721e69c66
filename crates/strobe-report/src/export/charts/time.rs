//! Values over time: the counters of a time line, those of one name together on one axis.

use std::fmt::Write as _;

use strobe_model::measurement::{Timeline, TrackKind, Unit};

use super::axis::Axis;
use super::drawing::{COLOURS, CURVE, Drawing, LEFT, RIGHT, WIDTH};
use super::grouped;

/// Points of a series; of more, the largest of each step.
const POINTS: usize = 800;
/// Between two values further apart than so many times the usual distance lies a gap.
const GAP: i64 = 8;

/// Values of one track with their times.
struct Track<'a> {
    name: &'a str,
    points: Vec<(i64, i64)>,
}

/// Whether a time line has values to draw.
pub(super) fn draws(line: &Timeline) -> bool {
    !line.counters.at.is_empty()
}

impl Drawing {
    /// The counters of a time line.
    pub fn timeline(&mut self, title: &str, line: &Timeline) {
        let counters =
            (0..line.tracks.len()).filter(|track| line.tracks[*track].kind == TrackKind::Counter);
        let named = |track: &usize| {
            let track = &line.tracks[*track];
            (track.name.as_str(), track.unit.as_ref().unwrap_or(&Unit::COUNT))
        };
        let mut values = line.values_by_track();
        for group in grouped(counters, named) {
            let unit = named(&group.own[0].1).1;
            let mut of = |(name, track): (_, usize)| Track {
                name,
                points: points(&std::mem::take(&mut values[track])),
            };
            let tracks: Vec<Track> = group.own.into_iter().map(&mut of).collect();
            if tracks.iter().all(|track| track.points.is_empty()) {
                continue;
            }
            self.title(&format!("{title}: {}", group.name));
            self.over_time(&tracks, &line.unit, unit);
        }
    }

    fn over_time(&mut self, tracks: &[Track], time: &Unit, unit: &Unit) {
        let points = || tracks.iter().flat_map(|track| &track.points);
        let across = points().map(|point| point.0 as f64);
        let across = Axis::over(across.chain([0.0]), LEFT + 6.0, WIDTH - RIGHT - 6.0);
        let up = points().map(|point| point.1 as f64);
        let up = Axis::over(up, self.bottom + CURVE - 8.0, self.bottom + 8.0);
        self.frame(CURVE);
        self.grid(&up, unit);
        for (n, track) in tracks.iter().enumerate() {
            let colour = COLOURS[n % COLOURS.len()];
            for piece in pieces(&track.points) {
                let place = |(at, value): &(i64, i64)| {
                    format!("{:.1},{:.1}", across.place(*at as f64), up.place(*value as f64))
                };
                let line = piece.iter().map(place).collect::<Vec<_>>().join(" ");
                // A single point is no line.
                let dot = piece.len() == 1;
                let _ = match line.split_once(',').filter(|_| dot) {
                    Some((x, y)) => writeln!(
                        self.text,
                        "<circle cx=\"{x}\" cy=\"{y}\" r=\"2.5\" fill=\"{colour}\"/>"
                    ),
                    None => {
                        writeln!(self.text, "<polyline points=\"{line}\" stroke=\"{colour}\"/>")
                    }
                };
            }
        }
        self.bottom += CURVE;
        self.marks_below(&across, time);
        self.legend(tracks.iter().map(|track| track.name));
    }
}

/// The values of a track; of many, the largest of each step.
fn points(values: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let step = values.len().div_ceil(POINTS).max(1);
    values.chunks(step).filter_map(|chunk| chunk.iter().copied().max_by_key(|p| p.1)).collect()
}

/// Parts without a gap: where nothing was seen for long, no line claims that something was.
fn pieces(points: &[(i64, i64)]) -> Vec<&[(i64, i64)]> {
    let mut distances: Vec<i64> = points.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    distances.sort_unstable();
    let usual = distances.get(distances.len() / 2).copied().unwrap_or(0).max(1);
    points.chunk_by(|a, b| (b.0 - a.0) / GAP <= usual).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_parts_a_line() {
        let points: Vec<(i64, i64)> = (0..10).chain(200..210).map(|at| (at, 1)).collect();
        let lengths: Vec<usize> = pieces(&points).iter().map(|piece| piece.len()).collect();
        assert_eq!(lengths, [10, 10]);
        assert_eq!(pieces(&[(5, 1)]).len(), 1);
        assert!(pieces(&[]).is_empty());
        // Times that come twice are no gap and no division by zero.
        assert_eq!(pieces(&[(0, 1), (0, 2), (0, 3)]).len(), 1);
    }
}
