//! The parts of a stream that are measured: those between marks that the firmware sends.
//!
//! Marks may be missing or come twice; each part goes from the first beginning to the first end
//! behind it, and what does not fit is counted.

use std::fmt;

use crate::traced::totals::TracedWindow;
use strobe_model::measurement::Finding;

use super::kit::RecordKind;

/// Something that a firmware sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// A mark of the kit for the target, or a region of it, which begins a part with its beginning
    /// and ends one with its end.
    Kit {
        /// Its id.
        id: u16,
        /// As the user calls it.
        name: String,
        /// Not a mark or a region, but a variable that is reported with this value.
        value: Option<i64>,
    },
    /// A write to a stimulus port.
    Port {
        /// The port.
        port: u8,
        /// Only if this is written.
        value: Option<u32>,
    },
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Mark::Kit { name, value: None, .. } => write!(f, "{name}"),
            Mark::Kit { name, value: Some(value), .. } => write!(f, "{name}={value}"),
            Mark::Port { port, value: None } => write!(f, "port {port}"),
            Mark::Port { port, value: Some(value) } => write!(f, "port {port}={value:#x}"),
        }
    }
}

/// What parts begin and end with. Without a beginning the first part begins with the stream,
/// without an end the last one ends with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// What begins a part.
    pub from: Option<Mark>,
    /// What ends one.
    pub to: Option<Mark>,
}

impl Bounds {
    /// Nothing is left out.
    pub fn are_none(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }
}

/// What has just been seen of a part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Edge {
    pub ends: bool,
    pub begins: bool,
}

/// Follows marks.
#[derive(Debug, Clone, Default)]
pub(super) struct Windows {
    bounds: Bounds,
    /// Where the part that is measured began, if one is.
    since: Option<u64>,
    seen: TracedWindow,
}

impl Windows {
    /// At the stream's beginning; `None` if all of it is measured.
    pub fn new(bounds: &Bounds) -> Option<Self> {
        let name = |mark: &Option<Mark>| mark.as_ref().map(ToString::to_string);
        let seen = TracedWindow {
            from: name(&bounds.from),
            to: name(&bounds.to),
            ..TracedWindow::default()
        };
        let since = bounds.from.is_none().then_some(0);
        let windows = Windows { bounds: bounds.clone(), since, seen };
        (!bounds.are_none()).then_some(windows)
    }

    /// Whether what comes now is measured.
    pub fn is_inside(&self) -> bool {
        self.since.is_some()
    }

    /// A record of the kit.
    pub fn record(&mut self, id: u16, what: &RecordKind, now: u64) -> Edge {
        let is = |mark: &Option<Mark>, ends: bool| match (mark, what) {
            (Some(Mark::Kit { id: wanted, .. }), _) if *wanted != id => false,
            (Some(Mark::Kit { value: None, .. }), RecordKind::Mark) => true,
            (Some(Mark::Kit { value: None, .. }), RecordKind::Begin) => !ends,
            (Some(Mark::Kit { value: None, .. }), RecordKind::End) => ends,
            (Some(Mark::Kit { value: Some(wanted), .. }), RecordKind::Value(value)) => {
                wanted == value
            }
            _ => false,
        };
        let (begins, ends) = (is(&self.bounds.from, false), is(&self.bounds.to, true));
        self.mark(begins, ends, now)
    }

    /// A write to a stimulus port.
    pub fn write(&mut self, port: u8, value: u32, now: u64) -> Edge {
        let is = |mark: &Option<Mark>| match mark {
            Some(Mark::Port { port: wanted, value: what }) => {
                *wanted == port && what.is_none_or(|what| what == value)
            }
            _ => false,
        };
        let (begins, ends) = (is(&self.bounds.from), is(&self.bounds.to));
        self.mark(begins, ends, now)
    }

    /// Packets were lost here, writes to ports perhaps among them. Of the kit's marks their own
    /// numbers show.
    pub fn packets_lost(&mut self) {
        self.lost(|mark| matches!(mark, Mark::Port { .. }));
    }

    /// Records of the kit were lost here.
    pub fn records_lost(&mut self) {
        self.lost(|mark| matches!(mark, Mark::Kit { .. }));
    }

    /// Marks of that kind may have been lost.
    fn lost(&mut self, of_kind: fn(&Mark) -> bool) {
        let Bounds { from, to } = &self.bounds;
        if !from.iter().chain(to).any(of_kind) {
            return;
        }
        if self.is_inside() {
            self.seen.losses_inside += 1;
        } else {
            self.seen.losses_outside += 1;
        }
    }

    /// A sample that no part has.
    pub fn outside(&mut self) {
        self.seen.samples_outside += 1;
    }

    fn mark(&mut self, begins: bool, ends: bool, now: u64) -> Edge {
        let mut edge = Edge::default();
        if ends {
            self.seen.stops += 1;
            edge.ends = self.close(now);
            // The same mark may begin the next part.
            self.seen.repeated += u64::from(!edge.ends && !begins);
        }
        if begins {
            self.seen.starts += 1;
            edge.begins = self.since.is_none();
            self.since.get_or_insert(now);
            self.seen.repeated += u64::from(!edge.begins && self.bounds.to.is_some());
        }
        edge
    }

