//! Reports for people: aligned text, one function per section.
//!
//! Each section starts with an empty line and a heading, except the first. [`report`] puts the
//! usual ones together.

mod annotate;
mod causes;
mod closing;
mod compare;
mod cycles;
mod exceptions;
mod fault;
mod kit_cost;
pub(crate) mod layout;
mod profile;
mod series;
mod summary;
#[cfg(test)]
mod tests;
mod threads;
mod timeline;
mod top;
mod tree;

use std::io::{self, Write};

use strobe_model::{By, Record};

pub use annotate::{AnnotateInput, AnnotateRow, annotate};
pub use closing::closing;
pub use compare::{Side, compare};
pub use cycles::cycles;
pub use fault::fault;
pub use profile::profile;
pub use summary::summary;
pub use threads::threads;
pub use timeline::timeline;
pub use top::{Top, top};
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
    /// Functions to annotate.
    pub annotate: Vec<AnnotateInput>,
}

impl Default for Show {
    fn default() -> Self {
        Show { rows: Rows::By(By::Function), top: 20, tree: None, annotate: Vec::new() }
    }
}

/// A whole report: summary, profile, timeline, call tree, annotated functions, fault, and what to
/// know about the figures.
///
/// # Errors
/// Those of `out`.
pub fn report(
    record: &Record,
    show: &Show,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    summary(record, options, out)?;
    match show.rows {
        Rows::By(by) => {
            threads::summary(record, options, out)?;
            profile(record, by, show.top, options, out)?;
        }
        Rows::Threads => threads(record, options, out)?,
    }
    timeline(record, show.top, options, out)?;
    if let Some(depth) = &show.tree {
        tree(record, depth, options, out)?;
    }
    for function in &show.annotate {
        annotate(function, options, out)?;
    }
    kit_cost::kit_cost(record, options, out)?;
    fault(record, options, out)?;
    closing(record, options, out)
}
