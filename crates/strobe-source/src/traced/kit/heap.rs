//! Calls of allocators that the kit has reported, until the stream is over: only then is the
//! firmware there, which names the callers.
//!
//! Where pieces of the stack come before a call, its callers are found by unwinding those; else
//! there is the return address alone.

use std::collections::HashMap;

use crate::archive::report::HeapSeen;
use crate::traced::totals::TimeBase;
use strobe_decode::kit::MOST_VALUES;
use strobe_symbols::{Firmware, StackWindow};

use super::reader::{HeapCall, HeapWhat, ThreadWhat};
use super::threads::Threads;
use crate::archive::{Heap, Names, NoNames, Taken};

/// Calls that are kept, as of a simulated run.
const MOST_CALLS: usize = 1 << 22;
/// Bytes of stacks that are kept; behind that, calls have their return address alone.
const MOST_BYTES: usize = 1 << 26;
/// Words of the stack in a record.
const PIECE: usize = MOST_VALUES - 1;
/// Bytes of a call's stack.
const MOST_OF_A_CALL: usize = 1 << 12;

/// Where a call was made: where it returns to, and the stack then.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    returns_to: u32,
    /// The stack pointer and what lay there; empty where it was not sent.
    stack: (u32, Vec<u8>),
}

#[derive(Debug, Clone, Copy)]
struct Call {
    at: u64,
    call: HeapCall,
    /// In [`Calls::places`].
    place: u32,
    /// The thread that ran, in [`Calls::threads`], if it is known.
    thread: Option<u32>,
}

/// What was reported.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    places: HashMap<Place, u32>,
    /// Bytes of the places' stacks.
    kept: usize,
    /// The stack of the call whose record follows.
    pending: (u32, Vec<u8>),
    /// Calls that are not kept.
    missed: u64,
    threads: Threads,
    /// Records before the first are missing.
    late: bool,
}

impl Calls {
    /// The stream begins with a record that is not the first.
    pub fn began_late(&mut self) {
        self.late = true;
    }

    /// Records are missing: a stack may be incomplete, and another thread may run.
    pub fn lost(&mut self) {
        self.pending = Default::default();
        self.threads.lost();
    }

    /// Which thread makes the calls that follow, or what one is called.
    pub fn thread(&mut self, what: ThreadWhat) {
        self.threads.take(what);
    }

    /// Words of the stack from an address on.
    pub fn stack(&mut self, address: u32, words: &[u32; PIECE], count: usize) {
        let (begin, bytes) = &mut self.pending;
        let follows = begin.wrapping_add(bytes.len() as u32) == address;
        if !follows || bytes.len() >= MOST_OF_A_CALL {
            (*begin, *bytes) = (address, Vec::new());
        }
        let words = words.iter().take(count);
        bytes.extend(words.flat_map(|word| word.to_le_bytes()));
    }

    /// A call of an allocator.
    pub fn add(&mut self, call: HeapCall, at: u64) {
        let mut stack = std::mem::take(&mut self.pending);
        if self.calls.len() == MOST_CALLS {
            self.missed += 1;
            return;
        }
        if self.kept + stack.1.len() > MOST_BYTES {
            stack = Default::default();
        }
        let place = Place { returns_to: call.returns_to, stack };
        let (next, bytes) = (self.places.len() as u32, place.stack.1.len());
        let place = *self.places.entry(place).or_insert(next);
        if place == next {
            self.kept += bytes;
        }
        let thread = self.threads.current();
        self.calls.push(Call { at, call, place, thread });
    }

