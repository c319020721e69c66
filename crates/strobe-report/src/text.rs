//! Reports for people: aligned text, one function per section.
//!
//! Each section starts with an empty line and a heading, except the first. [`report`] puts the
//! usual ones together.

mod against;
mod allocations;
mod bus;
mod capture;
mod events;
pub(crate) mod layout;
mod pins;
mod plan;
mod profile;
mod published;
#[cfg(test)]
mod tests;
mod traced;
mod tree;

use std::io::{self, Write};

use strobe_model::{By, Record};

pub use against::against;
pub use allocations::allocations;
pub use bus::{BusShow, bus};
pub use events::{EventsShow, events};
pub use pins::pins;
pub use plan::plan;
pub use published::published;
pub use traced::{Top, top};
pub use tree::tree;

use crate::Options;
pub use crate::view::{Selection, Tree, annotate as annotate_measurement, measurement};

/// What rows of the profile stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Places in the code.
    By(By),
    /// Threads and interrupts.
    Threads,
}

/// What a whole report shows.
#[derive(Debug, Clone)]
pub struct Show {
    /// What rows of the profile stand for.
    pub rows: Rows,
    /// Rows of the profile; 0 for all.
    pub top: usize,
    /// The call tree, if wanted.
    pub tree: Option<Tree>,
}

impl Default for Show {
    fn default() -> Self {
        Show { rows: Rows::By(By::Function), top: 20, tree: None }
    }
}

/// The report of a trace pin; nothing of a record without a trace pin.
///
/// # Errors
/// Those of `out`.
pub fn report(
    record: &Record,
    show: &Show,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    match &record.traced {
        Some(traced) => self::traced::report(record, traced, show, options, out),
        None => Ok(()),
    }
}
