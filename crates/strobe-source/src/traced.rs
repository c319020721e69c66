//! Measurements that came out of a trace pin: events of `strobe-decode` are added up, joined with
//! the firmware's symbols, and end in a record that counts samples.
//!
//! A stream of the kit for the target alone, as bytes over RTT or a serial port, takes the same way
//! ([`Accumulator::kit_bytes`]).
//!
//! [`Accumulator`] adds up in memory that depends on how much code there is and not on how long the
//! stream is; [`Settings`] is what is known besides; [`Accumulator::record`] makes the record.
//! A [`Session`] is all of that for one stream. Only what reads a stream to its end knows where the
//! bytes come from.

mod accumulator;
mod channels;
mod doubt;
mod exceptions;
mod gaps;
mod intake;
mod kinds;
mod kit;
mod measurement;
mod notes;
mod record;
mod replay;
mod samples;
mod session;
mod span;
mod steps;
mod threads;
mod timeline;
pub mod totals;
mod watched;
mod windows;

use strobe_decode::kit::Transport;

use crate::traced::totals::Recording;

use crate::defmt::Table;

pub use accumulator::Accumulator;
pub use intake::{Intake, Listener, Payload};

pub use kit::{KitSetting, kit_setting};
pub use record::{NONSENSE_PERCENT, StreamRecord};
pub use replay::Error as ReplayError;
pub use samples::{MOST_PLACES, Places};
pub use session::{Error, Port, Session, Sink};
pub use timeline::Tracks;
pub use windows::{Bounds, Mark};

/// What is known of a stream besides its bytes.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Core clock in hertz.
    pub core_hz: Option<u32>,
    /// Core cycles of a tick of the local timestamp.
    pub tick_cycles: Option<u32>,
    /// Bits in a second on the line that brought the bytes.
    pub baud: Option<u32>,
    /// Core cycles from one sample to the next.
    pub period_cycles: Option<u64>,
    /// Watched variables: comparator and name.
    pub watches: Vec<(u8, String)>,
    /// The comparator that watches the pointer to the current thread.
    pub thread: Option<u8>,
    /// How the kit for the target sends its records, if the firmware has it.
    pub kit: Option<KitSetting>,
    /// The parts that are measured.
    pub bounds: Bounds,
    /// The stimulus port that `defmt` writes to, with the firmware's texts.
    pub defmt: Option<(u8, Table)>,
    /// Functions that count as idle, and ranges of addresses.
    pub idle: Vec<std::ops::Range<u32>>,
    /// The recording, if it was one of ours.
    pub recording: Option<Recording>,
    /// Target, as the recording or the user states.
    pub target: String,
    /// Settings to be shown, by name.
    pub shown: Vec<(String, String)>,
    /// What the user should know of how the stream came here.
    pub warnings: Vec<strobe_model::measurement::Finding>,
}

impl Settings {
    /// The stimulus port of the kit's records, if they come over ITM.
    pub fn kit_port(&self) -> Option<u8> {
        let kit = self.kit.filter(|kit| kit.way == Transport::Itm)?;
        u8::try_from(kit.number).ok()
    }
}
