//! Who ran when: time, runs and latencies of threads and handlers, with the worst case of each.
//!
//! It is told who runs by the call tree and only adds up. Every cycle of a window belongs to exactly one thread or
//! handler. Entering a handler belongs to it, as does leaving it.
//!
//! **Latency of an interrupt**: from the cycle in which it becomes pending to its handler's first instruction.
//!
//! **By itself or preempted.** A thread gives up the core by itself when the switch was asked for while it ran (a
//! pended PendSV, an SVC, a switch by hand), be it that it blocks, yields or wakes a better one. It is preempted when
//! an interrupt's handler asked.
//!
//! **Wake-up to run.** Where the operating system tells which threads could run, a thread is woken up when it could not
//! and now can. In a handler that counts from the cycle in which its exception became pending: that is when what the thread waited for
//! happened. In another thread it counts from the call, return or exception at which it is first seen. Either
//! way up to the woken thread's first instruction.
//!
//! Where nothing tells, a thread that gave up the core by itself is taken to have waited. If a handler asked for the switch to
//! it, that handler's exception counts as what woke it; else the moment is unknown, and counted as such.

mod log;

pub use log::{Keep, Kept, Log, Segment, Start, Whose, Worst};

use super::threads::Threads;
use crate::bus::Bus;
use crate::cortexm::system::number;
use crate::device::Size;

/// A thread, by its number in [`Threads::all`], or the handler of an exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// A thread.
    Thread(u32),
    /// A handler.
    Handler(u16),
}

/// The greatest of many times, and where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extreme {
    /// Cycles.
    pub cycles: u64,
    /// The cycle at which it ended.
    pub at: u64,
    /// Address of the instruction that was interrupted (latencies, handlers) or at which the thread stopped.
    pub pc: u32,
}

/// Many times in short.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The least.
    pub min: u64,
    /// The greatest.
    pub max: Option<Extreme>,
}

impl Times {
    fn add(&mut self, time: Extreme) {
        self.min = if self.count == 0 { time.cycles } else { self.min.min(time.cycles) };
        self.count += 1;
        self.sum += time.cycles;
        worse(&mut self.max, time);
    }
}

/// Keeps the greater of two; of equal ones the first.
fn worse(max: &mut Option<Extreme>, time: Extreme) {
    if max.is_none_or(|max| time.cycles > max.cycles) {
        *max = Some(time);
    }
}

/// What a thread did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadRuns {
    /// Cycles of its own, sleep included.
    pub cycles: u64,
    /// Of these, asleep.
    pub asleep: u64,
    /// Times it took over from another thread.
    pub runs: u64,
    /// Times it gave up the core by itself.
    pub gave_up: u64,
    /// Times it was preempted.
    pub preempted: u64,
    /// Its longest run: from taking over to the next thread's, without handlers' cycles.
    pub longest: Option<Extreme>,
    /// From wake-up to run.
    pub wakes: Times,
    /// Wake-ups at an unknown moment.
    pub wakes_unknown: u64,
}

/// What a handler did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandlerRuns {
    /// Exception number.
    pub exception: u16,
    /// Cycles of its own, sleep included.
    pub cycles: u64,
    /// Of these, asleep.
    pub asleep: u64,
    /// Of its entries, those from another handler without unstacking.
    pub tail_chained: u64,
    /// From pending to the first instruction; one for each entry.
    pub latency: Times,
    /// Its longest run, entry and exit included, without other handlers' cycles.
    pub longest: Option<Extreme>,
}

/// An exception is taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub exception: u16,
    pub pended_at: u64,
    pub after: Option<u16>,
    /// Address of the interrupted instruction.
    pub from: u32,
    /// Cycle at which the way in began.
    pub begin: u64,
    /// Cycle of the handler's first instruction.
    pub now: u64,
    pub asleep: u64,
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

/// What is known of when a thread could run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// It could all the time, or has never run.
    #[default]
    Ready,
    /// It waits for something.
    Waiting,
    /// It can run since then.
    WokenAt(u64),
}

