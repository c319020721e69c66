//! Sequences of exceptions as cores produce them, and what they mean.

use super::*;
use crate::kernel::memory::{Memory, MemoryKind};

const SVC: u16 = number::SVCALL;
const PENDSV: u16 = number::PENDSV;
const SYSTICK: u16 = number::SYSTICK;
const IRQ: u16 = 20;
const RAM: u32 = 0x2000_0000;

/// A schedule with its threads, each with a stack of its own.
struct Rig {
    schedule: Schedule,
    threads: Threads,
    bus: Bus,
    sp: [u32; 4],
}

impl Rig {
    fn new() -> Self {
        let memory = |name, kind, base| Memory::new(name, kind, base, 0x1000);
        let (flash, ram) =
            (memory("flash", MemoryKind::Flash, 0), memory("ram", MemoryKind::Ram, RAM));
        let mut threads = Threads::new();
        let sp = [RAM + 0x1000, RAM + 0xc00, RAM + 0x800, RAM + 0x400];
        threads.reset(sp[0]);
        Rig { schedule: Schedule::default(), threads, bus: Bus::new(flash, ram, 1_000_000), sp }
    }

    /// An exception that became pending at `pended_at` is taken between two cycles.
    fn enter(&mut self, exception: u16, pended_at: u64, (begin, now): (u64, u64)) {
        if self.schedule.under_way.is_empty() {
            self.threads.interrupted(self.sp[self.threads.current()]);
        }
        let entry = Entry {
            exception,
            pended_at,
            masked_from: None,
            caller: None,
            after: None,
            from: 0x10,
            begin,
            now,
            asleep: 0,
        };
        self.schedule.enter(&entry, &self.threads, &self.bus);
    }

    fn chain(&mut self, exception: u16, pended_at: u64, (begin, now): (u64, u64)) {
        let after = self.schedule.under_way.last().map(|a| a.exception);
        let entry = Entry {
            exception,
            pended_at,
            masked_from: None,
            caller: None,
            after,
            from: 0x20,
            begin,
            now,
            asleep: 0,
        };
        self.schedule.enter(&entry, &self.threads, &self.bus);
    }

    /// The last handler ends and thread `to` goes on.
    fn leave_to(&mut self, to: usize, now: u64) {
        self.threads.resumed(self.sp[to], &self.bus);
        assert_eq!(self.threads.current(), to, "threads come up in order");
        self.schedule.back_to_thread(now, 0, 0x30, &self.threads, &self.bus);
    }

    fn leave_to_handler(&mut self, now: u64) {
        self.schedule.back_to_handler(now, 0, &self.threads, &self.bus);
    }

    fn thread(&self, n: usize) -> ThreadRuns {
        self.schedule.threads()[n].clone()
    }

    fn handler(&self, exception: u16) -> HandlerRuns {
        let mut all = self.schedule.handlers().iter();
        all.find(|h| h.exception == exception).expect("it ran").clone()
    }

    fn set_active(&mut self, active: bool, now: u64) {
        self.schedule.set_active(active, now, 0, &self.bus.clocks);
    }
}

#[test]
fn thread_pending_the_switch_yields() {
    let mut rig = Rig::new();
    rig.enter(PENDSV, 100, (100, 116));
    rig.leave_to(1, 150);
    rig.enter(SVC, 200, (200, 216));
    rig.leave_to(2, 250);
    assert_eq!((rig.thread(0).gave_up, rig.thread(0).preempted), (1, 0));
    assert_eq!((rig.thread(1).gave_up, rig.thread(1).preempted), (1, 0));
    assert_eq!((rig.thread(0).cycles, rig.thread(1).cycles), (100, 50));
    assert_eq!((rig.handler(PENDSV).cycles, rig.handler(SVC).cycles), (50, 50));
}

/// A request that waits while thread code runs and nothing masks it is not enabled.
#[test]
fn a_handler_that_came_late_has_held_nothing_up() {
    let behind = |rig: &Rig| rig.schedule.waits(IRQ).longest.map(|wait| wait.behind);
    let mut rig = Rig::new();
    rig.enter(SYSTICK, 9_000, (9_000, 9_016));
    rig.chain(IRQ, 100, (9_030, 9_036));
    assert_eq!(behind(&rig), Some(None));
    // One that was there when the request came, and ended long before it was enabled.
    let mut rig = Rig::new();
    rig.enter(SYSTICK, 90, (90, 106));
    rig.leave_to(0, 150);
    rig.enter(IRQ, 100, (9_000, 9_016));
    assert_eq!(behind(&rig), Some(None));
    let mut rig = Rig::new();
    rig.enter(SYSTICK, 90, (90, 106));
    rig.chain(IRQ, 100, (9_030, 9_036));
    assert_eq!(behind(&rig), Some(Some(SYSTICK)));
}

