//! Who ran when: time, runs and latencies of threads and handlers, with the worst case of each.
//!
//! It learns who runs from the call tree and only adds up. Every cycle of a window belongs to
//! exactly one thread or handler. Entering a handler belongs to it, as does leaving it.
//!
//! **Latency of an interrupt**: from the cycle in which it becomes pending to its handler's first
//! instruction.
//!
//! **By itself or preempted.** A thread gives up the core by itself when the switch was asked for
//! while it ran (a pended PendSV, an SVC, a switch by hand), be it that it blocks, yields or wakes
//! a better one. It is preempted when an interrupt's handler asked.
//!
//! **Wake-up to run.** Where the operating system shows which threads could run, a thread is woken
//! up when it could not and now can. In a handler that counts from the cycle in which its exception
//! became pending: that is when what the thread waited for happened. In another thread it counts
//! from the call, return or exception at which it is first seen. Either way up to the woken
//! thread's first instruction.
//!
//! Where nothing shows it, a thread that gave up the core by itself is taken to have waited. If a
//! handler asked for the switch to it, that handler's exception counts as what woke it; else the
//! moment is unknown, and counted as such.

mod entry;
mod log;
mod overview;
mod sums;
mod wake;

pub(super) use entry::Entry;
pub use log::{Keep, Kept, LatencyOwner, Log, Segment, Start, Worst};
pub use overview::{Lane, Overview, Stretch};
pub use sums::{Extreme, HandlerRuns, LongestWait, ThreadRuns, Times, Waits};
use wake::{State, Watched};

use std::collections::BTreeMap;

use super::threads::Threads;
use crate::kernel::bus::Bus;
use crate::kernel::clock::Clocks;
use crate::kernel::core::number;

/// A thread, by its number in [`Threads::all`], or the handler of an exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// A thread.
    Thread(u32),
    /// A handler.
    Handler(u16),
}

/// A handler under way, or one that has ended since thread code ran last.
#[derive(Debug, Clone, Copy)]
struct Activation {
    exception: u16,
    pended_at: u64,
    begin: u64,
    end: u64,
    /// Own cycles inside windows.
    run: u64,
    from: u32,
}

/// Who asked for a switch to another thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SwitchRequest {
    /// The thread that ran.
    Itself,
    /// A handler whose exception became pending in this cycle.
    Handler(u64),
}

/// Handlers remembered since thread code ran last; a longer chain forgets its oldest.
const MAX_CHAIN: usize = 64;

/// Adds up who ran.
#[derive(Debug, Default)]
pub struct Schedule {
    threads: Vec<ThreadRuns>,
    states: Vec<State>,
    waiting: Vec<usize>,
    watched: Vec<Watched>,
    handlers: Vec<HandlerRuns>,
    /// By exception, in the whole run.
    waits: BTreeMap<u16, Waits>,
    under_way: Vec<Activation>,
    chain: Vec<Activation>,
    /// Handlers that have ended since thread code last ran for longer than a moment: an AVR's has
    /// an instruction between any two.
    recent: Vec<Activation>,
    /// When the first of these began.
    busy_since: u64,
    thread: usize,
    /// Own cycles of the thread's present run.
    run: u64,
    /// When thread code was left last.
    left_at: u64,
    last: u64,
    last_asleep: u64,
    paused: bool,
    /// What is kept of the order of things.
    pub log: Option<Log>,
}

impl Schedule {
    /// One for each of [`Threads::all`].
    pub fn threads(&self) -> &[ThreadRuns] {
        &self.threads
    }

    /// One for each exception that was entered, in the order in which they first were.
    pub fn handlers(&self) -> &[HandlerRuns] {
        &self.handlers
    }

    /// What an exception's requests waited for, inside of windows and outside.
    pub fn waits(&self, exception: u16) -> Waits {
        self.waits.get(&exception).copied().unwrap_or_default()
    }

    /// Ends the present runs for good. Call after the last [`Schedule::set_active`].
    pub(super) fn finish(&mut self, pc: u32) {
        let at = self.last;
        self.end_run(at, pc);
        while let Some(ended) = self.under_way.pop() {
            self.note_run(&ended, at);
        }
        if let Some(log) = &mut self.log {
            log.finish(at);
        }
    }

