//! Adds up a trace of events.

use std::collections::{BTreeMap, HashMap};

use crate::archive::report::{
    EventKind, EventLoss, EventsReport, StreamSummary, TraceClock, TraceSummary, UndecodableBytes,
};
use strobe_decode::ctf::{
    self, DecodeError, EnvValue, Event, Item, Lost, Merged, Reader, Trace, merge,
};

use super::Names;
use super::calls::Calls;
use super::functions::{Functions, Stacks};
use super::heap::{Heap, Taken};
use super::interrupts::Interrupts;
use super::meaning::{Interpreter, Meaning, Meanings};
use super::threads::Threads;
use super::timeline::Drawing;
use super::transfers::{Pauses, Timers, Transfers};
use super::windows::{Windows, length};

/// Losses and undecodable bytes that are listed one by one; all are counted.
pub(super) const LISTED: usize = 1000;

/// A stream of a trace.
#[derive(Debug, Clone, Copy)]
pub struct Stream<'d> {
    /// Its file, for reports.
    pub file: &'d str,
    /// All of it.
    pub bytes: &'d [u8],
}

/// A trace with everything that belongs to it.
#[derive(Debug, Clone, Copy)]
pub struct Source<'d> {
    /// The file or directory, for reports.
    pub file: &'d str,
    /// The metadata.
    pub trace: &'d Trace,
    /// The streams.
    pub streams: &'d [Stream<'d>],
    /// How to read them.
    pub options: &'d ctf::Options,
}

impl<'d> Source<'d> {
    /// Everything in the order of time.
    pub(super) fn items(&self) -> Merged<'d, 'd> {
        let reader = |stream: &Stream<'d>| Reader::new(self.trace, stream.bytes, self.options);
        merge(self.streams.iter().map(reader).collect())
    }
}

/// When an event was, as reports show it.
pub(super) fn nanoseconds(event: &Event) -> Option<i64> {
    event.nanoseconds().map(narrow)
}

/// Beyond the year 2262 times are no longer distinguished.
pub(super) fn narrow(nanoseconds: i128) -> i64 {
    i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX })
}

/// Adds up a trace.
pub fn events(source: &Source, meanings: &Meanings, names: &dyn Names) -> EventsReport {
    add(source, meanings, names, None).0
}

/// What a trace has beside its report.
#[derive(Debug, Clone, Default)]
pub(super) struct Extras {
    /// Calls by call chain.
    pub(super) calls: Calls,
    /// Every packet has a count of the events that the tracer left out.
    pub(super) counts_losses: bool,
    /// Places between two events of a stream with bytes that nobody can read.
    pub(super) holes: u64,
}

/// Where a stream is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// Before its first event.
    #[default]
    Beginning,
    /// Behind an event.
    Within,
    /// Behind bytes that nobody can read. If no event follows, the recording ends in the midst of
    /// one.
    Torn,
}

/// Adds up a trace, with what only a measurement has room for, and draws it if there is a drawing.
pub(super) fn add(
    source: &Source,
    meanings: &Meanings,
    names: &dyn Names,
    mut drawing: Option<&mut Drawing>,
) -> (EventsReport, Extras) {
    let mut adding = Adding::new(source, meanings);
    let mut interpreter = Interpreter::new(meanings);
    let mut items = source.items();
    for (stream, item) in &mut items {
        let meaning = match &item {
            Item::Event(event) if event.time.is_some() => interpreter.meaning(event),
            _ => None,
        };
        adding.item(stream, &item, meaning.as_ref());
        if let Some(drawing) = &mut drawing {
            drawing.item(stream, &item, meaning.as_ref(), adding.heap.live_bytes());
        }
    }
    adding.report(items.readers(), names)
}

/// A kind of event and what has been seen of it.
#[derive(Debug, Clone)]
struct Seen {
    meaning: Option<String>,
    count: u64,
    span: Option<(i64, i64)>,
}