/// The last one may be short: what a request waited for is the handler that had most of the wait.
#[test]
fn a_request_waits_behind_the_handler_that_took_longest() {
    let behind = |rig: &Rig| rig.schedule.waits(IRQ).longest.map(|wait| wait.behind);
    let mut rig = Rig::new();
    rig.enter(SYSTICK, 90, (90, 106));
    rig.chain(PENDSV, 110, (3_000, 3_006));
    rig.chain(IRQ, 100, (3_050, 3_056));
    assert_eq!(behind(&rig), Some(Some(SYSTICK)));
    // What was over when the request came does not count.
    rig.leave_to(0, 3_100);
    rig.enter(SYSTICK, 4_000, (4_000, 4_016));
    rig.chain(PENDSV, 4_010, (9_000, 9_006));
    rig.chain(IRQ, 8_990, (12_990, 12_996));
    assert_eq!(behind(&rig), Some(Some(PENDSV)));
    // Nor does an interrupted one that waited for most of its time.
    rig.leave_to(0, 13_000);
    rig.enter(PENDSV, 20_000, (20_000, 20_016));
    rig.enter(SYSTICK, 20_100, (20_100, 20_116));
    rig.leave_to_handler(29_000);
    rig.chain(IRQ, 20_000, (29_100, 29_106));
    assert_eq!(behind(&rig), Some(Some(SYSTICK)));
}

/// An AVR goes on with an instruction of the interrupted code between two handlers.
#[test]
fn handlers_with_a_moment_between_them_hold_up_together() {
    let waited = |pause: u64| {
        let mut rig = Rig::new();
        rig.enter(SYSTICK, 90, (90, 94));
        rig.leave_to(0, 3_000);
        let begin = 3_000 + pause;
        rig.enter(PENDSV, 200, (begin, begin + 4));
        rig.leave_to(0, begin + 50);
        rig.enter(IRQ, 100, (begin + 52, begin + 56));
        rig.schedule.waits(IRQ).longest.map(|wait| wait.behind)
    };
    assert_eq!(waited(2), Some(Some(SYSTICK)));
    assert_eq!(waited(500), Some(None), "it was not enabled");
}

#[test]
fn a_handler_that_pends_the_switch_preempts() {
    let mut rig = Rig::new();
    rig.enter(SYSTICK, 98, (100, 116));
    rig.chain(PENDSV, 130, (140, 146));
    rig.leave_to(1, 180);
    assert_eq!((rig.thread(0).gave_up, rig.thread(0).preempted), (0, 1));
    // A switch at the end of an interrupt, without PendSV.
    rig.enter(IRQ, 200, (200, 216));
    rig.leave_to(2, 250);
    assert_eq!(rig.thread(1).preempted, 1);
    // PendSV pended by an interrupt that came while a supervisor call was under way.
    rig.enter(SVC, 300, (300, 316));
    rig.enter(IRQ, 320, (320, 336));
    rig.leave_to_handler(350);
    rig.chain(PENDSV, 340, (370, 376));
    rig.leave_to(3, 400);
    assert_eq!((rig.thread(2).gave_up, rig.thread(2).preempted), (0, 1));
    // PendSV pended by the supervisor call itself.
    rig.enter(SVC, 500, (500, 516));
    rig.chain(PENDSV, 520, (530, 536));
    rig.leave_to(0, 560);
    assert_eq!((rig.thread(3).gave_up, rig.thread(3).preempted), (1, 0));
}

/// Seen with FreeRTOS: a thread yields, and while PendSV switches to the next one an interrupt has
/// it switch again.
#[test]
fn yield_overtaken_by_an_interrupt_is_a_yield() {
    let mut rig = Rig::new();
    rig.enter(PENDSV, 100, (100, 116));
    rig.enter(IRQ, 124, (130, 146));
    rig.leave_to_handler(200);
    rig.chain(PENDSV, 180, (210, 216));
    rig.leave_to(1, 250);
    assert_eq!((rig.thread(0).gave_up, rig.thread(0).preempted), (1, 0));
}

