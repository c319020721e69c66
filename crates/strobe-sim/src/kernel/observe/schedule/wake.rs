//! Which threads wait, and since when one that was woken could run.
//!
//! Looked at where a thread may have been woken: at exceptions, and in thread code wherever the
//! call tree looks. That is often, so where words in memory suffice, only those are compared.

use super::Schedule;
use crate::kernel::bus::Bus;
use crate::kernel::device::Size;
use crate::kernel::observe::threads::Threads;

/// What is known of when a thread could run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// It could all the time, or has never run.
    #[default]
    Ready,
    /// It waits for something.
    Waiting,
    /// It can run since then.
    WokenAt(u64),
}

/// A word that changes when a waiting thread is woken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watched {
    pub(super) thread: usize,
    pub(super) address: u32,
    pub(super) value: Option<u32>,
}

fn word(address: u32, bus: &Bus) -> Option<u32> {
    bus.peek(address, Size::Word)
}

impl Schedule {
    /// The thread that ran stops running.
    pub(super) fn leave(&mut self, by_itself: bool, threads: &Threads, bus: &Bus) {
        let counts = u64::from(!self.paused);
        let from = self.thread;
        let thread = self.thread_mut(from);
        if by_itself {
            thread.gave_up += counts;
        } else {
            thread.preempted += counts;
        }
        // Where the system does not show it: who gives up the core waits for something, who is
        // preempted does not.
        if threads.is_ready(from, bus).unwrap_or(!by_itself) {
            self.states[from] = State::Ready;
        } else {
            self.states[from] = State::Waiting;
            self.waiting.push(from);
            let watched = |address| Watched { thread: from, address, value: word(address, bus) };
            self.watched.extend(threads.state_words(from).map(watched));
        }
    }

    /// Looks, while a thread runs, whether it has woken another one.
    #[inline(always)]
    pub(in crate::kernel::observe) fn glance(&mut self, now: u64, threads: &Threads, bus: &Bus) {
        if !self.watched.is_empty() && self.under_way.is_empty() {
            self.look_at_watched(State::WokenAt(now), threads, bus);
        }
    }

    fn look_at_watched(&mut self, by: State, threads: &Threads, bus: &Bus) {
        // A system keeps its threads together, and this happens at every call: a hundred look-ups
        // of the memory that holds a word would cost more than the simulation.
        let memory = self.watched.first().and_then(|watched| bus.memory_at(watched.address));
        let value = |address| {
            let near = memory.and_then(|memory| memory.read(address, Size::Word));
            near.or_else(|| word(address, bus))
        };
        if self.watched.iter().all(|watched| value(watched.address) == watched.value) {
            return;
        }
        let mut changed = Vec::new();
        for watched in &mut self.watched {
            let value = value(watched.address);
            if std::mem::replace(&mut watched.value, value) != value {
                changed.push(watched.thread);
            }
        }
        self.look_at(|thread| changed.contains(&thread), by, threads, bus);
    }

    /// Looks which threads have been woken since the last look.
    pub(super) fn look(&mut self, by: State, threads: &Threads, bus: &Bus) {
        if threads.state_words_suffice() {
            self.look_at_watched(by, threads, bus);
        } else {
            self.look_at(|_| true, by, threads, bus);
        }
    }

    /// The same of some threads.
    fn look_at(&mut self, among: impl Fn(usize) -> bool, by: State, threads: &Threads, bus: &Bus) {
        if self.waiting.is_empty() || !threads.know_readiness() {
            return;
        }
        let states = &mut self.states;
        self.waiting.retain(|&thread| {
            let woken = among(thread) && threads.is_ready(thread, bus) == Some(true);
            if woken {
                states[thread] = by;
            }
            !woken
        });
        self.watched.retain(|watched| states[watched.thread] == State::Waiting);
    }
}
