//! An exception is taken: how long its request has waited, and behind which handler.

use std::collections::BTreeMap;

use super::super::threads::Threads;
use super::super::{Transfer, TransferKind};
use super::wake::State;
use super::{Activation, Extreme, LongestWait, Schedule, Start, Who};
use crate::kernel::bus::Bus;
use crate::kernel::core::number;

/// An exception is taken.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Entry {
    pub exception: u16,
    pub pended_at: u64,
    pub masked_from: Option<u32>,
    /// Where the interrupted function returns to.
    pub caller: Option<u32>,
    pub after: Option<u16>,
    /// Address of the interrupted instruction.
    pub from: u32,
    /// Cycle at which the way in began.
    pub begin: u64,
    /// Cycle of the handler's first instruction.
    pub now: u64,
    pub asleep: u64,
}

impl Entry {
    /// From a change of flow, if it is one into a handler, from a function that returns there.
    pub(in super::super) fn of(t: &Transfer, caller: Option<u32>) -> Option<Self> {
        let TransferKind::ExceptionEntry { exception, pended_at, masked_from, after, cost, .. } =
            t.kind
        else {
            return None;
        };
        let (from, now, asleep) = (t.from, t.now, t.asleep);
        let begin = now - cost;
        Some(Entry { exception, pended_at, masked_from, caller, after, from, begin, now, asleep })
    }
}

/// Cycles in which a request that nothing holds up is taken.
const PROMPT: u64 = 64;

impl Schedule {
    pub(in super::super) fn enter(&mut self, e: &Entry, threads: &Threads, bus: &Bus) {
        self.settle(e.begin, e.asleep);
        let latency = e.now.saturating_sub(e.pended_at);
        let behind = self.behind(e, latency);
        match (e.after, self.under_way.last()) {
            (Some(_), Some(_)) => self.end_handler(threads, bus),
            (_, Some(interrupted)) => {
                let by = State::WokenAt(interrupted.pended_at);
                self.look(by, threads, bus);
            }
            (_, None) => {
                self.left_at = e.begin;
                self.chain.clear();
                let until = self.recent.last().map(|one| one.end.saturating_add(PROMPT));
                if until.is_none_or(|until| until < e.begin) {
                    self.recent.clear();
                    self.busy_since = e.begin;
                }
                // An exception that the thread itself asked for came right after what it did.
                let by_thread = matches!(e.exception, number::SVCALL | number::PENDSV);
                let since = if by_thread { e.begin.min(e.pended_at) } else { e.begin };
                self.look(State::WokenAt(since), threads, bus);
            }
        }
        self.under_way.push(Activation {
            exception: e.exception,
            pended_at: e.pended_at,
            begin: e.begin,
            end: u64::MAX,
            run: 0,
            from: e.from,
        });
        self.change(Start::Entered { latency, chained: e.after.is_some() }, &bus.clocks);
        let time = Extreme { cycles: latency, at: e.now, pc: e.from };
        let (masked_from, caller) = (e.masked_from, e.caller);
        let wait = LongestWait { time, masked_from, caller, behind };
        self.waits.entry(e.exception).or_default().add(wait);
        if self.paused {
            return;
        }
        let handler = self.handler(e.exception);
        handler.tail_chained += u64::from(e.after.is_some());
        handler.latency.add(time);
        if let Some(log) = &mut self.log {
            log.judge(Who::Handler(e.exception), None, time, bus);
        }
    }

    /// Behind which handler a request has waited, if one held it up.
    fn behind(&self, e: &Entry, latency: u64) -> Option<u16> {
        let ended = self.recent.last().filter(|one| one.end > e.pended_at);
        // Where thread code ran before and behind a handler, that has held nothing up.
        let from_thread = e.after.is_none() && self.under_way.is_empty();
        let at_first = self.busy_since <= e.pended_at.saturating_add(PROMPT);
        let till = ended.map_or(u64::MAX, |one| one.end.saturating_add(PROMPT));
        let masked = e.masked_from.is_some();
        let held_up =
            if from_thread { at_first && (masked || till >= e.begin) } else { at_first || masked };
        let last = e.after.or(ended.map(|one| one.exception)).filter(|_| held_up);
        // Looked into for the longest wait alone: the others are not shown.
        match self.waits(e.exception).longest {
            Some(longest) if latency <= longest.time.cycles => last,
            _ => last.map(|last| self.most_of_wait(e).unwrap_or(last)),
        }
    }

    /// Whose handlers had the core for most of a wait, without those that interrupted them.
    fn most_of_wait(&self, e: &Entry) -> Option<u16> {
        let ending = self.under_way.last().filter(|_| e.after.is_some());
        let ran: Vec<&Activation> = self.recent.iter().chain(ending).collect();
        let mut own: BTreeMap<u16, i64> = BTreeMap::new();
        for (at, one) in ran.iter().enumerate() {
            let (from, to) = (one.begin.max(e.pended_at), one.end.min(e.begin));
            let cycles = to.saturating_sub(from) as i64;
            *own.entry(one.exception).or_default() += cycles;
            // They are in the order of their ends: the one that this one interrupted comes later.
            if let Some(around) = ran[at + 1..].iter().find(|other| other.begin < one.begin) {
                *own.entry(around.exception).or_default() -= cycles;
            }
        }
        let most = own.into_iter().max_by_key(|&(_, cycles)| cycles);
        most.filter(|&(_, cycles)| cycles > 0).map(|(exception, _)| exception)
    }
}