/// Nothing shows who waits: who gave up did, and the interrupt that leads to its next run is taken
/// for what woke it.
#[test]
fn wake_up_counts_from_the_interrupt_causing_the_switch() {
    let mut rig = Rig::new();
    rig.enter(PENDSV, 100, (100, 116));
    rig.leave_to(1, 150);
    assert_eq!(rig.thread(1).wakes.spread.count(), 0, "the first run is no wake-up");
    rig.enter(IRQ, 290, (300, 316));
    rig.chain(PENDSV, 320, (330, 336));
    rig.leave_to(0, 370);
    let wakes = rig.thread(0).wakes;
    assert_eq!((wakes.spread.count(), wakes.spread.sum(), wakes.spread.min()), (1, 80, Some(80)));
    assert_eq!(wakes.max, Some(Extreme { cycles: 80, at: 370, pc: 0x30 }));
    // Thread 1 was preempted: it goes on, nobody has to wake it.
    rig.enter(PENDSV, 400, (400, 416));
    rig.leave_to(1, 450);
    assert_eq!((rig.thread(1).wakes.spread.count(), rig.thread(1).wakes_unknown), (0, 0));
    // Thread 0 waits, and thread 1 gives way to it: since when could it run?
    rig.enter(PENDSV, 500, (500, 516));
    rig.leave_to(0, 550);
    assert_eq!((rig.thread(0).wakes.spread.count(), rig.thread(0).wakes_unknown), (1, 1));
}

#[test]
fn runs_end_with_the_thread_and_not_with_interrupts() {
    let mut rig = Rig::new();
    rig.enter(IRQ, 90, (100, 116));
    rig.leave_to(0, 140);
    rig.enter(IRQ, 230, (240, 256));
    rig.enter(SYSTICK, 258, (260, 276));
    rig.leave_to_handler(290);
    rig.leave_to(0, 300);
    rig.enter(PENDSV, 350, (350, 366));
    rig.leave_to(1, 400);
    assert_eq!(rig.thread(0).durations.max, Some(Extreme { cycles: 250, at: 350, pc: 0x30 }));
    let irq = rig.handler(IRQ);
    assert_eq!(irq.cycles, 40 + 30, "without the handler that interrupted it");
    assert_eq!(irq.durations.max, Some(Extreme { cycles: 40, at: 140, pc: 0x10 }));
    assert_eq!(irq.durations.spread, [40, 30].into_iter().collect());
    assert_eq!((irq.latency.spread.count(), irq.latency.spread.sum()), (2, 26 + 26));
    rig.set_active(false, 450);
    rig.schedule.finish(0x44);
    assert_eq!(rig.thread(1).durations.max, Some(Extreme { cycles: 50, at: 450, pc: 0x44 }));
}

#[test]
fn outside_of_windows_nothing_counts() {
    let mut rig = Rig::new();
    rig.set_active(false, 50);
    rig.enter(IRQ, 90, (100, 116));
    rig.leave_to(1, 140);
    rig.set_active(true, 200);
    rig.enter(PENDSV, 300, (300, 316));
    rig.leave_to(2, 350);
    assert_eq!(
        rig.thread(0),
        ThreadRuns { cycles: 50, durations: rig.thread(0).durations, ..ThreadRuns::default() }
    );
    assert_eq!((rig.thread(1).cycles, rig.thread(1).runs, rig.thread(1).gave_up), (100, 0, 1));
    assert!(
        rig.schedule
            .handlers()
            .iter()
            .all(|h| h.exception == PENDSV || h.latency.spread.count() == 0)
    );
}

/// The clock is 1 MHz: a cycle is a microsecond.
fn with_log(keep: Keep, microseconds: u64) -> Rig {
    let mut rig = Rig::new();
    rig.schedule.log = Some(Log::new(keep, microseconds * 1000));
    rig.set_active(true, 0);
    rig
}

fn segments(kept: &Kept) -> Vec<(Who, u64, u64)> {
    kept.segments.iter().map(|s| (s.who, s.begin, s.end)).collect()
}

#[test]
fn the_log_keeps_the_end() {
    let mut rig = with_log(Keep::Last, 150);
    rig.enter(PENDSV, 100, (100, 116));
    rig.leave_to(1, 150);
    rig.enter(IRQ, 290, (300, 316));
    rig.leave_to(1, 330);
    rig.set_active(true, 400);
    let kept = rig.schedule.log.as_ref().expect("a log").kept(&rig.bus);
    assert_eq!((kept.begin, kept.end, kept.dropped), (250, 400, 0));
    assert_eq!(
        segments(&kept),
        [(Who::Thread(1), 150, 300), (Who::Handler(IRQ), 300, 330), (Who::Thread(1), 330, 400)]
    );
    assert_eq!(kept.segments[1].start, Start::Entered { latency: 26, chained: false });
}