/// A report under construction.
struct Adding<'s> {
    source: &'s Source<'s>,
    meanings: &'s Meanings,
    /// By the index of their class.
    kinds: Vec<Option<Seen>>,
    span: Option<(i64, i64)>,
    windows: Windows,
    /// From the first event on.
    whole: Windows,
    /// Who ran in the windows, and in all.
    threads: [Threads; 2],
    interrupts: Interrupts,
    functions: Functions,
    stacks: Stacks,
    heap: Heap,
    transfers: Transfers,
    timers: Timers,
    pauses: Pauses,
    losses: Vec<EventLoss>,
    undecodable: Vec<UndecodableBytes>,
    unlisted: u64,
    not_understood: u64,
    /// Packets, and those of them that count what the tracer left out.
    packets: [u64; 2],
    /// The last time seen.
    now: i64,
    /// Where each stream is.
    places: Vec<Place>,
    holes: u64,
}

impl<'s> Adding<'s> {
    fn new(source: &'s Source<'s>, meanings: &'s Meanings) -> Self {
        Adding {
            source,
            meanings,
            kinds: vec![None; source.trace.events.len()],
            span: None,
            windows: Windows::default(),
            whole: Windows::default(),
            threads: Default::default(),
            interrupts: Interrupts::default(),
            functions: Functions::default(),
            stacks: Stacks::default(),
            heap: Heap::default(),
            transfers: Transfers::default(),
            timers: Timers::default(),
            pauses: Pauses::default(),
            losses: Vec::new(),
            undecodable: Vec::new(),
            unlisted: 0,
            not_understood: 0,
            packets: [0; 2],
            now: 0,
            places: vec![Place::default(); source.streams.len()],
            holes: 0,
        }
    }

    fn item(&mut self, stream: usize, item: &Item, meaning: Option<&Meaning>) {
        match item {
            Item::Event(_) => self.goes_on(stream),
            // Nothing is missing where something is there twice.
            Item::Undecodable(bad) if bad.why == DecodeError::Repeated => {}
            Item::Undecodable(_) => self.tears(stream),
            Item::Lost(_) => self.cut(),
            Item::Packet(_) => {}
        }
        let file = || self.source.streams.get(stream).map_or("", |stream| stream.file).to_owned();
        match item {
            Item::Event(event) => self.event(event, meaning),
            Item::Packet(packet) => {
                let count = packet.context.as_ref().and_then(|c| c.get("events_discarded"));
                self.packets[0] += 1;
                self.packets[1] += u64::from(count.is_some());
            }
            Item::Lost(lost) if self.losses.len() < LISTED => self.losses.push(loss(file(), lost)),
            Item::Undecodable(bad) if self.undecodable.len() < LISTED => {
                let why = bad.why.to_string();
                let (at, bytes) = (bad.at, bad.bytes);
                self.undecodable.push(UndecodableBytes { stream: file(), at, bytes, why });
            }
            Item::Lost(_) | Item::Undecodable(_) => self.unlisted += 1,
        }
    }

    /// A stream has an event.
    fn goes_on(&mut self, stream: usize) {
        let Some(place) = self.places.get_mut(stream) else { return };
        self.holes += u64::from(*place == Place::Torn);
        *place = Place::Within;
    }

    /// A stream has bytes that nobody can read.
    fn tears(&mut self, stream: usize) {
        let Some(place) = self.places.get_mut(stream) else { return };
        if *place == Place::Within {
            *place = Place::Torn;
            self.cut();
        }
    }

    /// Events are missing: what has begun may have ended, and begun again.
    fn cut(&mut self) {
        let now = self.now;
        self.threads(|threads, windows| threads.lost(now, windows));
        self.interrupts.lost();
        self.functions.lost();
        self.transfers.lost();
        self.timers.lost();
        self.pauses.lost();
    }

    fn event(&mut self, event: &Event, meaning: Option<&Meaning>) {
        let at = nanoseconds(event);
        let meanings = self.meanings;
        let Some(seen) = self.kinds.get_mut(event.class.index) else { return };
        let seen = seen.get_or_insert_with(|| Seen {
            meaning: meanings.words(event.class),
            count: 0,
            span: None,
        });
        seen.count += 1;
        let Some(at) = at else { return };
        self.now = at;
        seen.span = Some(widened(seen.span, at));
        if self.span.is_none() {
            self.whole.mark(at, true);
        }
        self.span = Some(widened(self.span, at));
        match meaning {
            Some(meaning) => self.apply(at, meaning),
            None if seen.meaning.is_some() => self.not_understood += 1,
            None => {}
        }
    }

