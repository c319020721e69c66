//! Somebody who looks at a simulated board's memory while it runs, as a debug probe does.

use strobe_devices::machine::Machine;
use strobe_link::trace::link::Error;
use strobe_link::trace::program::Registers;
use strobe_sim::device::Size;

use super::drive::Watch;

/// Looks at memory now and then.
pub trait Debugger {
    /// Simulated nanoseconds from one look to the next.
    fn every_nanoseconds(&self) -> u64;

    /// Reads and writes, at that time since reset; the core stands still meanwhile, and no time
    /// passes.
    fn look(&mut self, memory: &mut dyn Registers, nanoseconds: u64);
}

/// A machine's memory: RAM and flash, not registers, whose reads may change them.
pub(super) struct Memory<'a>(pub &'a mut Machine<Watch>);

impl Registers for Memory<'_> {
    fn read_word(&mut self, address: u32) -> Result<u32, Error> {
        let word = self.0.bus().peek(address, Size::Word);
        word.ok_or_else(|| {
            Error::failed("the simulated memory", format!("nothing is at {address:#010x}"))
        })
    }

    fn write_word(&mut self, address: u32, value: u32) -> Result<(), Error> {
        let written = self.0.debugger_write(address, value);
        written.map_err(|fault| {
            let why = format!("nothing takes a word at {:#010x}", fault.address);
            Error::failed("the simulated memory", why)
        })
    }
}
