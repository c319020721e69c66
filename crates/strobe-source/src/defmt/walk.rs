//! Walks through a frame by the shapes of its texts, and finds out whether the decoder may see it.

use super::Refused;
use super::shape::{Hint, Item, Shape};

/// Texts in texts.
const DEEPEST: usize = 48;
/// What an argument takes at least to be kept and shown, in characters.
const COST: usize = 16;
/// What a frame may cost, and how much more for each of its bytes.
const MOST: usize = 4 << 10;
const MOST_FOR_BYTE: usize = 256;
/// Seconds up to the end of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;

/// A text with its shapes, as far as it has any.
#[derive(Debug, Clone)]
pub(super) struct Text {
    /// Of the whole.
    pub whole: Option<Shape>,
    /// Of each variant, if it is that of an enumeration.
    pub variants: Vec<Option<Shape>>,
    /// It is that of a message, and not a part of one.
    pub is_message: bool,
    /// It has a level.
    pub has_level: bool,
}

impl Text {
    pub fn new(text: &str, is_message: bool, has_level: bool) -> Text {
        // The decoder takes such a variant for a byte of a string.
        let variant = |text| if text == "{=u8}" { None } else { Shape::of(text) };
        let is_enum = text.contains('|');
        let variants = if is_enum { text.split('|').map(variant).collect() } else { Vec::new() };
        Text { whole: Shape::of(text), variants, is_message, has_level }
    }
}

/// Finds texts by number.
pub(super) trait Texts {
    fn text(&self, number: u16) -> Option<&Text>;
    /// The shape of each message's timestamp.
    fn timestamp(&self) -> Option<&Option<Shape>>;
}

/// A frame that the decoder may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Walked {
    /// Whether it can show the timestamp.
    pub can_show_time: bool,
    /// Whether it can show the message.
    pub can_show_text: bool,
    /// Bytes of the frame; there may be others behind it.
    pub bytes: usize,
}

/// Walks through the frame at the beginning of `bytes`.
pub(super) fn walk(texts: &impl Texts, bytes: &[u8]) -> Result<Walked, Refused> {
    let budget = MOST.saturating_add(bytes.len().saturating_mul(MOST_FOR_BYTE));
    let mut walk = Walk { texts, rest: bytes, budget };
    let number = walk.number()?;
    let message = texts.text(number).filter(|text| text.is_message).ok_or(Refused::Malformed)?;
    let time = match texts.timestamp() {
        Some(shape) => walk.shape(shape.as_ref(), DEEPEST)?,
        None => Sum::default(),
    };
    let text = walk.shape(message.whole.as_ref(), DEEPEST)?;
    Ok(Walked {
        can_show_time: !time.is_too_much,
        can_show_text: !text.is_too_much,
        bytes: bytes.len() - walk.rest.len(),
    })
}

/// What is in an argument, those in it included.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    /// What showing it costs.
    cost: usize,
    has_isize: bool,
    has_bytes: bool,
    greatest: u64,
    /// It has something that the decoder cannot show as it should.
    is_too_much: bool,
}

impl Sum {
    fn join(&mut self, other: Sum) {
        self.cost = self.cost.saturating_add(other.cost);
        self.has_isize |= other.has_isize;
        self.has_bytes |= other.has_bytes;
        self.greatest = self.greatest.max(other.greatest);
        self.is_too_much |= other.is_too_much;
    }

    /// How something is shown holds for all that is in it.
    fn shown(mut self, hint: Hint) -> Sum {
        self.is_too_much |= match hint {
            Hint::Seconds => self.greatest > LAST_SECOND,
            Hint::Milliseconds => self.greatest / 1000 > LAST_SECOND,
            // It has hexadecimal digits for each type but this.
            Hint::Hexadecimal => self.has_isize,
            // Its reader of CBOR recurses, and panics on an empty string of unknown length.
            Hint::Cbor => self.has_bytes,
            Hint::Other => false,
        };
        self
    }
}

struct Walk<'t, 'b, T> {
    texts: &'t T,
    rest: &'b [u8],
    budget: usize,
}