    /// What became of the heap, in nanoseconds or, where they are not known, in ticks; `lost`
    /// states whether records are missing. None if there was nothing about one.
    pub fn finish(
        &self,
        firmware: Option<&Firmware>,
        times: &TimeBase,
        lost: bool,
    ) -> Option<HeapSeen> {
        let per_tick = u64::from(times.tick_cycles.unwrap_or(1));
        let time = |n: usize, call: &Call| {
            // Without timestamps all is at once: then the order stands for the time.
            let ticks = if times.local > 0 { call.at } else { n as u64 };
            let cycles = ticks.saturating_mul(per_tick);
            let known = times.nanoseconds(cycles).filter(|_| times.tick_cycles.is_some());
            i64::try_from(known.unwrap_or(cycles)).unwrap_or(i64::MAX)
        };
        let mut callers = vec![Vec::new(); self.places.len()];
        for (place, &at) in &self.places {
            if let Some(callers) = callers.get_mut(at as usize) {
                *callers = place.callers(firmware);
            }
        }
        let mut heap = Heap::default();
        for (n, all @ Call { call, place, .. }) in self.calls.iter().enumerate() {
            let (at, who) = (time(n, all), self.who(all));
            let taken = |pointer: u32, size: u32| Taken {
                thread: who,
                address: pointer.into(),
                bytes: size.into(),
                requested: None,
                callers: callers.get(*place as usize).cloned().unwrap_or_default(),
            };
            match call.what {
                HeapWhat::Allocated { pointer, .. } if self.is_inner(n, pointer) => {}
                // Which may return 0 for nothing.
                HeapWhat::Allocated { pointer: 0, size: 0 } => {}
                HeapWhat::Allocated { pointer, size } => heap.alloc(at, taken(pointer, size)),
                HeapWhat::Freed(pointer) => heap.free(at, pointer.into(), who),
                HeapWhat::Resizing(pointer) => heap.resizing(at, pointer.into(), who),
                HeapWhat::Resized { before, pointer, size } => {
                    heap.resized(at, before.into(), taken(pointer, size));
                }
            }
        }
        let last = self.calls.len().saturating_sub(1);
        let ends = self.calls.first().zip(self.calls.last());
        let span = ends.map_or((0, 0), |(first, end)| (time(0, first), time(last, end)));
        let names: &dyn Names = firmware.map_or(&NoNames, |firmware| firmware);
        let mut seen = heap.finish(names, span, lost || self.late || self.missed > 0)?;
        if times.local == 0 {
            (seen.peak_ns, seen.ages) = (None, None);
        }
        seen.names = self.threads.names(firmware);
        Some(seen)
    }

    /// Who made a call: an exception by its number, or a thread. Where none is ever reported, all
    /// of them are 0.
    fn who(&self, call: &Call) -> Option<i64> {
        match call.call.exception {
            0 if self.threads.are_known() => call.thread.map(Threads::number),
            exception => Some(exception.into()),
        }
    }

    /// Whether an allocation is one that another allocator makes for its own caller, as a `calloc`
    /// that calls `malloc`: the outer call counts.
    fn is_inner(&self, at: usize, pointer: u32) -> bool {
        let (Some(this), Some(next)) = (self.calls.get(at), self.calls.get(at + 1)) else {
            return false;
        };
        let same = matches!(next.call.what, HeapWhat::Allocated { pointer: p, .. } if p == pointer);
        pointer != 0 && same && self.who(this) == self.who(next)
    }
}

