//! The texts of a firmware's messages: those that its decoder has, with the shapes that frames are
//! walked through by.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::defmt::message::Message;
use defmt_decoder::{DEFMT_VERSIONS, DecodeError, Locations};
use serde::Deserialize;
use strobe_symbols::{Firmware, Interned, short_path};

use super::shape::Shape;
use super::walk::{Text, Texts, walk};
use super::{Encoding, Error, Refused};

/// The texts of a firmware's messages.
#[derive(Clone)]
pub struct Table(Arc<Inner>);

struct Inner {
    decoder: defmt_decoder::Table,
    encoding: Encoding,
    locations: Locations,
    texts: BTreeMap<u16, (Text, String)>,
    timestamp: Option<Option<Shape>>,
}

/// A symbol's name, which is JSON.
#[derive(Deserialize)]
struct Symbol {
    tag: String,
    data: String,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table of {} texts", self.0.texts.len())
    }
}

impl Table {
    /// The table of a firmware, if it uses `defmt`.
    ///
    /// # Errors
    /// When it does and cannot be decoded: another version, or a damaged file.
    pub fn read(firmware: &Firmware) -> Result<Option<Table>, Error> {
        let Some(interned) = firmware.interned() else { return Ok(None) };
        let unreadable = |why: &str| Error::Unreadable(why.to_owned());
        if !interned.is_sound {
            return Err(unreadable("names of symbols overlap as those of no linker do"));
        }
        let parse = || defmt_decoder::Table::parse(firmware.file());
        let parsed = catch_unwind(parse).map_err(|_| unreadable("its decoder gave up"))?;
        let Some(decoder) = parsed.map_err(|error| refused(&error.to_string()))? else {
            return Ok(None);
        };
        let (texts, timestamp) = texts(&interned, &decoder)
            .ok_or_else(|| unreadable("its decoder finds other texts in the symbol table"))?;
        let encoding = match decoder.encoding() {
            defmt_decoder::Encoding::Raw => Encoding::Raw,
            defmt_decoder::Encoding::Rzcobs => Encoding::Rzcobs,
            _ => return Err(unreadable("its encoding is a new one")),
        };
        let locations = || decoder.get_locations(firmware.file()).unwrap_or_default();
        // Without them messages have no places.
        let locations = if interned.has_sound_lines {
            catch_unwind(AssertUnwindSafe(locations)).unwrap_or_default()
        } else {
            Locations::default()
        };
        Ok(Some(Table(Arc::new(Inner { decoder, encoding, locations, texts, timestamp }))))
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.0.encoding
    }

    /// A frame as it was before it was encoded; `None` if it is none.
    pub(super) fn unpack(&self, frame: &[u8]) -> Option<Vec<u8>> {
        rzcobs::decode(frame).ok()
    }

    /// The message at the beginning of `bytes`, and how many of them are its own.
    pub(super) fn decode(&self, bytes: &[u8]) -> Result<(Message, usize), Refused> {
        let walked = walk(&*self.0, bytes)?;
        let decode = || {
            let own = &bytes[..walked.bytes];
            let (frame, used) = self.0.decoder.decode(own).map_err(|error| match error {
                // The walk has seen that all is there.
                DecodeError::UnexpectedEof | DecodeError::Malformed => Refused::Malformed,
            })?;
            let text = if walked.can_show_text {
                frame.display_message().to_string()
            } else {
                self.unshown(bytes)
            };
            let time = frame.display_timestamp().filter(|_| walked.can_show_time);
            let place = self.0.locations.get(&frame.index());
            let place = place.map(|at| (short_path(&at.file.to_string_lossy()), at.line));
            let level = frame.level().map(|level| level.as_str().to_owned());
            let time = time.map(|time| time.to_string());
            Ok((Message { level, time, text, place, doubtful: false }, used))
        };
        // Tests are to see it if something gets by the walk.
        if cfg!(test) {
            return decode();
        }
        catch_unwind(AssertUnwindSafe(decode)).unwrap_or(Err(Refused::Malformed))
    }

    /// What stands for a message whose arguments the decoder cannot show.
    fn unshown(&self, bytes: &[u8]) -> String {
        let number = bytes.first_chunk().map(|number| u16::from_le_bytes(*number));
        let text = number.and_then(|number| self.0.texts.get(&number));
        format!("{} [its arguments cannot be shown]", text.map_or("", |(_, text)| text.as_str()))
    }
}

impl Texts for Inner {
    fn text(&self, number: u16) -> Option<&Text> {
        self.texts.get(&number).map(|(text, _)| text)
    }

    fn timestamp(&self) -> Option<&Option<Shape>> {
        self.timestamp.as_ref()
    }
}

type Found = (BTreeMap<u16, (Text, String)>, Option<Option<Shape>>);

/// The texts by number; `None` unless they are those that the decoder has.
fn texts(interned: &Interned, decoder: &defmt_decoder::Table) -> Option<Found> {
    let mut named: BTreeMap<u32, (&str, Symbol)> = BTreeMap::new();
    let mut timestamp = None;
    for (number, name) in &interned.symbols {
        let is_mark = name.starts_with("_defmt") || name.starts_with("__DEFMT_MARKER");
        if name.is_empty() || is_mark || name == "$d" || name.starts_with("$d.") {
            continue;
        }
        let symbol: Symbol = serde_json::from_str(name).ok()?;
        match symbol.tag.as_str() {
            "defmt_timestamp" => timestamp = Some(Shape::of(&symbol.data)),
            "defmt_bitflags_value" => {}
            tag if is_text(tag) => drop(named.insert(*number, (name, symbol))),
            _ => {}
        }
    }
    let same = named.values().map(|(name, _)| *name).eq(decoder.raw_symbols());
    if !same || timestamp.is_some() != decoder.has_timestamp() {
        return None;
    }
    // Numbers are sent in two bytes.
    let small =
        named.into_iter().filter_map(|(n, (_, symbol))| Some((u16::try_from(n).ok()?, symbol)));
    let texts = small.map(|(number, Symbol { tag, data })| {
        let has_level = LEVELS.contains(&tag.as_str());
        let text = Text::new(&data, has_level || tag == "defmt_println", has_level);
        (number, (text, data))
    });
    Some((texts.collect(), timestamp))
}

const LEVELS: [&str; 5] = ["defmt_trace", "defmt_debug", "defmt_info", "defmt_warn", "defmt_error"];

fn is_text(tag: &str) -> bool {
    const PARTS: [&str; 6] = [
        "defmt_prim",
        "defmt_derived",
        "defmt_bitflags",
        "defmt_write",
        "defmt_str",
        "defmt_println",
    ];
    LEVELS.contains(&tag) || PARTS.contains(&tag)
}

/// Why the decoder does not take a file.
fn refused(why: &str) -> Error {
    let first = why.lines().next().unwrap_or_default();
    match first.split_once("version mismatch: firmware is using ") {
        Some((_, rest)) => {
            let found = rest.split(',').next().unwrap_or_default().to_owned();
            Error::Version { found, known: DEFMT_VERSIONS.join(" and ") }
        }
        None => Error::Unreadable(first.chars().take(300).collect()),
    }
}
