//! Holds packets back until it is known whether they can be believed.
//!
//! Packets have no check sum. A wrong byte shows only where what it leads to is no packet, and by
//! then some wrong packets have been read: so the last ones before an undecodable byte are in doubt
//! as well as those after it, until a synchronisation or a long run without another such byte. On
//! random bytes two packets of three are followed by another one, so wrong packets betray
//! themselves within a few. A local timestamp beyond what its counter holds is as wrong. What
//! cannot be seen here is another wrong bit within a payload: whoever sees [`Stats::damage`] must
//! expect those too.

use super::itm;
use super::packet::{Raw, SYNC};

/// Packets before an undecodable byte that are in doubt, and packets after it without another one
/// that end the doubt.
const RUN: usize = 64;

/// The first packets of such a run stay in doubt: they may be the rest of the wrong ones.
const GUARD: usize = 16;

/// Length of a synchronisation no part of which was taken for another packet.
const WHOLE_SYNC: u8 = 6;

/// Receives packets of which it is known whether they can be believed.
pub trait Sink: itm::Sink {
    /// A packet that may be wrong.
    fn doubtful(&mut self, raw: Raw);
}

/// Statistics of the doubt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets in doubt.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Places in the midst of the stream where bytes must be wrong. Neither a beginning nor an end
    /// within a packet is one, nor a known gap.
    pub damage: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Nothing speaks for or against what was read so far.
    #[default]
    Beginning,
    /// In step.
    Sound,
    /// Perhaps out of step.
    Doubt,
}

/// The packets that are held back, and why.
#[derive(Debug, Clone)]
pub(super) struct Doubt {
    held: [Raw; RUN],
    /// The oldest of them, and how many there are.
    first: usize,
    count: usize,
    state: State,
    stats: Stats,
}

impl Default for Doubt {
    fn default() -> Self {
        let none = Raw { at: 0, header: SYNC, length: 0, page: 0, payload: 0 };
        let (state, stats) = (State::default(), Stats::default());
        Doubt { held: [none; RUN], first: 0, count: 0, state, stats }
    }
}

impl Doubt {
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Takes packets and emits them to `out`, later.
    pub fn screen<S: Sink>(&mut self, out: S) -> Screen<'_, S> {
        Screen { doubt: self, out }
    }

    fn push(&mut self, raw: Raw) {
        self.held[(self.first + self.count) % RUN] = raw;
        self.count += 1;
    }

    fn pop(&mut self) -> Raw {
        let raw = self.held[self.first];
        self.first = (self.first + 1) % RUN;
        self.count -= 1;
        raw
    }

    /// Emits packets that can be believed.
    fn believe<S: Sink>(&mut self, out: &mut S) {
        while self.count > 0 {
            let raw = self.pop();
            out.packet(raw);
        }
    }

    /// Emits the first `n` packets as doubtful.
    fn doubt<S: Sink>(&mut self, n: usize, out: &mut S) {
        for _ in 0..n.min(self.count) {
            let raw = self.pop();
            self.stats.packets += 1;
            self.stats.bytes += u64::from(raw.length);
            out.doubtful(raw);
        }
    }

    /// What is held has no sequel: nothing that follows can speak for or against it.
    fn settle<S: Sink>(&mut self, out: &mut S) {
        match self.state {
            State::Doubt => self.doubt(RUN, out),
            State::Beginning | State::Sound => self.believe(out),
        }
    }

    /// The oldest packet leaves when one more comes, without an undecodable byte since.
    #[inline]
    fn take<S: Sink>(&mut self, raw: Raw, out: &mut S) {
        if raw.header == SYNC || self.count < RUN || self.state != State::Sound {
            return self.take_otherwise(raw, out);
        }
        let oldest = std::mem::replace(&mut self.held[self.first % RUN], raw);
        self.first = (self.first + 1) % RUN;
        out.packet(oldest);
    }

    #[inline(never)]
    fn take_otherwise<S: Sink>(&mut self, raw: Raw, out: &mut S) {
        if raw.header == SYNC {
            self.synchronised(&raw, out);
            return out.packet(raw);
        }
        if self.count == RUN {
            // Without an undecodable byte since.
            if self.state == State::Doubt {
                self.doubt(GUARD, out);
            }
            self.state = State::Sound;
            if self.count == RUN {
                let oldest = self.pop();
                out.packet(oldest);
            }
        }
        self.push(raw);
    }

    /// A packet that cannot be: it is as wrong as those before it may be.
    #[cold]
    fn push_last<S: Sink>(&mut self, raw: Raw, out: &mut S) {
        self.doubt(RUN, out);
        self.push(raw);
        self.doubt(1, out);
    }

    /// A synchronisation ends all doubt of what follows. What went before is right if it ended
    /// where the synchronisation begins, and wrong if it took a part of it.
    fn synchronised<S: Sink>(&mut self, raw: &Raw, out: &mut S) {
        if raw.length < WHOLE_SYNC {
            self.suspect();
        }
        self.settle(out);
        self.state = State::Sound;
    }

    /// What was read last may be wrong.
    fn suspect(&mut self) {
        self.stats.damage += u64::from(self.state == State::Sound);
        self.state = State::Doubt;
    }
}

/// A [`Doubt`] with its sink.
pub(super) struct Screen<'a, S> {
    doubt: &'a mut Doubt,
    out: S,
}

impl<S: Sink> Screen<'_, S> {
    /// The stream ends here, or goes on after a gap: where its packets are cut, they are not wrong.
    pub fn cut(&mut self) {
        self.doubt.settle(&mut self.out);
        self.doubt.state = State::Doubt;
    }
}

impl<S: Sink> itm::Sink for Screen<'_, S> {
    #[inline]
    fn packet(&mut self, raw: Raw) {
        if raw.is_impossible() {
            self.doubt.suspect();
            self.doubt.push_last(raw, &mut self.out);
            return;
        }
        self.doubt.take(raw, &mut self.out);
    }

    fn undecodable(&mut self, at: u64, bytes: u64) {
        self.doubt.suspect();
        self.doubt.doubt(RUN, &mut self.out);
        self.out.undecodable(at, bytes);
    }
}