    pub(super) fn set_active(&mut self, active: bool, now: u64, asleep: u64, clocks: &Clocks) {
        self.settle(now, asleep);
        self.change(Start::Window, clocks);
        self.paused = !active;
        if let Some(log) = &mut self.log {
            log.set_active(active);
        }
    }

    /// Charges what has run since the last change.
    fn settle(&mut self, now: u64, asleep: u64) {
        let (cycles, slept) = (now - self.last, asleep - self.last_asleep);
        (self.last, self.last_asleep) = (now, asleep);
        if let Some(log) = &mut self.log {
            log.advance(now, slept);
        }
        if self.paused {
            return;
        }
        match self.under_way.last_mut() {
            Some(activation) => {
                activation.run += cycles;
                let exception = activation.exception;
                let handler = self.handler(exception);
                handler.cycles += cycles;
                handler.asleep += slept;
            }
            None => {
                self.run += cycles;
                let thread = self.thread_mut(self.thread);
                thread.cycles += cycles;
                thread.asleep += slept;
            }
        }
    }

    fn thread_mut(&mut self, thread: usize) -> &mut ThreadRuns {
        if self.threads.len() <= thread {
            self.threads.resize_with(thread + 1, Default::default);
            self.states.resize_with(thread + 1, Default::default);
        }
        &mut self.threads[thread]
    }

    fn handler(&mut self, exception: u16) -> &mut HandlerRuns {
        let known = self.handlers.iter().position(|h| h.exception == exception);
        let at = known.unwrap_or_else(|| {
            self.handlers.push(HandlerRuns { exception, ..HandlerRuns::default() });
            self.handlers.len() - 1
        });
        &mut self.handlers[at]
    }

    /// Somebody else runs from now on.
    fn change(&mut self, start: Start, clocks: &Clocks) {
        let who = match self.under_way.last() {
            Some(activation) => Who::Handler(activation.exception),
            None => Who::Thread(self.thread as u32),
        };
        if let Some(log) = &mut self.log {
            log.change(who, self.last, start, clocks);
        }
    }

    /// The handler that runs has ended; nobody else runs yet.
    fn end_handler(&mut self, threads: &Threads, bus: &Bus) {
        let Some(mut ended) = self.under_way.pop() else { return };
        ended.end = self.last;
        self.note_run(&ended, self.last);
        for all in [&mut self.chain, &mut self.recent] {
            if all.len() == MAX_CHAIN {
                all.remove(0);
            }
            all.push(ended);
        }
        self.look(State::WokenAt(ended.pended_at), threads, bus);
    }

    fn note_run(&mut self, ended: &Activation, at: u64) {
        if ended.run > 0 {
            let time = Extreme { cycles: ended.run, at, pc: ended.from };
            self.handler(ended.exception).durations.add(time);
        }
    }

    /// Back to the handler that was interrupted.
    pub(super) fn back_to_handler(&mut self, now: u64, asleep: u64, threads: &Threads, bus: &Bus) {
        self.settle(now, asleep);
        self.end_handler(threads, bus);
        self.change(Start::Resumed, &bus.clocks);
    }

    /// From the last handler to a thread, the one that was interrupted at `pc` or another.
    pub(super) fn back_to_thread(
        &mut self,
        now: u64,
        asleep: u64,
        pc: u32,
        threads: &Threads,
        bus: &Bus,
    ) {
        self.settle(now, asleep);
        self.end_handler(threads, bus);
        if threads.current() == self.thread {
            self.change(Start::Resumed, &bus.clocks);
            return;
        }
        let asked = self.asked();
        self.switch(asked, self.left_at, pc, threads, bus);
    }

    /// From one thread to another without an exception, or after one: `asked` is when that became
    /// pending whose handler has made the thread switch.
    pub(super) fn by_hand(
        &mut self,
        (now, asleep, pc): (u64, u64, u32),
        asked: Option<u64>,
        threads: &Threads,
        bus: &Bus,
    ) {
        self.settle(now, asleep);
        self.look(State::WokenAt(now), threads, bus);
        self.switch(
            asked.map_or(SwitchRequest::Itself, SwitchRequest::Handler),
            now,
            pc,
            threads,
            bus,
        );
    }