    fn close(&mut self, now: u64) -> bool {
        let Some(since) = self.since.take() else { return false };
        self.seen.parts += 1;
        self.seen.cycles = self.seen.cycles.saturating_add(now.saturating_sub(since));
        true
    }

    /// What there was, the stream being over; times are in ticks.
    pub fn finish(mut self, now: u64) -> TracedWindow {
        self.seen.open = self.close(now);
        self.seen
    }
}

/// Marks that were asked for and are not in the stream, as the user gave them.
pub(super) fn unreached(window: &TracedWindow) -> Vec<String> {
    let never = |option: &str, mark: &Option<String>, times: u64| {
        mark.iter().filter(|_| times == 0).map(|mark| format!("{option} {mark}")).next()
    };
    let marks =
        [never("--from", &window.from, window.starts), never("--to", &window.to, window.stops)];
    marks.into_iter().flatten().collect()
}

/// What the user should know of the marks.
pub(super) fn warnings(window: &TracedWindow) -> impl Iterator<Item = Finding> {
    let to = window.to.as_deref().unwrap_or("its end");
    let never = match &window.from {
        Some(from) if window.starts == 0 => Some(from),
        _ => None,
    };
    let never = never.map(|from| {
        (
            "never-reached",
            1,
            format!("nothing was measured: {from} never came; is tracing on when it is sent?"),
        )
    });
    let repeated = "marks came twice or their counterparts are missing: a part goes from the first \
                    beginning to the first end behind it";
    let repeated =
        (window.repeated > 0).then(|| ("repeated-mark", window.repeated, repeated.to_owned()));
    let inside = format!(
        "times packets or records were lost inside of a part: {to} may be among them, and the part \
         too long"
    );
    let inside =
        (window.losses_inside > 0).then_some(("loss-in-window", window.losses_inside, inside));
    let outside =
        "times packets or records were lost outside of the parts: there may have been more parts";
    let outside = (window.losses_outside > 0)
        .then(|| ("loss-outside-windows", window.losses_outside, outside.to_owned()));
    let open = window.open && window.to.is_some();
    let open = open.then(|| {
        ("open-window", 1, format!("the last part ends with the stream: {to} did not come"))
    });
    let all = [never, repeated, inside, outside, open].into_iter().flatten();
    all.map(|(code, count, text)| Finding::warning(code, text).times(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region() -> Bounds {
        let mark = Mark::Kit { id: 1, name: "filter".to_owned(), value: None };
        Bounds { from: Some(mark.clone()), to: Some(mark) }
    }

    #[test]
    fn parts_run_from_a_beginning_to_the_next_end() {
        let mut windows = Windows::new(&region()).unwrap();
        let events = [
            (RecordKind::End, 5),
            (RecordKind::Begin, 10),
            (RecordKind::Begin, 15),
            (RecordKind::End, 20),
            (RecordKind::Begin, 30),
        ];
        let edges = events.map(|(what, at)| {
            let edge = windows.record(1, &what, at);
            (edge.begins, edge.ends)
        });
        let wanted = [(false, false), (true, false), (false, false), (false, true), (true, false)];
        assert_eq!(edges, wanted);
        windows.record(2, &RecordKind::End, 31);
        let seen = windows.finish(37);
        assert_eq!((seen.starts, seen.stops, seen.parts, seen.repeated), (3, 2, 2, 2));
        assert_eq!((seen.cycles, seen.open), (10 + 7, true));
    }

    #[test]
    fn one_mark_can_end_and_begin_a_part() {
        let mut windows = Windows::new(&region()).unwrap();
        for at in [10, 20, 35] {
            windows.record(1, &RecordKind::Mark, at);
        }
        let seen = windows.finish(36);
        assert_eq!((seen.parts, seen.cycles, seen.repeated, seen.open), (3, 26, 0, true));
    }

    #[test]
    fn loss_that_may_contain_a_mark_counts_once() {
        let mut windows = Windows::new(&region()).unwrap();
        windows.packets_lost();
        windows.records_lost();
        windows.record(1, &RecordKind::Begin, 10);
        windows.records_lost();
        windows.packets_lost();
        let seen = windows.finish(20);
        assert_eq!((seen.losses_outside, seen.losses_inside), (1, 1));
    }

    #[test]
    fn missing_bounds_are_the_ends_of_the_stream() {
        let port = |value| Some(Mark::Port { port: 5, value });
        let mut until = Windows::new(&Bounds { from: None, to: port(Some(7)) }).unwrap();
        assert!(until.is_inside());
        until.write(5, 6, 10);
        until.write(5, 7, 20);
        assert!(!until.is_inside());
        assert_eq!(until.finish(50).cycles, 20);
        let mut from = Windows::new(&Bounds { from: port(None), to: None }).unwrap();
        from.write(4, 0, 10);
        from.write(5, 0, 20);
        from.write(5, 0, 30);
        let seen = from.finish(50);
        assert_eq!((seen.starts, seen.repeated, seen.cycles), (2, 0, 30));
        assert_eq!(Windows::new(&Bounds::default()).map(|_| ()), None);
    }
}
