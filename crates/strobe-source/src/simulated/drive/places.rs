//! The places and pins of a run that users name: where windows begin and end, and what is marked.

use strobe_devices::board::Board;
use strobe_model::spelling::{self, Edges};
use strobe_sim::bus::Bus;
use strobe_sim::signal::SignalId;
use strobe_symbols::Firmware;

use crate::simulated::{Error, PlaceError};

/// Where a window begins or ends, or the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Before the instruction there.
    Address(u32),
    /// At a pin's edge.
    Edge(SignalId, Edges),
}

impl Place {
    pub(super) fn address(self) -> Option<u32> {
        match self {
            Place::Address(address) => Some(address),
            Place::Edge(..) => None,
        }
    }

    /// The edges to stop at, by the level that they lead to.
    pub(super) fn edges(self) -> impl Iterator<Item = (SignalId, bool)> {
        let (pin, edges) = match self {
            Place::Edge(pin, edges) => (Some(pin), edges),
            Place::Address(_) => (None, Edges::Any),
        };
        let levels = [true, false].into_iter().filter(move |level| edges.include(*level));
        levels.filter_map(move |level| Some((pin?, level)))
    }

    /// Whether this is where the run has arrived.
    pub(super) fn is(self, arrival: Arrival) -> bool {
        match (self, arrival) {
            (Place::Address(here), Arrival::Address(there)) => here == there,
            (Place::Edge(pin, edges), Arrival::Edge(moved, level)) => {
                pin == moved && edges.include(level)
            }
            _ => false,
        }
    }
}

/// Where a run has arrived.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arrival {
    /// Before the instruction there.
    Address(u32),
    /// At a pin's edge to this level.
    Edge(SignalId, bool),
}

/// The place that is named: a symbol, an address, or a pin's edge (`PB8=1`, `PB8:rise`; `PB8`
/// rises).
pub(super) fn place(
    firmware: &Firmware,
    board: &Board,
    bus: &Bus,
    spot: &str,
) -> Result<Place, Error> {
    let Some((name, edges)) = spelling::edge(spot) else {
        return code(firmware, spot).map(Place::Address).or_else(|error| {
            // A name alone means rising edges, as in `strobe pins`.
            match pin(board, bus, spot).1 {
                Some(id) => Ok(Place::Edge(id, Edges::Rising)),
                None => Err(no_edge(board, bus, spot).unwrap_or(error)),
            }
        });
    };
    match pin(board, bus, name) {
        (_, Some(id)) => Ok(Place::Edge(id, edges)),
        // A function may have colons in its name.
        (pin, None) => code(firmware, spot)
            .map(Place::Address)
            .map_err(|_| Error::Pin { pin, board: board.name().to_owned() }),
    }
}

/// What is wrong with `PB8:up`, if PB8 is a pin.
fn no_edge(board: &Board, bus: &Bus, spot: &str) -> Option<Error> {
    let (name, word) = spot.rsplit_once([':', '='])?;
    pin(board, bus, name).1?;
    Some(PlaceError::Edge { spot: spot.to_owned(), word: word.to_owned() }.into())
}

/// The chip's name for a pin that is given by that or by the board's, in any case.
pub(in crate::simulated) fn pin_name(board: &Board, name: &str) -> String {
    let named = board.pin_names().find(|(own, _)| own.eq_ignore_ascii_case(name));
    named.map_or(name, |(_, pin)| pin).to_ascii_uppercase()
}

/// A pin by the board's name for it or the chip's: the latter, and the pin if there is one.
fn pin(board: &Board, bus: &Bus, name: &str) -> (String, Option<SignalId>) {
    let upper = pin_name(board, name);
    let id = bus.signals.find(&upper).filter(|id| bus.signals.pins().any(|p| p == *id));
    (upper, id)
}

/// The address that a symbol or number names.
pub(in crate::simulated) fn address(firmware: &Firmware, spot: &str) -> Result<u32, Error> {
    let number = spelling::address(spot).and_then(|value| u32::try_from(value).ok());
    if let Some(value) = number {
        return Ok(value & !1);
    }
    let symbol = firmware.symbol(spot).map_err(|error| firmware.explain(error));
    Ok(symbol.map_err(PlaceError::from)?.address & !1)
}

/// The same of a place that a run can reach: a variable is none.
fn code(firmware: &Firmware, spot: &str) -> Result<u32, Error> {
    let address = address(firmware, spot)?;
    // A number is what it is: code may have been copied there.
    let Some(found) = firmware.symbol_if_any(spot) else { return Ok(address) };
    let is_code = found.function.is_some() || firmware.has_code_at(found.address);
    match firmware.data_symbol_at(found.address).filter(|_| !is_code) {
        Some(_) => {
            Err(PlaceError::Variable { spot: spot.to_owned(), address: found.address }.into())
        }
        None => Ok(address),
    }
}

/// Arrivals at a marked symbol.
pub(in crate::simulated) struct Arrivals {
    pub name: String,
    pub(super) address: u32,
    /// Each arrival's cycle, as far as kept.
    pub at: Vec<u64>,
    pub count: u64,
}

type Marks = (Vec<(String, SignalId)>, Vec<Arrivals>);

/// Sorts marks into pins and places in the code.
pub(super) fn marks(
    firmware: &Firmware,
    board: &Board,
    bus: &mut Bus,
    names: &[String],
) -> Result<Marks, Error> {
    let (mut pins, mut arrivals) = (Vec::new(), Vec::new());
    for name in names {
        let (upper, pin) = pin(board, bus, name);
        let looks_like_pin = upper.len() >= 3
            && upper.starts_with('P')
            && upper.as_bytes()[1].is_ascii_uppercase()
            && upper[2..].bytes().all(|b| b.is_ascii_digit());
        match pin {
            Some(id) => pins.push((upper, id)),
            None => match code(firmware, name) {
                Ok(address) => {
                    arrivals.push(Arrivals {
                        name: name.clone(),
                        address,
                        at: Vec::new(),
                        count: 0,
                    });
                }
                Err(_) if looks_like_pin => {
                    return Err(Error::Pin { pin: name.clone(), board: board.name().to_owned() });
                }
                Err(error) => return Err(error),
            },
        }
    }
    Ok((pins, arrivals))
}
