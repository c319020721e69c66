//! The places and pins of a run that users name: where windows begin and end, and what is marked.

use strobe_sim::board::Board;
use strobe_sim::bus::Bus;
use strobe_sim::signal::SignalId;
use strobe_symbols::Firmware;

use crate::simulated::Error;

/// Where a window begins or ends, or the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Before the instruction there.
    Address(u32),
    /// At a pin's edge to this level.
    Edge(SignalId, bool),
}

impl Place {
    pub(super) fn address(self) -> Option<u32> {
        match self {
            Place::Address(address) => Some(address),
            Place::Edge(..) => None,
        }
    }

    pub(super) fn edge(self) -> Option<(SignalId, bool)> {
        match self {
            Place::Edge(pin, level) => Some((pin, level)),
            Place::Address(_) => None,
        }
    }
}

/// The place that is named: a symbol, an address, or `PB8=1` for a pin's edge.
pub(super) fn place(
    firmware: &Firmware,
    board: &Board,
    bus: &Bus,
    spot: &str,
) -> Result<Place, Error> {
    let edge = spot.split_once('=').and_then(|(name, level)| match level {
        "0" => Some((name, false)),
        "1" => Some((name, true)),
        _ => None,
    });
    let Some((name, level)) = edge else { return address(firmware, spot).map(Place::Address) };
    match pin(board, bus, name) {
        (pin, None) => Err(Error::Pin { pin, board: board.name().to_owned() }),
        (_, Some(id)) => Ok(Place::Edge(id, level)),
    }
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
fn address(firmware: &Firmware, spot: &str) -> Result<u32, Error> {
    let digits = spot.strip_prefix("0x").or_else(|| spot.strip_prefix("0X"));
    if let Some(value) = digits.and_then(|d| u32::from_str_radix(d, 16).ok()) {
        return Ok(value & !1);
    }
    let found = firmware.symbol(spot).map_err(|e| Error::Symbol(e.to_string()))?;
    Ok(found.address & !1)
}

/// Arrivals at a marked symbol.
pub(in crate::simulated) struct Arrivals {
    pub name: String,
    pub(super) address: u32,
    /// (cycle, slack low, slack high) of each arrival, as far as kept.
    pub at: Vec<(u64, u64, u64)>,
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
            None => match address(firmware, name) {
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
