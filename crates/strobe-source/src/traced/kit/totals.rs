//! Adds up the kit's records.
//!
//! Regions are timed from begin to end, whatever came in between. What nobody can know is left out:
//! no time lies across a record that is missing, or is said to be exact where timestamps were lost.

use std::collections::BTreeMap;

use crate::traced::kit::model::{Kit, KitChannel, KitMark, KitRegion, KitValue};
use crate::traced::totals::TimeBase;
use strobe_symbols::Firmware;

use super::super::channels::Port;
use super::super::span::{Lengths, Span, between, likely};
use super::heap::Calls;
use super::reader::{Record, RecordKind};

/// Values kept of a variable, and places of losses; the first ones.
const KEPT: usize = 1 << 16;
/// Regions of one id that are inside one another.
const DEEPEST: usize = 256;

#[derive(Debug, Clone, Default)]
struct Mark {
    count: u64,
    /// From one to the next.
    times: Lengths,
    last: Option<Span>,
}

/// Regions of one id: those that have begun, and whether no timestamp was lost since.
#[derive(Debug, Clone, Default)]
struct Region {
    begun: u64,
    ended: u64,
    unmatched: u64,
    times: Lengths,
    open: Vec<(Span, bool)>,
}

/// Sums of all records.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    kit: Kit,
    marks: BTreeMap<u16, Mark>,
    regions: BTreeMap<u16, Region>,
    values: BTreeMap<u16, KitValue>,
    channels: BTreeMap<u16, Port>,
    heap: Calls,
}

impl Totals {
    /// One more record.
    pub fn add(&mut self, record: Record, now: Span) {
        if self.kit.records == 0 && record.number > 0 {
            self.heap.began_late();
        }
        self.kit.records += 1;
        if record.lost > 0 || record.restarted {
            self.missing(record, likely(now));
        }
        let id = record.id;
        match record.what {
            RecordKind::Mark => self.marks.entry(id).or_default().add(now),
            RecordKind::Begin => self.regions.entry(id).or_default().begin(now),
            RecordKind::End => self.regions.entry(id).or_default().end(now),
            RecordKind::Value(value) => {
                add_value(self.values.entry(id).or_default(), value, likely(now));
            }
            RecordKind::Bytes(bytes, length) => {
                let bytes = bytes.get(..length).unwrap_or_default();
                self.channels.entry(id).or_default().write(bytes, self.kit.losses);
            }
            RecordKind::Heap(call) => self.heap.add(call, likely(now)),
            RecordKind::Stack(address, words, count) => self.heap.stack(address, &words, count),
            RecordKind::Thread(what) => self.heap.thread(what),
        }
    }

    /// Packets were lost, and perhaps time. Whether records were, their numbers will show.
    pub fn lost(&mut self) {
        self.marks.values_mut().for_each(|mark| mark.last = None);
        let open = self.regions.values_mut().flat_map(|region| &mut region.open);
        open.for_each(|(_, whole)| *whole = false);
    }

    /// Records are missing: nobody knows what has begun or ended.
    fn missing(&mut self, record: Record, at: u64) {
        self.kit.restarts += u64::from(record.restarted);
        self.kit.lost += u64::from(record.lost);
        self.kit.losses += 1;
        if self.kit.lost_at.len() < KEPT {
            self.kit.lost_at.push((at, record.lost.into()));
        }
        self.heap.lost();
        self.marks.values_mut().for_each(|mark| mark.last = None);
        for region in self.regions.values_mut() {
            region.unmatched += region.open.len() as u64;
            region.open.clear();
        }
    }

    /// The sums, with the firmware's names and by these times. `damaged`: they may be wrong.
    pub fn finish(self, firmware: Option<&Firmware>, times: &TimeBase, damaged: bool) -> Kit {
        let name = |id| super::name(id, firmware);
        let mark = |(id, mark): (u16, Mark)| mark.finish(id, name(id));
        let region = |(id, region): (u16, Region)| region.finish(id, name(id));
        let value = |(id, value): (u16, KitValue)| KitValue { id, name: name(id), ..value };
        let channel = |(id, port): (u16, Port)| {
            let written = port.finish(0);
            KitChannel {
                id,
                name: name(id),
                bytes: written.bytes,
                interrupted: written.interrupted,
                text: written.text,
                text_skipped: written.text_skipped,
            }
        };
        Kit {
            marks: self.marks.into_iter().map(mark).collect(),
            regions: self.regions.into_iter().map(region).collect(),
            values: self.values.into_iter().map(value).collect(),
            channels: self.channels.into_iter().map(channel).collect(),
            heap: self.heap.finish(firmware, times, damaged || self.kit.losses > 0),
            ..self.kit
        }
    }
}

