//! There are no tables where `defmt` was left out.

use std::convert::Infallible;

use crate::defmt::message::Message;
use strobe_symbols::Firmware;

use super::{Encoding, Error, Refused};

/// The texts of a firmware's messages; there is none.
#[derive(Debug, Clone)]
pub struct Table(Infallible);

impl Table {
    /// Finds out whether one would be needed.
    ///
    /// # Errors
    /// When the firmware has `defmt`.
    pub fn read(firmware: &Firmware) -> Result<Option<Table>, Error> {
        firmware.interned().map_or(Ok(None), |_| Err(Error::NotBuilt))
    }

    pub(super) fn encoding(&self) -> Encoding {
        match self.0 {}
    }

    pub(super) fn unpack(&self, _: &[u8]) -> Option<Vec<u8>> {
        match self.0 {}
    }

    pub(super) fn decode(&self, _: &[u8]) -> Result<(Message, usize), Refused> {
        match self.0 {}
    }
}
