//! What archives hold that others recorded: traces of events, lists of samples, texts of
//! allocations.
//!
//! Gets what `strobe-decode` has read and gives the reports of `strobe-model`. It knows no file and
//! no report. What events mean is not in the code but in a table, `archive/meanings.toml`; events
//! that it does not name are counted all the same.

pub mod allocations;
mod calls;
mod events;
mod functions;
mod heap;
mod interrupts;
mod meaning;
pub mod measurement;
mod published;
pub mod report;
mod spans;
mod threads;
mod timeline;
mod transfers;
mod windows;

use strobe_symbols::Firmware;

pub(crate) use heap::{Heap, Taken};

pub use events::{Source, Stream, events};
pub use meaning::{Error as MeaningError, Meanings};
pub use published::published;
pub use timeline::timeline;

/// Names of functions by address.
pub trait Names {
    /// The function at an address, which may have its lowest bit set to mark it as Thumb code.
    fn name(&self, address: u32) -> Option<String>;
}

impl Names for Firmware {
    fn name(&self, address: u32) -> Option<String> {
        let function = self.function_at(address & !1)?;
        Some(self.function(function).name.clone())
    }
}

/// Nothing has a name.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoNames;

impl Names for NoNames {
    fn name(&self, _: u32) -> Option<String> {
        None
    }
}