impl Mark {
    fn add(&mut self, now: Span) {
        self.count += 1;
        if let Some(last) = self.last.replace(now) {
            self.times.add(between(last, now));
        }
    }

    fn finish(self, id: u16, name: String) -> KitMark {
        let (timed, sum, shortest, longest) = self.times.figures();
        let Lengths { exact: times, vague, .. } = self.times;
        KitMark { id, name, count: self.count, timed, sum, shortest, longest, vague, times }
    }
}

impl Region {
    fn begin(&mut self, now: Span) {
        self.begun += 1;
        if self.open.len() == DEEPEST {
            // Ends are missing in the firmware.
            self.unmatched += 1;
            self.open.remove(0);
        }
        self.open.push((now, true));
    }

    fn end(&mut self, now: Span) {
        self.ended += 1;
        match self.open.pop() {
            Some((begun, true)) => self.times.add(between(begun, now)),
            Some((_, false)) => {}
            None => self.unmatched += 1,
        }
    }

    fn finish(self, id: u16, name: String) -> KitRegion {
        let Region { begun, ended, unmatched, times, .. } = self;
        let (timed, sum, shortest, longest) = times.figures();
        let Lengths { exact: times, vague, at_most } = times;
        KitRegion {
            id,
            name,
            begun,
            ended,
            unmatched,
            timed,
            sum,
            shortest,
            longest,
            vague,
            at_most,
            times,
        }
    }
}

fn add_value(totals: &mut KitValue, value: i64, now: u64) {
    totals.min = if totals.count == 0 { value } else { totals.min.min(value) };
    totals.max = if totals.count == 0 { value } else { totals.max.max(value) };
    totals.last = value;
    totals.count += 1;
    if totals.values.len() < KEPT {
        totals.values.push((now, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(what: RecordKind) -> Record {
        Record { id: 1, what, number: 0, lost: 0, restarted: false }
    }

    #[test]
    fn regions_nest_and_are_timed() {
        let mut totals = Totals::default();
        for (what, at) in [
            (RecordKind::Begin, 0),
            (RecordKind::Begin, 10),
            (RecordKind::End, 30),
            (RecordKind::End, 100),
            (RecordKind::End, 110),
        ] {
            totals.add(record(what), (at, at));
        }
        let region = totals.finish(None, &TimeBase::default(), false).regions.remove(0);
        assert_eq!((region.timed, region.sum, region.shortest, region.longest), (2, 120, 20, 100));
        assert_eq!((region.begun, region.ended, region.unmatched), (2, 3, 1));
        assert_eq!(region.name, "id 1");
    }

    #[test]
    fn no_time_lies_across_a_loss() {
        let mut totals = Totals::default();
        totals.add(record(RecordKind::Begin), (0, 0));
        totals.lost();
        totals.add(record(RecordKind::End), (50, 50));
        totals.add(record(RecordKind::Begin), (60, 60));
        totals.add(Record { lost: 3, ..record(RecordKind::End) }, (70, 70));
        totals.add(record(RecordKind::Begin), (80, 80));
        totals.add(record(RecordKind::End), (85, 90));
        let kit = totals.finish(None, &TimeBase::default(), false);
        let region = &kit.regions[0];
        assert_eq!((region.timed, region.vague, region.at_most, region.unmatched), (0, 1, 10, 2));
        assert_eq!((kit.lost, kit.losses, kit.lost_at.clone()), (3, 1, vec![(70, 3)]));
    }

    #[test]
    fn regions_that_never_end_do_not_pile_up() {
        let mut totals = Totals::default();
        (0..1000).for_each(|at| totals.add(record(RecordKind::Begin), (at, at)));
        assert_eq!(totals.regions[&1].open.len(), DEEPEST);
        assert_eq!(
            totals.finish(None, &TimeBase::default(), false).regions[0].unmatched,
            1000 - DEEPEST as u64
        );
    }

    #[test]
    fn marks_are_counted_with_their_distances() {
        let mut totals = Totals::default();
        for at in [100, 110, 130] {
            totals.add(record(RecordKind::Mark), (at, at));
        }
        totals.lost();
        totals.add(record(RecordKind::Mark), (500, 500));
        let mark = totals.finish(None, &TimeBase::default(), false).marks.remove(0);
        assert_eq!(
            (mark.count, mark.timed, mark.sum, mark.shortest, mark.longest),
            (4, 2, 30, 10, 20)
        );
    }
}
