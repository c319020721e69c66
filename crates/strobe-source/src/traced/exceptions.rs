//! Nested exceptions from their trace: who runs, and for how long.
//!
//! An entry stacks a handler on what ran, an exit takes it off, and a return states what goes on
//! (ARMv7-M D4.3.2). Packets are lost on real links: what does not fit together is counted, and
//! times that a loss lies in are left out.

use std::collections::BTreeMap;

use crate::traced::totals::TracedException;
use strobe_decode::swo::packet::ExceptionAction;

use super::span::{Lengths, Span, between};

/// A handler that has begun.
#[derive(Debug, Clone, Copy)]
struct Open {
    number: u16,
    /// Time of its own before it was interrupted: at least and at most.
    own: (u64, u64),
    /// When it went on.
    since: Span,
    /// Nothing was lost since it began.
    whole: bool,
    /// It has not ended: nothing was lost since it began or went on.
    sure: bool,
}

impl Open {
    /// It stops for now, or for good.
    fn pause(&mut self, now: Span) {
        let (least, most) = between(self.since, now);
        self.own = (self.own.0.saturating_add(least), self.own.1.saturating_add(most));
    }
}

/// Handlers nest this deep at most: there are no more priorities.
const DEEPEST: usize = 256;

/// Follows exception trace.
#[derive(Debug, Clone, Default)]
pub(super) struct Exceptions {
    open: Vec<Open>,
    /// Whether it is known what is open.
    known: bool,
    /// Nothing was lost since the thread ran: no other handlers than the open ones have begun.
    rooted: bool,
    /// Exception trace is on.
    pub seen: bool,
    /// Packets that nothing explains but wrong bits: the end of what never began or a return to
    /// it, and what never ends, where nothing was lost.
    pub contradictions: u64,
    /// By number, of which ITM has 512.
    totals: Vec<Option<TracedException>>,
    /// Times of each.
    lengths: BTreeMap<u16, Lengths>,
    /// What comes now is not counted, but for this.
    uncounted: Option<TracedException>,
}

impl Exceptions {
    /// The handler that runs: 0 is the thread; `None` where that is not known.
    pub fn current(&self) -> Option<u16> {
        self.known.then(|| self.open.last().map_or(0, |open| open.number))
    }

    /// Packets have been lost.
    pub fn lost(&mut self) {
        (self.known, self.rooted) = (false, false);
        self.open.iter_mut().for_each(|open| (open.whole, open.sure) = (false, false));
    }

    /// From here on handlers are counted or are not; those that have begun are whole in neither
    /// part.
    pub fn cut(&mut self, counted: bool) {
        self.uncounted = (!counted).then(TracedException::default);
        self.open.iter_mut().for_each(|open| open.whole = false);
    }

    pub fn take(&mut self, number: u16, action: ExceptionAction, now: Span) {
        self.seen = true;
        match action {
            ExceptionAction::Entered => self.enter(number, now),
            ExceptionAction::Exited => self.exit(number, now),
            ExceptionAction::Returned => self.go_on(number, now),
        }
        self.known = true;
    }

    pub fn sample(&mut self, number: u16) {
        self.total(number).samples += 1;
    }

    pub fn finish(mut self) -> Vec<TracedException> {
        // What is still open at the end is neither here nor there.
        self.open.clear();
        for (number, lengths) in self.lengths {
            let total = self.totals.get_mut(usize::from(number)).and_then(Option::as_mut);
            let Some(total) = total else { continue };
            (total.timed, total.own, total.shortest, total.longest) = lengths.figures();
            (total.vague, total.at_most) = (lengths.vague, lengths.at_most);
            total.times = lengths.exact;
        }
        self.totals.into_iter().flatten().collect()
    }

    fn total(&mut self, number: u16) -> &mut TracedException {
        if let Some(uncounted) = &mut self.uncounted {
            return uncounted;
        }
        let at = usize::from(number);
        if self.totals.len() <= at {
            self.totals.resize_with(at + 1, || None);
        }
        self.totals[at].get_or_insert_with(|| TracedException { number, ..Default::default() })
    }

    fn enter(&mut self, number: u16, now: Span) {
        if self.open.len() >= DEEPEST {
            self.drop_above(0);
        }
        if let Some(open) = self.open.last_mut() {
            open.pause(now);
        }
        self.open.push(Open { number, own: (0, 0), since: now, whole: true, sure: true });
        // What may have ended behind a loss is in no depth.
        let mut depth = 0;
        for i in (0..self.open.len()).rev() {
            if !self.open[i].sure {
                continue;
            }
            depth += 1;
            let total = self.total(self.open[i].number);
            total.depth = total.depth.max(depth);
        }
        self.total(number).entered += 1;
    }

    fn exit(&mut self, number: u16, now: Span) {
        self.total(number).left += 1;
        let Some(at) = self.open.iter().rposition(|open| open.number == number) else {
            self.total(number).unmatched += 1;
            self.contradictions += u64::from(self.known);
            return;
        };
        self.drop_above(at + 1);
        let Some(mut open) = self.open.pop() else { return };
        open.pause(now);
        if open.whole && self.uncounted.is_none() {
            self.lengths.entry(number).or_default().add(open.own);
        }
        // What was interrupted goes on, or the next handler begins first; either way this one is
        // over.
        if let Some(below) = self.open.last_mut() {
            below.since = now;
        }
    }

    fn go_on(&mut self, number: u16, now: Span) {
        let at = self.open.iter().rposition(|open| open.number == number);
        match (number, at) {
            (0, _) => {
                self.drop_above(0);
                self.rooted = true;
            }
            (_, Some(at)) => {
                self.drop_above(at + 1);
                (self.open[at].since, self.open[at].sure) = (now, true);
            }
            (_, None) => {
                // Its entry was lost, or came before the trace.
                self.contradictions += u64::from(self.rooted);
                self.drop_above(0);
                self.open.push(Open { number, own: (0, 0), since: now, whole: false, sure: true });
            }
        }
    }