    /// When the exception became pending that led to the handlers that ran last, unless the thread
    /// asked for them itself.
    pub(super) fn asked_by_handler(&self) -> Option<u64> {
        match self.asked() {
            SwitchRequest::Handler(pended_at) => Some(pended_at),
            SwitchRequest::Itself => None,
        }
    }

    /// From reset again.
    pub(super) fn reset(&mut self, now: u64, asleep: u64, pc: u32, clocks: &Clocks) {
        self.settle(now, asleep);
        self.end_run(now, pc);
        self.under_way.clear();
        self.chain.clear();
        self.recent.clear();
        self.thread = 0;
        self.states.iter_mut().for_each(|state| *state = State::Ready);
        self.waiting.clear();
        self.watched.clear();
        self.change(Start::Reset, clocks);
    }

    /// Who asked for the switch that the handler that ended last has made.
    fn asked(&self) -> SwitchRequest {
        let Some(last) = self.chain.last() else { return SwitchRequest::Itself };
        let mut by = last;
        // An exception that only asks leads to who pended it. Each step goes back in time.
        loop {
            match by.exception {
                number::SVCALL | number::HARD_FAULT => return SwitchRequest::Itself,
                number::PENDSV if by.pended_at <= self.left_at => return SwitchRequest::Itself,
                number::PENDSV => {
                    let at = by.pended_at;
                    let ran = |a: &&Activation| a.begin <= at && at <= a.end && a.begin < by.begin;
                    match self.chain.iter().filter(ran).max_by_key(|a| a.begin) {
                        Some(asker) => by = asker,
                        None => return SwitchRequest::Handler(at),
                    }
                }
                _ => return SwitchRequest::Handler(by.pended_at),
            }
        }
    }

    /// The thread that ran until `left` at `pc` has lost the core to `threads.current()`.
    fn switch(&mut self, asked: SwitchRequest, left: u64, pc: u32, threads: &Threads, bus: &Bus) {
        self.end_run(left, pc);
        // Its own request counts, even if a handler came in between and chose yet another thread.
        let own = |a: &Activation| a.exception == number::PENDSV && a.pended_at <= self.left_at;
        let by_itself = asked == SwitchRequest::Itself || self.chain.iter().any(own);
        self.leave(by_itself, threads, bus);
        self.thread = threads.current();
        let counts = !self.paused;
        let now = self.last;
        let thread = self.thread_mut(self.thread);
        thread.runs += u64::from(counts);
        let since = match (self.states[self.thread], asked) {
            (State::Ready, _) => None,
            (State::WokenAt(since), _) => Some(Some(since)),
            (State::Waiting, SwitchRequest::Handler(since)) => Some(Some(since)),
            (State::Waiting, SwitchRequest::Itself) => Some(None),
        };
        self.states[self.thread] = State::Ready;
        self.waiting.retain(|&waiting| waiting != threads.current());
        self.watched.retain(|watched| watched.thread != threads.current());
        let waited = since.flatten().map(|since| now.saturating_sub(since));
        self.change(Start::Switched { by_itself, waited }, &bus.clocks);
        if !counts {
            return;
        }
        let thread = self.thread_mut(self.thread);
        match (since, waited) {
            (None, _) => {}
            (Some(_), None) => thread.wakes_unknown += 1,
            (Some(_), Some(cycles)) => {
                let time = Extreme { cycles, at: now, pc };
                thread.wakes.add(time);
                if let Some(log) = &mut self.log {
                    let woken = threads.all().get(self.thread);
                    log.judge(Who::Thread(self.thread as u32), woken, time, bus);
                }
            }
        }
    }

    fn end_run(&mut self, at: u64, pc: u32) {
        let cycles = std::mem::take(&mut self.run);
        if cycles > 0 {
            self.thread_mut(self.thread).durations.add(Extreme { cycles, at, pc });
        }
    }
}

#[cfg(test)]
mod tests;
