//! Orbuculum's frames around the bytes of a pin: a link that takes them off another one.
//!
//! Whether there are any is found out from the first bytes, unless somebody has said so. Until then
//! these are held back, for a quarter of a second at most.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use strobe_decode::container::Note;
use strobe_decode::orbflow::{Decoder, ITM, Sink, looks_like};

use super::link::{Error, Link, ReadOutcome};

/// How long first bytes are held back.
const PATIENCE: Duration = Duration::from_millis(250);
/// Bytes after which there should have been frames.
const HOPELESS: u64 = 1 << 14;

/// A link without the frames of the one that it reads.
pub struct Orbflow {
    link: Box<dyn Link>,
    what: String,
    state: State,
    /// What the link brings, before it is looked at.
    block: Vec<u8>,
    found: Found,
}

enum State {
    /// Nobody knows yet; the first bytes came then.
    Unknown {
        first: Vec<u8>,
        since: Instant,
    },
    Raw,
    Frames(Decoder),
}

/// What frames had, in its order.
struct Found {
    tag: u8,
    others: [bool; 256],
    parts: VecDeque<Part>,
    /// The other link's answer, which comes after all parts.
    then: Option<Result<ReadOutcome, Error>>,
}

enum Part {
    Bytes(Vec<u8>),
    Damaged {
        frames: u64,
        bytes: u64,
    },
    /// Frames of another tag, for the first time.
    Other(u8),
}

impl Sink for Found {
    fn frame(&mut self, tag: u8, data: &[u8]) {
        if tag != self.tag {
            if !std::mem::replace(&mut self.others[usize::from(tag)], true) {
                self.parts.push_back(Part::Other(tag));
            }
        } else if let Some(Part::Bytes(bytes)) = self.parts.back_mut() {
            bytes.extend(data);
        } else {
            self.parts.push_back(Part::Bytes(data.to_vec()));
        }
    }

    fn damaged(&mut self, more: u64) {
        if let Some(Part::Damaged { frames, bytes }) = self.parts.back_mut() {
            *frames += 1;
            *bytes += more;
        } else {
            self.parts.push_back(Part::Damaged { frames: 1, bytes: more });
        }
    }
}

impl Found {
    /// Puts bytes into the buffer up to something else, which it gives.
    fn next(&mut self, into: &mut Vec<u8>) -> Option<Result<ReadOutcome, Error>> {
        let mut any = false;
        while let Some(part) = self.parts.pop_front() {
            let note = match part {
                Part::Bytes(bytes) => {
                    any = true;
                    into.extend(bytes);
                    continue;
                }
                Part::Damaged { frames, bytes } => {
                    let frames =
                        if frames == 1 { "a frame".to_owned() } else { format!("{frames} frames") };
                    Note::Gap { why: format!("{frames} of orbuculum came damaged, {bytes} bytes") }
                }
                Part::Other(tag) => Note::Text {
                    text: format!(
                        "there are frames with tag {tag}, which are left out; those with tag {} \
                         are recorded",
                        self.tag
                    ),
                },
            };
            return Some(Ok(ReadOutcome::Note(note)));
        }
        match self.then.take() {
            Some(Ok(ReadOutcome::Bytes | ReadOutcome::Nothing)) | None => {
                any.then_some(Ok(ReadOutcome::Bytes))
            }
            other => other,
        }
    }
}

impl Orbflow {
    /// Reads from `link`, which is called `what` in errors; takes frames off if there are any.
    pub fn detect(link: Box<dyn Link>, what: impl Into<String>) -> Self {
        let state = State::Unknown { first: Vec::new(), since: Instant::now() };
        Orbflow::new(link, what.into(), state, ITM)
    }

    /// Reads frames from `link`, of which those with this tag are the pin's.
    pub fn with_tag(link: Box<dyn Link>, what: impl Into<String>, tag: u8) -> Self {
        Orbflow::new(link, what.into(), State::Frames(Decoder::new()), tag)
    }