    /// Handlers from there on have ended without a word.
    fn drop_above(&mut self, keep: usize) {
        for open in self.open.split_off(keep.min(self.open.len())) {
            self.total(open.number).unmatched += 1;
            self.contradictions += u64::from(open.whole);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::span::OPEN;
    use super::*;
    use ExceptionAction::*;

    fn after(events: &[(u16, ExceptionAction, u64)]) -> Vec<TracedException> {
        let mut all = Exceptions::default();
        events.iter().for_each(|&(number, action, now)| all.take(number, action, (now, now)));
        all.finish()
    }

    #[test]
    fn a_handler_pays_only_for_itself() {
        let all = after(&[
            (15, Entered, 100),
            (20, Entered, 130),
            (20, Exited, 150),
            (15, Returned, 160),
            (15, Exited, 200),
            (0, Returned, 210),
        ]);
        let times: Vec<_> = all.iter().map(|e| (e.number, e.own, e.depth, e.unmatched)).collect();
        assert_eq!(times, [(15, 70, 2, 0), (20, 20, 1, 0)]);
    }

    #[test]
    fn tail_chaining_has_no_return_in_between() {
        let all = after(&[(15, Entered, 0), (15, Exited, 10), (16, Entered, 16), (16, Exited, 20)]);
        let own: Vec<u64> = all.iter().map(|e| e.own).collect();
        assert_eq!(own, [10, 4]);
    }

    #[test]
    fn unmatched_events_are_counted_but_not_timed() {
        let all =
            after(&[(15, Exited, 10), (16, Entered, 20), (0, Returned, 30), (17, Returned, 40)]);
        let counts: Vec<_> = all.iter().map(|e| (e.number, e.unmatched, e.timed)).collect();
        assert_eq!(counts, [(15, 1, 0), (16, 1, 0)]);
    }

    /// Only wrong bits explain them, unless packets are missing.
    #[test]
    fn impossible_events_count_as_contradictions() {
        let mut all = Exceptions::default();
        all.take(15, Exited, (0, 0));
        assert_eq!(all.contradictions, 0, "it began before the trace");
        all.take(0, Returned, (1, 1));
        all.take(47, Exited, (10, 10));
        assert_eq!(all.contradictions, 1);
        all.take(16, Entered, (20, 20));
        all.take(0, Returned, (30, 30));
        assert_eq!(all.contradictions, 2);
        all.take(16, Entered, (40, 40));
        all.lost();
        all.take(0, Returned, (50, 50));
        all.lost();
        all.take(47, Exited, (60, 60));
        assert_eq!(all.contradictions, 2);
    }

    #[test]
    fn a_return_to_what_never_began_cannot_be() {
        let mut all = Exceptions::default();
        let nested = [(20, Entered), (20, Exited), (15, Returned), (15, Exited), (0, Returned)];
        nested.into_iter().for_each(|(number, action)| all.take(number, action, (1, 1)));
        assert_eq!(all.contradictions, 0, "it began before the trace");
        let wrong = [(15, Entered), (15, Exited), (16, Returned)];
        wrong.into_iter().for_each(|(number, action)| all.take(number, action, (2, 2)));
        assert_eq!(all.contradictions, 1);
        all.lost();
        all.take(17, Returned, (3, 3));
        assert_eq!(all.contradictions, 1);
    }

    /// Ends that were lost leave handlers open, and the next ones do not interrupt them.
    #[test]
    fn possibly_ended_handlers_do_not_count_as_depth() {
        let mut all = Exceptions::default();
        for now in 0..5 {
            all.take(15, Entered, (now, now));
            all.take(16, Entered, (now, now));
            all.lost();
        }
        // One that goes on is open.
        all.take(15, Returned, (9, 9));
        all.take(17, Entered, (9, 9));
        let depths: Vec<_> = all.finish().iter().map(|e| (e.number, e.depth)).collect();
        assert_eq!(depths, [(15, 2), (16, 1), (17, 1)]);
    }

    #[test]
    fn a_loss_spoils_the_times_around_it() {
        let mut all = Exceptions::default();
        all.take(15, Entered, (0, 0));
        all.lost();
        assert_eq!(all.current(), None);
        all.take(15, Exited, (50, 50));
        assert_eq!(all.current(), Some(0));
        let all = all.finish();
        assert_eq!((all[0].entered, all[0].left, all[0].timed), (1, 1, 0));
    }

    /// Where the stream ends, or has no timestamps for long, an end has no time.
    #[test]
    fn exits_without_later_timestamp_have_no_length() {
        let mut all = Exceptions::default();
        all.take(15, Entered, (0, 0));
        all.take(15, Exited, (300, 300));
        all.take(15, Entered, (500, 500));
        all.take(15, Exited, (500, OPEN));
        all.take(0, Returned, (500, OPEN));
        let all = all.finish();
        let e = &all[0];
        assert_eq!((e.entered, e.left, e.timed, e.vague), (2, 2, 1, 0));
        assert_eq!((e.shortest, e.longest, e.at_most), (300, 300, 300));
    }

    #[test]
    fn a_shared_timestamp_gives_bounds() {
        let mut all = Exceptions::default();
        all.take(15, Entered, (100, 100));
        all.take(15, Exited, (100, 180));
        all.take(0, Returned, (100, 180));
        all.take(15, Entered, (200, 200));
        all.take(15, Exited, (230, 230));
        let all = all.finish();
        let e = &all[0];
        assert_eq!((e.timed, e.own, e.vague, e.at_most), (1, 30, 1, 80));
    }
}