/// Who asked for a switch to another thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// The thread that ran.
    Itself,
    /// A handler whose exception became pending in this cycle.
    Handler(u64),
}

/// A word that changes when a waiting thread is woken.
#[derive(Debug, Clone, Copy)]
struct Watched {
    thread: usize,
    address: u32,
    value: Option<u32>,
}

fn word(address: u32, bus: &Bus) -> Option<u32> {
    bus.peek(address, Size::Word)
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
    under_way: Vec<Activation>,
    chain: Vec<Activation>,
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

    pub(super) fn set_active(&mut self, active: bool, now: u64, asleep: u64) {
        self.settle(now, asleep);
        self.change(Start::Window);
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
            self.handlers.push(HandlerRuns {
                exception,
                cycles: 0,
                asleep: 0,
                tail_chained: 0,
                latency: Times::default(),
                longest: None,
            });
            self.handlers.len() - 1
        });
        &mut self.handlers[at]
    }

    /// Somebody else runs from now on.
    fn change(&mut self, start: Start) {
        let who = match self.under_way.last() {
            Some(activation) => Who::Handler(activation.exception),
            None => Who::Thread(self.thread as u32),
        };
        if let Some(log) = &mut self.log {
            log.change(who, self.last, start);
        }
    }

    pub(super) fn enter(&mut self, e: &Entry, threads: &Threads, bus: &Bus) {
        self.settle(e.begin, e.asleep);
        match (e.after, self.under_way.last()) {
            (Some(_), Some(_)) => self.end_handler(threads, bus),
            (_, Some(interrupted)) => {
                let by = State::WokenAt(interrupted.pended_at);
                self.look(by, threads, bus);
            }
            (_, None) => {
                self.left_at = e.begin;
                self.chain.clear();
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
        let latency = e.now.saturating_sub(e.pended_at);
        self.change(Start::Entered { latency, chained: e.after.is_some() });
        if self.paused {
            return;
        }
        let handler = self.handler(e.exception);
        handler.tail_chained += u64::from(e.after.is_some());
        let time = Extreme { cycles: latency, at: e.now, pc: e.from };
        handler.latency.add(time);
        if let Some(log) = &mut self.log {
            log.judge(Who::Handler(e.exception), None, time, bus);
        }
    }

    /// The handler that runs has ended; nobody else runs yet.
    fn end_handler(&mut self, threads: &Threads, bus: &Bus) {
        let Some(mut ended) = self.under_way.pop() else { return };
        ended.end = self.last;
        self.note_run(&ended, self.last);
        if self.chain.len() == MAX_CHAIN {
            self.chain.remove(0);
        }
        self.chain.push(ended);
        self.look(State::WokenAt(ended.pended_at), threads, bus);
    }

    fn note_run(&mut self, ended: &Activation, at: u64) {
        if ended.run > 0 {
            let time = Extreme { cycles: ended.run, at, pc: ended.from };
            worse(&mut self.handler(ended.exception).longest, time);
        }
    }

    /// Back to the handler that was interrupted.
    pub(super) fn back_to_handler(&mut self, now: u64, asleep: u64, threads: &Threads, bus: &Bus) {
        self.settle(now, asleep);
        self.end_handler(threads, bus);
        self.change(Start::Resumed);
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
            self.change(Start::Resumed);
            return;
        }
        let asked = self.asked();
        self.switch(asked, self.left_at, pc, threads, bus);
    }

    /// From one thread to another without an exception.
    pub(super) fn by_hand(&mut self, now: u64, asleep: u64, pc: u32, threads: &Threads, bus: &Bus) {
        self.settle(now, asleep);
        self.look(State::WokenAt(now), threads, bus);
        self.switch(Asked::Itself, now, pc, threads, bus);
    }

    /// From reset again.
    pub(super) fn reset(&mut self, now: u64, asleep: u64, pc: u32) {
        self.settle(now, asleep);
        self.end_run(now, pc);
        self.under_way.clear();
        self.chain.clear();
        self.thread = 0;
        self.states.iter_mut().for_each(|state| *state = State::Ready);
        self.waiting.clear();
        self.watched.clear();
        self.change(Start::Reset);
    }

    /// Who asked for the switch that the handler that ended last has made.
    fn asked(&self) -> Asked {
        let Some(last) = self.chain.last() else { return Asked::Itself };
        let mut by = last;
        // An exception that only asks leads to who pended it. Each step goes back in time.
        loop {
            match by.exception {
                number::SVCALL | number::HARD_FAULT => return Asked::Itself,
                number::PENDSV if by.pended_at <= self.left_at => return Asked::Itself,
                number::PENDSV => {
                    let at = by.pended_at;
                    let ran = |a: &&Activation| a.begin <= at && at <= a.end && a.begin < by.begin;
                    match self.chain.iter().filter(ran).max_by_key(|a| a.begin) {
                        Some(asker) => by = asker,
                        None => return Asked::Handler(at),
                    }
                }
                _ => return Asked::Handler(by.pended_at),
            }
        }
    }

    /// The thread that ran until `left` at `pc` has lost the core to `threads.current()`.
    fn switch(&mut self, asked: Asked, left: u64, pc: u32, threads: &Threads, bus: &Bus) {
        self.end_run(left, pc);
        // Its own request counts, even if a handler came in between and chose yet another thread.
        let own = |a: &Activation| a.exception == number::PENDSV && a.pended_at <= self.left_at;
        let by_itself = asked == Asked::Itself || self.chain.iter().any(own);
        self.leave(by_itself, threads, bus);
        self.thread = threads.current();
        let counts = !self.paused;
        let now = self.last;
        let thread = self.thread_mut(self.thread);
        thread.runs += u64::from(counts);
        let since = match (self.states[self.thread], asked) {
            (State::Ready, _) => None,
            (State::WokenAt(since), _) => Some(Some(since)),
            (State::Waiting, Asked::Handler(since)) => Some(Some(since)),
            (State::Waiting, Asked::Itself) => Some(None),
        };
        self.states[self.thread] = State::Ready;
        self.waiting.retain(|&waiting| waiting != threads.current());
        self.watched.retain(|watched| watched.thread != threads.current());
        let waited = since.flatten().map(|since| now.saturating_sub(since));
        self.change(Start::Switched { by_itself, waited });
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

    /// The thread that ran stops running.
    fn leave(&mut self, by_itself: bool, threads: &Threads, bus: &Bus) {
        let counts = u64::from(!self.paused);
        let from = self.thread;
        let thread = self.thread_mut(from);
        if by_itself {
            thread.gave_up += counts;
        } else {
            thread.preempted += counts;
        }
        // Where nobody tells: who gives up the core waits for something, who is preempted does not.
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
    pub(super) fn glance(&mut self, now: u64, threads: &Threads, bus: &Bus) {
        if !self.watched.is_empty() && self.under_way.is_empty() {
            self.look_at_watched(State::WokenAt(now), threads, bus);
        }
    }

    fn look_at_watched(&mut self, by: State, threads: &Threads, bus: &Bus) {
        // A system keeps its threads together, and this happens at every call: a hundred look-ups of the memory that
        // holds a word would cost more than the simulation.
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
    fn look(&mut self, by: State, threads: &Threads, bus: &Bus) {
        if threads.state_words_tell() {
            self.look_at_watched(by, threads, bus);
        } else {
            self.look_at(|_| true, by, threads, bus);
        }
    }

    /// The same of some threads.
    fn look_at(&mut self, among: impl Fn(usize) -> bool, by: State, threads: &Threads, bus: &Bus) {
        if self.waiting.is_empty() || !threads.tell_ready() {
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

    fn end_run(&mut self, at: u64, pc: u32) {
        let cycles = std::mem::take(&mut self.run);
        if cycles > 0 {
            let thread = self.thread_mut(self.thread);
            worse(&mut thread.longest, Extreme { cycles, at, pc });
        }
    }
}

#[cfg(test)]
mod tests;
