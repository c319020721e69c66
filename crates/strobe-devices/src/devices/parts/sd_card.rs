//! An SD memory card on a serial bus (SD Physical Layer Simplified Specification, chapter 7, "SPI
//! mode"): the four pins and the bits on them. What the bytes mean is `card.rs`.
//!
//! Options: the pins `sclk`, `mosi`, `miso` and `cs`; `high_capacity` (block addresses, SDHC; else
//! byte addresses), true if not given; how long the card takes: `start_us` to become ready,
//! `access_us` before the first block of a read, `next_us` before each further one. The contents
//! come with `image`; without them there is no card in the socket, and nothing ever answers.
//!
//! Bits are sampled when SCLK rises and put out when it falls, as in SPI modes 0 and 3.

use serde::Deserialize;

use self::card::{Card, Delays};
use strobe_sim::kernel::device::{
    Context, Create, Device, MediaSlot, MediumError, OptionError, PinWatch,
};
use strobe_sim::kernel::signal::SignalId;

mod card;
mod medium;
#[cfg(test)]
mod tests;

/// Clocks with CS high that a card wants before the first command (6.4.1).
const WAKING_CLOCKS: u32 = 74;
/// Fastest clock until the card is ready, and then (4.2.1, 6.6.6), as nanoseconds for the seven
/// clocks between the first and the last bit of a byte.
const SLOW_BYTE: u64 = 7_000_000_000 / 400_000;
const FAST_BYTE: u64 = 7_000_000_000 / 25_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    sclk: String,
    mosi: String,
    miso: String,
    cs: String,
    #[serde(default = "yes")]
    high_capacity: bool,
    #[serde(default = "start")]
    start_us: u32,
    #[serde(default = "access")]
    access_us: u32,
    #[serde(default = "next")]
    next_us: u32,
}

fn yes() -> bool {
    true
}

fn start() -> u32 {
    1000
}

fn access() -> u32 {
    300
}

fn next() -> u32 {
    20
}

struct SdCard {
    mosi: SignalId,
    miso: SignalId,
    cs: SignalId,
    card: Option<Card>,
    high_capacity: bool,
    delays: Delays,
    selected: bool,
    /// Clocks before the card has been selected for the first time.
    waking: u32,
    awake: bool,
    incoming: u8,
    outgoing: u8,
    bits: u8,
    /// When the first bit of this byte came.
    byte_began: u64,
    driven: Option<bool>,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    let (sclk, mosi) = (cx.pin(&options.sclk)?, cx.pin(&options.mosi)?);
    let (miso, cs) = (cx.pin(&options.miso)?, cx.pin(&options.cs)?);
    cx.listen(sclk);
    cx.listen(cs);
    let micro = |us: u32| u64::from(us) * 1000;
    Ok(Box::new(SdCard {
        mosi,
        miso,
        cs,
        card: None,
        high_capacity: options.high_capacity,
        delays: Delays {
            start: micro(options.start_us),
            access: micro(options.access_us),
            next: micro(options.next_us),
        },
        selected: false,
        waking: 0,
        awake: false,
        incoming: 0xff,
        outgoing: 0xff,
        bits: 0,
        byte_began: 0,
        driven: None,
    }))
}

impl SdCard {
    fn drive(&mut self, level: Option<bool>, cx: &mut Context) {
        if self.driven != level {
            self.driven = level;
            cx.drive(self.miso, level);
        }
    }

    fn select(&mut self, on: bool, cx: &mut Context) {
        self.selected = on;
        (self.bits, self.outgoing) = (0, 0xff);
        self.drive(on.then_some(true), cx);
        if on && !self.awake {
            self.awake = true;
            if self.waking < WAKING_CLOCKS {
                let clocks = self.waking;
                warn(
                    cx,
                    &format!("selected after {clocks} clocks; a card wants {WAKING_CLOCKS} first"),
                );
            }
        }
        if let (false, Some(card)) = (on, &mut self.card) {
            card.deselect();
        }
    }

    fn rising(&mut self, cx: &mut Context) {
        if !self.selected {
            self.waking = self.waking.saturating_add(1);
            return;
        }
        if self.bits == 0 {
            self.byte_began = cx.nanoseconds();
        }
        self.incoming = self.incoming << 1 | u8::from(cx.level(self.mosi));
        self.bits += 1;
        if self.bits < 8 {
            return;
        }
        self.bits = 0;
        let now = cx.nanoseconds();
        let Some(card) = &mut self.card else { return };
        let slow = !card.is_ready();
        let shortest = if slow { SLOW_BYTE } else { FAST_BYTE };
        let too_fast = now - self.byte_began < shortest;
        self.outgoing = card.exchange(self.incoming, now);
        let complaint = card.take_complaint();
        if too_fast {
            let most = if slow { "400 kHz before the card is ready" } else { "25 MHz" };
            warn(cx, &format!("the clock is faster than {most}"));
        }
        if let Some(complaint) = complaint {
            warn(cx, &complaint);
        }
    }

    fn falling(&mut self, cx: &mut Context) {
        if self.selected {
            let bit = self.outgoing >> (7 - self.bits) & 1 != 0;
            self.drive(Some(bit), cx);
        }
    }
}

/// A warning that names the part.
fn warn(cx: &mut Context, text: &str) {
    let text = format!("{}: {text}", cx.name());
    cx.warn(text);
}

impl Device for SdCard {
    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        if self.card.is_none() {
            return;
        }
        if id == self.cs {
            // A pin that the chip does not hold yet selects nothing: cards have pull-up resistors
            // there.
            let on = !level && cx.is_held(id);
            if on != self.selected {
                self.select(on, cx);
            }
        } else if level {
            self.rising(cx);
        } else {
            self.falling(cx);
        }
    }

    fn reset(&mut self, cx: &mut Context) {
        if let Some(card) = &mut self.card {
            card.power_on();
        }
        (self.selected, self.awake, self.waking, self.bits) = (false, false, 0, 0);
        self.drive(None, cx);
    }

    fn pin_watch(&mut self) -> Option<&mut dyn PinWatch> {
        Some(self)
    }

    fn media_slot(&mut self) -> Option<&mut dyn MediaSlot> {
        Some(self)
    }
}

impl PinWatch for SdCard {
    fn held(&mut self, id: SignalId, cx: &mut Context) {
        if id == self.cs {
            let level = cx.level(id);
            self.signal(id, level, cx);
        }
    }
}

impl MediaSlot for SdCard {
    fn insert(&mut self, medium: Vec<u8>) -> Result<(), MediumError> {
        self.card = Some(Card::new(medium, self.high_capacity, self.delays)?);
        Ok(())
    }
}
