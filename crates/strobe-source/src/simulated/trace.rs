//! The trace pin of a simulated board: programmed from outside as by a debugger, and read as by a
//! logic analyser.
//!
//! What the bytes mean is `strobe-decode`'s business.

use std::str::FromStr;

use strobe_devices::machine::Machine;
use strobe_sim::observe::TraceByte;

use super::Error;
use super::drive::Watch;

/// Register writes that a debugger makes, in their order, while the core stands at its first
/// instruction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Programme {
    /// What is written where: words.
    pub writes: Vec<RegisterWrite>,
}

/// A word for a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterWrite {
    /// Its address.
    pub address: u32,
    /// What is written.
    pub value: u32,
    /// The bits that are written; the others are kept as they were.
    pub mask: u32,
}

impl From<&strobe_link::trace::registers::RegisterWrite> for RegisterWrite {
    fn from(write: &strobe_link::trace::registers::RegisterWrite) -> Self {
        RegisterWrite { address: write.address, value: write.value, mask: write.mask }
    }
}

impl FromStr for RegisterWrite {
    type Err = String;

    /// `0xe0001000=0x40001e1f`: address and value, hexadecimal or decimal.
    fn from_str(text: &str) -> Result<Self, String> {
        let (address, value) = text.split_once('=').ok_or("write it ADDRESS=VALUE")?;
        let address = number(address)?;
        if address % 4 != 0 {
            return Err(format!("{address:#x} is not the address of a word"));
        }
        Ok(RegisterWrite { address, value: number(value)?, mask: u32::MAX })
    }
}

fn number(text: &str) -> Result<u32, String> {
    let digits = text.replace('_', "");
    let parsed = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16),
        None => digits.parse(),
    };
    parsed.map_err(|_| format!("{text} is not a number of 32 bits, such as 0xe0001000"))
}

impl std::fmt::Display for RegisterWrite {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{:#010x}={:#010x}", self.address, self.value)
    }
}

impl FromIterator<(u32, u32)> for Programme {
    fn from_iter<I: IntoIterator<Item = (u32, u32)>>(pairs: I) -> Self {
        let write = |(address, value)| RegisterWrite { address, value, mask: u32::MAX };
        Programme { writes: pairs.into_iter().map(write).collect() }
    }
}

impl Programme {
    /// Makes the writes and returns what each register then reads as.
    pub(super) fn apply(
        &self,
        machine: &mut Machine<Watch>,
        board: &str,
    ) -> Result<Vec<RegisterWrite>, Error> {
        let none = |address| Error::Register { address, board: board.to_owned() };
        let mut found = Vec::new();
        for &RegisterWrite { address, value, mask } in &self.writes {
            // Reading may do something, so only what is kept is read.
            let kept = match mask {
                u32::MAX => 0,
                _ => machine.debugger_read(address).map_err(|_| none(address))? & !mask,
            };
            machine.debugger_write(address, kept | value & mask).map_err(|_| none(address))?;
            let value = machine.debugger_read(address).map_err(|_| none(address))?;
            found.push(RegisterWrite { address, value, mask });
        }
        Ok(found)
    }
}

/// How much the trace blocks hold, where a board is to be tried with other buffers than
/// assumed.
pub use strobe_sim::cortexm::Depths;

/// Receives what leaves the trace pin.
pub trait Pin {
    /// A byte, in time order and as the run goes on, a few million cycles late at most. A byte
    /// begins at `at_ps` since reset; each of its bits takes `bit_ps`, which changes with the
    /// core's clock.
    fn byte(&mut self, at_ps: u64, bit_ps: u64, byte: u8);
}

/// Keeps everything: (picoseconds since reset, byte).
impl Pin for Vec<(u64, u8)> {
    fn byte(&mut self, at_ps: u64, _bit_ps: u64, byte: u8) {
        self.push((at_ps, byte));
    }
}

/// Hands over what has left the pin.
pub(super) fn serve(bytes: Vec<TraceByte>, pin: &mut dyn Pin) {
    for byte in bytes {
        pin.byte(byte.at_ps, byte.bit_ps, byte.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn register_writes_are_read_as_they_are_shown() {
        let write: RegisterWrite = "0xe000_1000=1".parse().expect("a write");
        assert_eq!(write, RegisterWrite { address: 0xe000_1000, value: 1, mask: u32::MAX });
        assert_eq!(write.to_string(), "0xe0001000=0x00000001");
        assert_eq!(write.to_string().parse(), Ok(write));
        for wrong in ["0xe0001000", "0xe0001001=1", "x=1", "0x1_0000_0000=1", "4=-1", "="] {
            assert!(wrong.parse::<RegisterWrite>().is_err(), "{wrong}");
        }
    }
}