    /// Passes something to whoever follows threads: in the windows, and in all.
    fn threads(&mut self, mut apply: impl FnMut(&mut Threads, &Windows)) {
        let [marked, all] = &mut self.threads;
        apply(marked, &self.windows);
        apply(all, &self.whole);
    }

    fn apply(&mut self, at: i64, meaning: &Meaning) {
        match *meaning {
            Meaning::Thread { thread, ref name } => {
                self.threads(|threads, _| threads.exists(thread, name.as_deref()));
            }
            Meaning::Runs { thread, ref name } => {
                self.threads(|threads, windows| threads.runs(at, thread, name.as_deref(), windows));
            }
            Meaning::Stops { thread } => {
                self.threads(|threads, windows| threads.stops(at, thread, windows));
            }
            Meaning::Switch { thread, next, ref name } => self.threads(|threads, windows| {
                threads.stops(at, thread, windows);
                threads.runs(at, next, name.as_deref(), windows);
            }),
            Meaning::ThreadEnds { .. } | Meaning::Idle => {}
            Meaning::Interrupt { number, enters: true } => self.interrupts.enters(at, number),
            Meaning::Interrupt { number, enters: false } => {
                self.interrupts.exits(at, number);
            }
            Meaning::Function { thread, function, enters: true } => {
                self.functions.enters(at, thread, function);
            }
            Meaning::Function { thread, function, enters: false } => {
                self.functions.exits(at, thread, function);
            }
            Meaning::Stack { thread, function, bytes } => {
                self.stacks.depth(at, thread, function, bytes);
            }
            Meaning::Alloc { thread, address, bytes, requested, ref callers } => {
                let callers = callers.clone();
                self.heap.alloc(at, Taken { thread, address, bytes, requested, callers });
            }
            Meaning::Free { address } => self.heap.free(at, address, None),
            Meaning::Transfer { ref interface, ref direction, starts: true, .. } => {
                self.transfers.starts(at, interface, direction);
            }
            Meaning::Transfer { ref interface, ref direction, bytes, starts: false } => {
                self.transfers.ends(at, interface, direction, bytes);
            }
            Meaning::Timer { ref timer, starts } => self.timers.note(at, timer, starts),
            Meaning::Window { starts } => self.windows.mark(at, starts),
            Meaning::Pause { starts } => self.pauses.note(at, starts),
        }
    }

    fn report(self, readers: &[Reader], names: &dyn Names) -> (EventsReport, Extras) {
        let (first, last) = self.span.unzip();
        let end = last.unwrap_or(0);
        let streams = summaries(self.source, readers);
        let lost = readers.iter().any(|r| r.stats().lost_events + r.stats().lost_packets > 0);
        let notes = self.notes(&streams);
        let all_ns = length(first.unwrap_or(0), end);
        let [in_windows, in_all] = self.threads;
        let named = in_all.clone();
        let threads = if self.windows.any() {
            let total = self.windows.clone().finish(end).map_or(0, |window| window.total_ns);
            in_windows.finish(end, total, &self.windows)
        } else {
            in_all.finish(end, all_ns, &self.whole)
        };
        let (interrupts, nesting) = self.interrupts.finish();
        let (functions, calls) = self.functions.finish(names);
        let [packets, counting] = self.packets;
        let counts_losses = packets > 0 && packets == counting;
        let extras = Extras { calls, counts_losses, holes: self.holes };
        let report = EventsReport {
            trace: TraceSummary {
                file: self.source.file.to_owned(),
                format: "CTF 1.8".to_owned(),
                streams,
                clock: clock(self.source.trace),
                first_ns: first,
                last_ns: last,
                environment: environment(self.source.trace),
            },
            window: self.windows.finish(end),
            kinds: kinds(self.source.trace, by_id(self.source.trace, self.kinds)),
            losses: self.losses,
            undecodable: self.undecodable,
            threads,
            interrupts,
            nesting,
            functions,
            stacks: self.stacks.finish(names, |thread| named.name(thread)),
            heap: self.heap.finish(names, (first.unwrap_or(0), end), lost),
            transfers: self.transfers.finish(),
            timers: self.timers.finish(),
            pauses: self.pauses.finish(),
            notes,
        };
        (report, extras)
    }