#[test]
fn the_log_keeps_what_was_around_the_worst_latency() {
    let mut rig = with_log(Keep::Worst(LatencyOwner::All), 100);
    let mut at = 0;
    for latency in [10, 60, 30, 59] {
        // Thread 0 waits, an interrupt wakes it after a while.
        rig.enter(PENDSV, at + 100, (at + 100, at + 116));
        rig.leave_to(1, at + 150);
        rig.enter(IRQ, at + 300, (at + 300, at + 302));
        rig.chain(PENDSV, at + 304, (at + 306, at + 308));
        rig.leave_to(0, at + 300 + latency);
        at += 1000;
    }
    rig.set_active(false, at);
    rig.schedule.finish(0);
    let kept = rig.schedule.log.as_ref().expect("a log").kept(&rig.bus);
    let worst = kept.worst.expect("a worst one");
    assert_eq!((worst.who, worst.time.cycles, worst.time.at), (Who::Thread(0), 60, 1360));
    assert_eq!((kept.begin, kept.end), (1285, 1385), "three quarters before, one after");
    let who: Vec<Who> = kept.segments.iter().map(|s| s.who).collect();
    let (irq, pendsv) = (Who::Handler(IRQ), Who::Handler(PENDSV));
    assert_eq!(who, [Who::Thread(1), irq, pendsv, Who::Thread(0)]);
}

#[test]
fn log_keeps_the_worst_interrupt_of_all_or_one() {
    for (whose, expected) in
        [(LatencyOwner::All, (IRQ, 50)), (LatencyOwner::Exception(SYSTICK), (SYSTICK, 20))]
    {
        let mut rig = with_log(Keep::Worst(whose), 100);
        for (exception, latency) in [(SYSTICK, 20), (IRQ, 50), (SYSTICK, 18)] {
            let at = rig.schedule.last + 100;
            rig.enter(exception, at, (at, at + latency));
            rig.leave_to(0, at + 60);
        }
        rig.set_active(false, 1000);
        rig.schedule.finish(0);
        let worst = rig.schedule.log.as_ref().expect("a log").kept(&rig.bus).worst;
        let worst = worst.map(|worst| (worst.who, worst.time.cycles));
        assert_eq!(worst, Some((Who::Handler(expected.0), expected.1)));
    }
}

#[test]
fn a_full_log_states_what_it_lost() {
    let mut rig = with_log(Keep::Last, 1_000_000);
    for n in 0..50_000u64 {
        rig.enter(IRQ, n * 10, (n * 10 + 4, n * 10 + 6));
        rig.leave_to(0, n * 10 + 8);
    }
    rig.set_active(false, 500_000);
    let kept = rig.schedule.log.as_ref().expect("a log").kept(&rig.bus);
    assert_eq!(kept.segments.len() as u64 + kept.dropped, 100_001);
    assert!(kept.dropped > 30_000 && kept.segments.len() > 60_000);
    assert_eq!(kept.segments.last().map(|s| s.end), Some(500_000), "the newest stay");
    assert_eq!(kept.segments.first().map(|s| s.begin), Some(kept.begin), "nothing before is whole");
}

#[test]
fn overview_covers_the_run_beyond_the_log() {
    let mut rig = with_log(Keep::Last, 10);
    for n in 0..50_000u64 {
        rig.enter(IRQ, n * 10, (n * 10 + 4, n * 10 + 6));
        rig.leave_to(0, n * 10 + 8);
    }
    rig.set_active(false, 500_000);
    let overview = rig.schedule.log.as_ref().expect("a log").overview();
    let of = |who| {
        let lane = overview.lanes().iter().find(|lane| lane.who == who).expect("it ran");
        let sum = |part: fn(&Stretch) -> u64| lane.stretches.iter().map(part).sum::<u64>();
        (sum(|s| s.busy_ns), sum(|s| s.begun))
    };
    assert_eq!(of(Who::Handler(IRQ)), (200_000_000, 50_000));
    assert_eq!(of(Who::Thread(0)), (300_000_000, 50_001));
}
