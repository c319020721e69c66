//! The one way in for the bytes of a stream, whatever brings them: recognises what they are, then
//! hands them to whoever reads that.
//!
//! A report of a file, a recording that grows and a live view see the same bytes in pieces of other
//! sizes; what they make of them must not depend on that. So the first bytes are held back until
//! there are enough to decide, with the places where some are missing.

use strobe_decode::container::{Header, PayloadKind};
use strobe_decode::swo::reader::{self, Hint, Reader};
use strobe_decode::swo::timeline::Events;
use strobe_decode::{kit, orbflow};

use super::Accumulator;

/// Bytes that decide what the rest is.
const BEGINNING: usize = 1 << 16;

/// What the bytes of a stream are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// Packets of a trace pin, with frames of the trace port around them or without.
    Pin,
    /// Frames of the kit for the target.
    Kit,
    /// Bytes of one channel.
    Channel,
}

/// Who takes what is in a stream: packets of a pin as [`Events`], the rest as bytes.
pub trait Listener: Events {
    /// It is known what the bytes are. They follow.
    fn begin(&mut self, payload: Payload);
    /// Frames of the kit.
    fn kit_bytes(&mut self, bytes: &[u8]);
    /// Such bytes are missing here.
    fn kit_gap(&mut self);
    /// Bytes of a channel.
    fn channel_bytes(&mut self, bytes: &[u8]);
    /// Such bytes are missing here.
    fn channel_gap(&mut self);
}

#[derive(Debug, Clone)]
enum State {
    /// Not known yet.
    Unknown,
    Pin(Box<Reader>),
    Kit,
    Channel,
}

/// Takes bytes.
#[derive(Debug, Clone)]
pub struct Intake {
    state: State,
    hint: Hint,
    is_channel: bool,
    /// The listener knows what the bytes are.
    begun: bool,
    /// Orbuculum's frames around all of it, if there are any.
    flow: Option<orbflow::Decoder>,
    /// The first bytes, until then, and where among them some are missing.
    beginning: Vec<u8>,
    gaps: Vec<usize>,
}