    /// What the reader should know.
    fn notes(&self, streams: &[StreamSummary]) -> Vec<String> {
        let mut notes = Vec::new();
        if self.unlisted > 0 {
            let more = self.unlisted;
            notes.push(format!(
                "{more} more losses and undecodable places are counted but not listed"
            ));
        }
        if self.not_understood > 0 {
            let many = self.not_understood;
            notes.push(format!(
                "{many} events have fields of other types than their meaning needs; they are \
                 counted, and nothing else"
            ));
        }
        if self.span.is_none() && streams.iter().any(|stream| stream.events > 0) {
            notes.push("no clock is described, so events have no times".to_owned());
        }
        notes
    }
}

fn widened(span: Option<(i64, i64)>, at: i64) -> (i64, i64) {
    span.map_or((at, at), |(first, last)| (first.min(at), last.max(at)))
}

fn loss(stream: String, lost: &Lost) -> EventLoss {
    let time = |ticks: Option<u64>| Some(narrow(lost.clock?.nanoseconds(ticks?)));
    let (events, packets) = (lost.events, lost.packets);
    EventLoss { stream, events, packets, from_ns: time(lost.from), to_ns: time(lost.to) }
}

fn summaries(source: &Source, readers: &[Reader]) -> Vec<StreamSummary> {
    let each = source.streams.iter().zip(readers).map(|(stream, reader)| {
        let stats = reader.stats();
        StreamSummary {
            file: stream.file.to_owned(),
            bytes: stats.bytes,
            packet_bytes: stats.packet_bytes,
            mark_bytes: stats.mark_bytes,
            undecodable_bytes: stats.undecodable_bytes,
            packets: stats.packets,
            events: stats.events,
            backwards: stats.backwards,
            back_ns: stats.back_ns,
            recounts: stats.recounts,
        }
    });
    each.collect()
}

fn clock(trace: &Trace) -> Option<TraceClock> {
    let clock = trace.clocks.first()?;
    let precision = u128::from(clock.precision) * 1_000_000_000 / u128::from(clock.hz.max(1));
    let precision_ns = u64::try_from(precision).unwrap_or(u64::MAX);
    Some(TraceClock { name: clock.name.clone(), hz: clock.hz, precision_ns })
}

fn environment(trace: &Trace) -> Vec<(String, String)> {
    let text = |value: &EnvValue| match value {
        EnvValue::Number(number) => number.to_string(),
        EnvValue::Text(text) => text.clone(),
    };
    trace.environment.iter().map(|(name, value)| (name.clone(), text(value))).collect()
}

/// Kinds of events by the ids of their streams and classes.
fn by_id(trace: &Trace, kinds: Vec<Option<Seen>>) -> HashMap<(u64, u64), Seen> {
    let each = trace.events.iter().zip(kinds);
    each.filter_map(|(class, seen)| Some(((class.stream, class.id), seen?))).collect()
}

fn kinds(trace: &Trace, seen: HashMap<(u64, u64), Seen>) -> Vec<EventKind> {
    // In the order of streams and ids where counts and names are the same, not in the table's,
    // which is another one each time.
    let mut kinds: Vec<EventKind> = BTreeMap::from_iter(seen)
        .into_iter()
        .filter_map(|((stream, id), seen)| {
            let (first_ns, last_ns) = seen.span.unzip();
            let name = trace.event(stream, id)?.name.clone();
            Some(EventKind { name, meaning: seen.meaning, count: seen.count, first_ns, last_ns })
        })
        .collect();
    kinds.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of several streams, for example: one name and one count, so that only ids are left to put
    /// them in order.
    #[test]
    fn kinds_with_one_name_are_ordered_by_id() {
        let mut metadata = "trace { major = 1; minor = 8; byte_order = le; };\n".to_owned();
        (0..20).for_each(|id| metadata += &format!("event {{ name = same; id = {id}; }};\n"));
        let trace = Trace::parse(metadata.as_bytes()).unwrap();
        let seen =
            |id: u64| Seen { meaning: None, count: 1, span: Some((id as i64, id as i64 + 1)) };
        let seen = (0..20).map(|id| ((0, id), seen(id))).collect();
        let kinds = kinds(&trace, seen);
        assert_eq!(
            kinds.iter().filter_map(|kind| kind.first_ns).collect::<Vec<_>>(),
            Vec::from_iter(0..20)
        );
    }
}