    fn new(link: Box<dyn Link>, what: String, state: State, tag: u8) -> Self {
        let found = Found { tag, others: [false; 256], parts: VecDeque::new(), then: None };
        Orbflow { link, what, state, block: Vec::new(), found }
    }

    /// Takes what has come, by what it is or may be.
    fn take(&mut self, came: &Result<ReadOutcome, Error>) {
        if let State::Unknown { first, since } = &mut self.state {
            if first.is_empty() {
                *since = Instant::now();
            }
            first.append(&mut self.block);
            let over = !matches!(came, Ok(ReadOutcome::Bytes | ReadOutcome::Nothing))
                || since.elapsed() >= PATIENCE;
            let frames = looks_like(first).or(over.then(|| is_one_frame(first)));
            match frames.filter(|_| !first.is_empty()) {
                None => return,
                Some(true) => {
                    self.block = std::mem::take(first);
                    self.state = State::Frames(Decoder::new());
                }
                Some(false) => {
                    self.found.parts.push_back(Part::Bytes(std::mem::take(first)));
                    self.state = State::Raw;
                }
            }
        }
        if let State::Frames(decoder) = &mut self.state {
            decoder.push(&self.block, &mut self.found);
            self.block.clear();
            if !matches!(
                came,
                Ok(ReadOutcome::Bytes
                    | ReadOutcome::Nothing
                    | ReadOutcome::Note(Note::Text { .. }))
            ) {
                decoder.gap(&mut self.found);
            }
        }
    }

    /// Whether next to nothing of what has come is a frame: by chance there is one among raw bytes
    /// now and then.
    fn hopeless(&self) -> bool {
        let State::Frames(decoder) = &self.state else { return false };
        let stats = decoder.stats();
        stats.bytes > HOPELESS && (stats.data_bytes + stats.overhead_bytes) * 16 < stats.bytes
    }
}

/// What may be a single frame so far: by chance one in 256 is sound, one in 65536 with the tag of
/// the ITM.
fn is_one_frame(bytes: &[u8]) -> bool {
    struct One(bool);
    impl Sink for One {
        fn frame(&mut self, tag: u8, _: &[u8]) {
            self.0 = tag == ITM;
        }
        fn damaged(&mut self, _: u64) {}
    }
    let mut one = One(false);
    Decoder::new().push(bytes, &mut one);
    one.0
}

impl Link for Orbflow {
    fn read(&mut self, into: &mut Vec<u8>, timeout: Duration) -> Result<ReadOutcome, Error> {
        if let State::Raw = self.state
            && self.found.parts.is_empty()
            && self.found.then.is_none()
        {
            return self.link.read(into, timeout);
        }
        if let Some(came) = self.found.next(into) {
            return came;
        }
        let came = self.link.read(&mut self.block, timeout);
        self.take(&came);
        if self.hopeless() {
            return Err(Error::Speaks {
                what: self.what.clone(),
                found: "no frames of orbuculum",
                advice: "if it sends the pin's bytes as they are, connect with tcp:",
            });
        }
        self.found.then = Some(came);
        self.found.next(into).unwrap_or(Ok(ReadOutcome::Nothing))
    }

    fn elapsed(&self) -> Option<Duration> {
        self.link.elapsed()
    }

    fn instead(&self) -> Option<String> {
        let all = (0..=u8::MAX).zip(self.found.others);
        let tags: Vec<String> =
            all.filter(|(_, came)| *came).map(|(tag, _)| tag.to_string()).collect();
        let (last, before) = tags.split_last()?;
        let tags = match before {
            [] => format!("tag {last}"),
            before => format!("tags {} and {last}", before.join(", ")),
        };
        let wanted = self.found.tag;
        Some(format!("orbuculum's frames have {tags}, and those with tag {wanted} no byte"))
    }

    fn close(&mut self) -> Result<Option<Note>, Error> {
        self.link.close()
    }
}