impl Intake {
    /// A stream of which this is known: how it is framed, and what it carries.
    pub fn new(hint: Hint, carries: PayloadKind) -> Self {
        let state = match carries {
            PayloadKind::Kit => State::Kit,
            PayloadKind::Channel | PayloadKind::Unspecified | PayloadKind::Unknown => {
                State::Unknown
            }
        };
        Intake {
            state,
            hint,
            is_channel: carries == PayloadKind::Channel,
            begun: false,
            flow: None,
            beginning: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// A stream with its recording's header, if any; `framing` is the user's choice.
    pub fn of(header: Option<&Header>, framing: Option<Hint>) -> Self {
        let settings = header.and_then(|header| header.settings.as_ref());
        let hint = match (framing, settings) {
            (Some(hint), _) => hint,
            (None, Some(settings)) if settings.formatter => {
                Hint::Frames(Some(settings.bus_id.value()))
            }
            (None, Some(_)) => Hint::Bare,
            (None, None) => Hint::Unknown,
        };
        Intake::new(hint, header.map_or(PayloadKind::Unspecified, |header| header.carries))
    }

    /// The bytes are frames of the kit, as the user or the recording states.
    pub fn assume_kit(&mut self) {
        self.state = State::Kit;
    }

    /// What the bytes are, once that is known.
    pub fn payload(&self) -> Option<Payload> {
        match self.state {
            State::Unknown => None,
            State::Pin(_) => Some(Payload::Pin),
            State::Kit => Some(Payload::Kit),
            State::Channel => Some(Payload::Channel),
        }
    }

    /// Whether bytes are held back.
    pub fn holds_back(&self) -> bool {
        !self.begun && !self.beginning.is_empty()
    }

    /// What reads the packets of a pin.
    pub fn reader(&self) -> Option<&Reader> {
        match &self.state {
            State::Pin(reader) => Some(reader),
            State::Unknown | State::Kit | State::Channel => None,
        }
    }

    /// More bytes.
    pub fn push<L: Listener>(&mut self, bytes: &[u8], to: &mut L) {
        if self.begun {
            return self.unwrap(bytes, to);
        }
        self.beginning.extend_from_slice(bytes);
        let is_known = !matches!(self.state, State::Unknown) || self.hint == Hint::Bare;
        if is_known || self.beginning.len() >= BEGINNING {
            self.begin(to);
        }
    }

    /// Bytes are missing here.
    pub fn gap<L: Listener>(&mut self, to: &mut L) {
        let at = self.beginning.len();
        if self.begun {
            self.gap_in_frames(to);
            self.skip(to);
        } else if at > 0 && self.gaps.last() != Some(&at) {
            self.gaps.push(at);
        }
    }

    /// No more will come.
    pub fn finish<L: Listener>(&mut self, to: &mut L) {
        if !self.begun {
            self.begin(to);
        }
        self.gap_in_frames(to);
        if let State::Pin(reader) = &mut self.state {
            reader.finish(to);
        }
    }

    /// Enough has come to decide, or all there is.
    fn begin<L: Listener>(&mut self, to: &mut L) {
        let mut bytes = std::mem::take(&mut self.beginning);
        let mut gaps = std::mem::take(&mut self.gaps);
        let may_be_flow = matches!(self.state, State::Unknown) && self.hint == Hint::Unknown;
        if may_be_flow && !self.is_channel && orbflow::looks_like(&bytes) == Some(true) {
            let mut decoder = orbflow::Decoder::new();
            (bytes, gaps) = unwrapped(&mut decoder, &bytes, &gaps);
            self.flow = Some(decoder);
        }
        if let State::Unknown = self.state {
            self.state = self.recognise(&bytes, &gaps);
        }
        self.begun = true;
        to.begin(self.payload().unwrap_or(Payload::Pin));
        self.pass(Parts { bytes, gaps }, to);
    }

    /// What bytes are. Where some are missing, what is framed loses its step: a part without such a
    /// place shows most.
    fn recognise(&self, bytes: &[u8], gaps: &[usize]) -> State {
        if self.hint == Hint::Unknown && kit::is_likely(bytes) {
            State::Kit
        } else if self.is_channel {
            State::Channel
        } else {
            // Where the first frame begins counts from the first byte.
            let first = gaps.first().map_or(bytes.len(), |gap| *gap);
            let part = if first * 2 >= bytes.len() { &bytes[..first] } else { bytes };
            State::Pin(Box::new(Reader::new(reader::framing(part, self.hint))))
        }
    }

    /// Bytes with the frames around them, if there are any.
    fn unwrap<L: Listener>(&mut self, bytes: &[u8], to: &mut L) {
        let Some(decoder) = &mut self.flow else { return self.take(bytes, to) };
        let mut parts = Parts::default();
        decoder.push(bytes, &mut parts);
        self.pass(parts, to);
    }

    /// A frame that has begun does not end.
    fn gap_in_frames<L: Listener>(&mut self, to: &mut L) {
        if let Some(decoder) = &mut self.flow {
            let mut parts = Parts::default();
            decoder.gap(&mut parts);
            self.pass(parts, to);
        }
    }

    fn pass<L: Listener>(&mut self, parts: Parts, to: &mut L) {
        let Parts { bytes, gaps } = parts;
        let mut from = 0;
        for gap in gaps {
            self.take(&bytes[from..gap], to);
            self.skip(to);
            from = gap;
        }
        self.take(&bytes[from..], to);
    }

    fn take<L: Listener>(&mut self, bytes: &[u8], to: &mut L) {
        match &mut self.state {
            State::Pin(reader) => reader.push(bytes, to),
            State::Channel => to.channel_bytes(bytes),
            State::Kit | State::Unknown => to.kit_bytes(bytes),
        }
    }

    fn skip<L: Listener>(&mut self, to: &mut L) {
        match &mut self.state {
            State::Pin(reader) => reader.gap(to),
            State::Channel => to.channel_gap(),
            State::Kit | State::Unknown => to.kit_gap(),
        }
    }
}

/// What orbuculum's frames of the ITM have, and where among it some is missing.
#[derive(Default)]
struct Parts {
    bytes: Vec<u8>,
    gaps: Vec<usize>,
}

impl orbflow::Sink for Parts {
    fn frame(&mut self, tag: u8, data: &[u8]) {
        if tag == orbflow::ITM {
            self.bytes.extend_from_slice(data);
        }
    }

    fn damaged(&mut self, _: u64) {
        self.gaps.push(self.bytes.len());
    }
}

/// Bytes without the frames around them, and where some are missing.
fn unwrapped(
    decoder: &mut orbflow::Decoder,
    bytes: &[u8],
    gaps: &[usize],
) -> (Vec<u8>, Vec<usize>) {
    let mut parts = Parts::default();
    let mut from = 0;
    for gap in gaps {
        decoder.push(&bytes[from..*gap], &mut parts);
        decoder.gap(&mut parts);
        parts.gaps.push(parts.bytes.len());
        from = *gap;
    }
    decoder.push(&bytes[from..], &mut parts);
    parts.gaps.dedup();
    (parts.bytes, parts.gaps)
}

impl Listener for Accumulator {
    fn begin(&mut self, _: Payload) {}

    fn kit_bytes(&mut self, bytes: &[u8]) {
        Accumulator::kit_bytes(self, bytes);
    }

    fn kit_gap(&mut self) {
        Accumulator::kit_gap(self);
    }

    fn channel_bytes(&mut self, bytes: &[u8]) {
        Accumulator::channel_bytes(self, bytes);
    }

    fn channel_gap(&mut self) {
        Accumulator::channel_gap(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use strobe_synth::kit::{frame, head};
    use strobe_synth::swo::{frames, mixed};

    /// What is made of bytes that come in pieces of these sizes, with a gap behind so many of them.
    fn after(bytes: &[u8], mut sizes: impl Iterator<Item = usize>, gap: Option<usize>) -> String {
        let mut accumulator = Accumulator::default();
        let mut intake = Intake::of(None, None);
        let (before, behind) = bytes.split_at(gap.unwrap_or(bytes.len()));
        for mut part in [before, behind] {
            while !part.is_empty() {
                let (piece, rest) = part.split_at(sizes.next().unwrap_or(1).clamp(1, part.len()));
                intake.push(piece, &mut accumulator);
                part = rest;
            }
            intake.gap(&mut accumulator);
        }
        intake.finish(&mut accumulator);
        let settings = super::super::Settings::default();
        let record = accumulator.record(intake.reader(), None, &settings).expect("it balances");
        format!("{:?} {:?}", intake.payload(), record)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Bare packets, packets in frames of the port or of orbuculum, and the kit's frames:
        /// whatever the pieces, the result is one.
        #[test]
        fn pieces_make_no_difference(
            seed: u64,
            packets in 1usize..30_000,
            kind in 0..4,
            sizes in proptest::collection::vec(1usize..9000, 1..9),
            gap in 0usize..3000,
        ) {
            let bytes = match kind {
                0 => mixed(packets, seed).bytes,
                1 => frames(&[(1, mixed(packets, seed).bytes)], 50),
                2 => strobe_synth::orbflow::frames(1, &mixed(packets, seed).bytes, 60),
                _ => {
                    let record = |n| frame(&[head(1, 2, n), u32::from(n)]);
                    (0..packets as u16).flat_map(record).collect()
                }
            };
            let gap = (gap > 0 && gap < bytes.len()).then_some(gap);
            let whole = after(&bytes, std::iter::repeat(usize::MAX), gap);
            prop_assert_eq!(after(&bytes, sizes.into_iter().cycle(), gap), whole);
        }
    }

    /// A file of orbuculum's frames gives what the bytes in them give.
    #[test]
    fn frames_of_orbuculum_are_taken_off() {
        let record = |bytes: &[u8]| {
            let mut accumulator = Accumulator::default();
            let mut intake = Intake::of(None, None);
            intake.push(bytes, &mut accumulator);
            intake.finish(&mut accumulator);
            let settings = super::super::Settings::default();
            accumulator.record(intake.reader(), None, &settings).expect("it balances")
        };
        for seed in 0..8 {
            let plain = mixed(20_000, seed).bytes;
            let framed = strobe_synth::orbflow::frames(1, &plain, 200);
            assert_eq!(record(&framed), record(&plain));
        }
    }

    /// What is missing behind the last timestamp took time as well.
    #[test]
    fn a_gap_at_the_end_is_a_loss() {
        let mut stream = strobe_synth::swo::Stream::new();
        stream.sync();
        for _ in 0..300 {
            stream.pc_sample(0x0800_0100).local_timestamp(64, 0);
        }
        let framed = strobe_synth::orbflow::frames(1, &stream.bytes, 60);
        let unsure = |bytes: &[u8]| {
            let mut accumulator = Accumulator::default();
            let mut intake = Intake::of(None, None);
            intake.push(bytes, &mut accumulator);
            intake.finish(&mut accumulator);
            let settings = super::super::Settings::default();
            let record = accumulator.record(intake.reader(), None, &settings).expect("it balances");
            Some(record.traced.times.unsure)
        };
        assert_eq!(unsure(&framed), Some(0));
        assert_eq!(unsure(&framed[..framed.len() - 4]), Some(1));
    }

    /// Half a packet before a gap does not take its other half from behind it, also before it is
    /// known whether there are frames.
    #[test]
    fn a_gap_among_the_first_bytes_is_one() {
        let mut stream = strobe_synth::swo::Stream::new();
        stream.pc_sample(0x0800_0100).pc_sample(0x0800_0102);
        let mut intake = Intake::of(None, None);
        let mut accumulator = Accumulator::default();
        intake.push(&stream.bytes[..7], &mut accumulator);
        intake.gap(&mut accumulator);
        assert!(intake.holds_back());
        intake.push(&stream.bytes, &mut accumulator);
        intake.finish(&mut accumulator);
        let reader = intake.reader().expect("it is a pin");
        // Behind a gap packets are in doubt until there is a synchronisation, or many of them.
        let seen = (reader.packets().undecodable_bytes, reader.doubt().packets);
        assert_eq!((accumulator.samples(), seen), (1, (2, 2)));
    }
}