impl<'t, 'b, T: Texts> Walk<'t, 'b, T> {
    fn take(&mut self, bytes: usize) -> Result<&'b [u8], Refused> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or(Refused::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u16, Refused> {
        Ok(self.unsigned(2)? as u16)
    }

    /// The lower 64 bits of a number.
    fn unsigned(&mut self, bytes: usize) -> Result<u64, Refused> {
        let taken = self.take(bytes)?;
        Ok(taken.iter().take(8).rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    fn length(&mut self) -> Result<usize, Refused> {
        usize::try_from(self.unsigned(4)?).map_err(|_| Refused::Malformed)
    }

    fn spend(&mut self, cost: usize) -> Result<(), Refused> {
        self.budget = self.budget.checked_sub(cost).ok_or(Refused::Malformed)?;
        Ok(())
    }

    /// A text that is part of another.
    fn part(&mut self) -> Result<&'t Text, Refused> {
        let number = self.number()?;
        self.texts.text(number).filter(|text| !text.has_level).ok_or(Refused::Malformed)
    }

    /// Which variant it is: their number decides how many bytes encode it.
    fn variant(&mut self, text: &'t Text) -> Result<Option<&'t Shape>, Refused> {
        let Some(last) = text.variants.len().checked_sub(1) else { return Ok(text.whole.as_ref()) };
        let bytes = if last <= 0xff { 1 } else { 2 };
        let which = self.unsigned(bytes)? as usize;
        text.variants.get(which).map(Option::as_ref).ok_or(Refused::Malformed)
    }

    fn shape(&mut self, shape: Option<&Shape>, depth: usize) -> Result<Sum, Refused> {
        let shape = shape.ok_or(Refused::Malformed)?;
        let depth = depth.checked_sub(1).ok_or(Refused::Malformed)?;
        self.spend(COST + shape.length)?;
        let mut sums = Vec::with_capacity(shape.items.len());
        for item in &shape.items {
            sums.push(self.item(item, depth)?);
        }
        let mut all = Sum { cost: COST + shape.length, ..Sum::default() };
        for (index, hint) in &shape.shown {
            let sum = sums.get(*index).copied().ok_or(Refused::Malformed)?;
            all.join(sum.shown(*hint));
        }
        // Each argument has paid for being shown once.
        let once = sums.iter().map(|sum| sum.cost).sum::<usize>();
        self.spend(all.cost.saturating_sub(COST + shape.length).saturating_sub(once))?;
        Ok(all)
    }

    fn item(&mut self, item: &Item, depth: usize) -> Result<Sum, Refused> {
        self.spend(COST)?;
        let mut sum = Sum { cost: COST, ..Sum::default() };
        match item {
            Item::Bytes(bytes) => drop(self.take(*bytes)?),
            Item::Number(bytes) => sum.greatest = self.unsigned(*bytes)?,
            Item::Isize => {
                self.take(4)?;
                sum.has_isize = true;
            }
            Item::Bool => drop(self.take(1)?),
            Item::Char => drop(self.take(4)?),
            Item::Text => {
                let length = self.length()?;
                sum.cost += self.take(length)?.len();
            }
            Item::Interned => drop(self.part()?),
            Item::Slice => {
                let length = self.length()?;
                sum.join(self.several(length)?);
            }
            Item::Array(length) => sum.join(self.several(*length)?),
            Item::Format => {
                let text = self.part()?;
                let shape = self.variant(text)?;
                sum.join(self.shape(shape, depth)?);
            }
            Item::Formats => {
                let count = self.length()?;
                sum.join(self.elements(count, depth)?);
            }
            Item::FormatArray(count) => sum.join(self.elements(*count, depth)?),
            Item::Preformatted => {
                let end = self.rest.iter().position(|byte| *byte == 0xff).ok_or(Refused::Short)?;
                sum.cost += self.take(end + 1)?.len();
            }
            Item::Sequence => loop {
                let number = self.number()?;
                if number == 0 {
                    break;
                }
                let text = self.texts.text(number).filter(|text| !text.has_level);
                let shape = text.ok_or(Refused::Malformed)?.whole.as_ref();
                sum.join(self.shape(shape, depth)?);
            },
        }
        Ok(sum)
    }

    fn several(&mut self, bytes: usize) -> Result<Sum, Refused> {
        let taken = self.take(bytes)?.len();
        Ok(Sum { cost: COST * taken, has_bytes: true, ..Sum::default() })
    }

    fn elements(&mut self, count: usize, depth: usize) -> Result<Sum, Refused> {
        let text = self.part()?;
        // Room for all is made before the first is read.
        self.spend(count.saturating_mul(COST))?;
        let mut all = Sum { cost: count.saturating_mul(COST), ..Sum::default() };
        for _ in 0..count {
            let shape = self.variant(text)?;
            all.join(self.shape(shape, depth)?);
        }
        Ok(all)
    }
}