impl Place {
    /// Return addresses, the innermost first.
    fn callers(&self, firmware: Option<&Firmware>) -> Vec<u32> {
        let (address, bytes) = (self.stack.0, &self.stack.1);
        let Some(firmware) = firmware.filter(|_| !bytes.is_empty()) else {
            return vec![self.returns_to];
        };
        let stack = StackWindow { address, bytes };
        let frames = firmware.callers(self.returns_to, stack).frames;
        frames.iter().map(|frame| frame.pc | 1).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::archive::report::HeapThread;
    use proptest::prelude::*;
    use strobe_decode::kit::Values;

    use super::super::reader::{Numbers, RecordKind};
    use super::*;

    fn call(what: HeapWhat) -> HeapCall {
        HeapCall { what, returns_to: 0x101, exception: 0 }
    }

    fn seen(calls: &[HeapWhat], lost: bool) -> HeapSeen {
        let mut all = Calls::default();
        (0..).zip(calls).for_each(|(at, &what)| all.add(call(what), at));
        all.finish(None, &TimeBase::default(), lost).expect("a heap")
    }

    fn allocated(pointer: u32, size: u32) -> HeapWhat {
        HeapWhat::Allocated { pointer, size }
    }

    #[test]
    fn a_resized_block_is_freed_and_allocated() {
        let resized = HeapWhat::Resized { before: 0x100, pointer: 0x200, size: 30 };
        let heap = seen(&[allocated(0x100, 10), HeapWhat::Resizing(0x100), resized], false);
        assert_eq!((heap.allocations, heap.frees, heap.live, heap.live_bytes), (2, 1, 1, 30));
        assert_eq!((heap.peak_bytes, heap.total_bytes, heap.unknown_frees), (30, 40, 0));
    }

    #[test]
    fn a_block_that_cannot_be_resized_stays() {
        let failed = HeapWhat::Resized { before: 0x100, pointer: 0, size: 9000 };
        let calls = [allocated(0x100, 10), HeapWhat::Resizing(0x100), failed];
        let heap = seen(&[&calls[..], &[HeapWhat::Freed(0x100)]].concat(), false);
        assert_eq!((heap.allocations, heap.frees, heap.failed), (1, 1, 1));
        assert_eq!((heap.live, heap.unknown_frees), (0, 0));
    }

    /// Something between was lost: two blocks cannot be in one place.
    #[test]
    fn block_allocated_at_a_resized_one_counts_once() {
        let failed = HeapWhat::Resized { before: 0x100, pointer: 0, size: 9000 };
        let resizing = HeapWhat::Resizing(0x100);
        let begun = [allocated(0x100, 10), resizing, allocated(0x100, 20)];
        for calls in [&[failed][..], &[resizing, failed]] {
            let heap = seen(&[&begun[..], calls].concat(), false);
            let sum = |of: fn(&HeapThread) -> u64| heap.threads.iter().map(of).sum::<u64>();
            assert_eq!((heap.live, sum(|of| of.live)), (1, 1));
            assert_eq!(sum(|of| of.live_bytes), heap.live_bytes);
            assert_eq!(heap.replaced, 1);
        }
    }

    #[test]
    fn resizing_to_nothing_frees_and_from_nothing_allocates() {
        let gone = HeapWhat::Resized { before: 0x100, pointer: 0, size: 0 };
        let made = HeapWhat::Resized { before: 0, pointer: 0x100, size: 10 };
        let heap = seen(&[made, HeapWhat::Resizing(0x100), gone], false);
        assert_eq!((heap.allocations, heap.frees, heap.failed, heap.live), (1, 1, 0, 0));
    }

    #[test]
    fn of_calls_in_calls_the_outer_counts() {
        let heap = seen(&[allocated(0x100, 12), allocated(0x100, 10)], false);
        assert_eq!((heap.allocations, heap.total_bytes, heap.replaced), (1, 10, 0));
    }

    #[test]
    fn missing_data_leaves_no_leak() {
        let leaking: Vec<HeapWhat> = (0..100).map(|n| allocated(0x100 + 16 * n, 10)).collect();
        assert!(seen(&leaking, false).sites[0].leak.is_some());
        let heap = seen(&leaking, true);
        assert!(heap.uncertain && heap.sites[0].leak.is_none());
    }

    /// A loss leaves the calls behind it without a thread, until one is reported again.
    #[test]
    fn calls_have_the_thread_that_was_reported_last() {
        let mut all = Calls::default();
        let mut at = 0;
        let mut add = |all: &mut Calls, exception, what| {
            at += 1;
            all.add(HeapCall { exception, ..call(what) }, at);
        };
        all.thread(ThreadWhat::Runs(0x2000_0100));
        add(&mut all, 0, allocated(0x100, 10));
        add(&mut all, 0, allocated(0x200, 20));
        add(&mut all, 15, allocated(0x300, 40));
        all.thread(ThreadWhat::Runs(0x2000_0200));
        add(&mut all, 0, HeapWhat::Freed(0x100));
        all.lost();
        add(&mut all, 0, allocated(0x400, 80));
        add(&mut all, 0, HeapWhat::Freed(0x200));
        add(&mut all, 15, HeapWhat::Freed(0x300));
        all.thread(ThreadWhat::Runs(0x2000_0100));
        add(&mut all, 0, HeapWhat::Freed(0x400));
        let heap = all.finish(None, &TimeBase::default(), true).expect("a heap");
        let name = |thread: Option<i64>| match thread {
            Some(number) => heap.names.get(&number).cloned().unwrap_or(number.to_string()),
            None => "unknown".to_owned(),
        };
        let mut figures: Vec<_> = heap.threads.iter().collect();
        figures.sort_by_key(|of| of.bytes);
        let figures: Vec<_> = figures
            .iter()
            .map(|of| (name(of.thread), of.bytes, of.peak_bytes, of.frees, of.frees_of_others))
            .collect();
        let expected = [
            ("0x20000200", 0, 0, 1, 1),
            ("0x20000100", 30, 20, 1, 0),
            ("15", 40, 40, 1, 0),
            ("unknown", 80, 80, 1, 0),
        ];
        let expected = expected.map(|(name, a, b, c, d)| (name.to_owned(), a, b, c, d));
        assert_eq!(figures, expected);
    }

    /// What the kit sends for calls of some threads: a record of a thread before its calls where it
    /// is another one than before, and every so many records.
    fn sent(calls: &[(u32, u16)]) -> Vec<(u32, Values)> {
        let mut records = Vec::new();
        let mut send = |kind: u32, id: u32, words: &[u32]| {
            let head = kind << 28 | id << 16 | records.len() as u32;
            records.push((head, words.iter().copied().collect()));
        };
        let mut last = (0, 0);
        for (pointer, &(thread, exception)) in (1..).zip(calls) {
            if exception == 0 {
                if last.1 == 0 || last.0 != thread {
                    last = (thread, 5);
                    send(15, 0, &[thread]);
                }
                last.1 -= 1;
            }
            send(12, exception.into(), &[pointer, 1, 0x101]);
        }
        records
    }

    /// A thread, and the exception that is active.
    fn any_call() -> impl Strategy<Value = (u32, u16)> {
        (7..10_u32, prop::sample::select(vec![0, 0, 15]))
    }

    proptest! {
        /// Whatever is lost, no call is another thread's; and nothing is unknown for long.
        #[test]
        fn a_thread_is_right_or_unknown(
            calls in prop::collection::vec(any_call(), 1..60),
            kept in prop::collection::vec(prop::bool::weighted(0.8), 200),
        ) {
            let (mut all, mut numbers) = (Calls::default(), Numbers::default());
            let mut since = None;
            for ((head, values), kept) in sent(&calls).into_iter().zip(&kept) {
                if !kept {
                    continue;
                }
                let record = numbers.take(head, values).expect("a record");
                if record.lost > 0 {
                    all.lost();
                    since = Some(0);
                }
                match record.what {
                    RecordKind::Heap(call) => all.add(call, 0),
                    RecordKind::Thread(what) => all.thread(what),
                    _ => {}
                }
                if all.threads.current().is_none() && head >> 28 == 12 && head >> 16 & 0xfff == 0 {
                    since = since.map(|n| n + 1);
                    prop_assert!(since.is_none_or(|n| n <= 5));
                }
            }
            let names = all.threads.names(None);
            for call in &all.calls {
                let HeapWhat::Allocated { pointer, .. } = call.call.what else { continue };
                let (thread, exception) = calls[pointer as usize - 1];
                match all.who(call) {
                    Some(number) if exception > 0 => prop_assert_eq!(number, i64::from(exception)),
                    // Where all records of threads are lost, it is not known that there are any.
                    Some(0) => prop_assert!(names.is_empty()),
                    Some(number) => prop_assert_eq!(&names[&number], &format!("{thread:#010x}")),
                    None => prop_assert!(kept.contains(&false)),
                }
            }
            // By thread or all together, it is the same.
            if let Some(heap) = all.finish(None, &TimeBase::default(), true) {
                let sum = |of: fn(&HeapThread) -> u64| heap.threads.iter().map(of).sum::<u64>();
                prop_assert_eq!(sum(|of| of.allocations), heap.allocations);
                prop_assert_eq!(sum(|of| of.live_bytes), heap.live_bytes);
                prop_assert_eq!(sum(|of| of.peak_bytes), heap.peak_bytes);
            }
        }
    }
}
