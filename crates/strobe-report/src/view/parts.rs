//! Measurements that a measurement is made of: chips of a rig, sides of a comparison.

use std::io::{self, Write};
use strobe_model::measurement::ids;

use super::{Page, View, measurement};
use crate::paint::Paint;
use crate::words::{clean, shortened};

/// Every part, each a report of its own.
pub(super) struct Parts;

impl View for Parts {
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        for part in &page.measurement.parts {
            let style = page.options.style;
            let name = shortened(&clean(&part.name), style.width.saturating_sub(6).max(8));
            writeln!(out, "\n{}\n", Paint::Strong.on(&format!("== {name} =="), style))?;
            let mut selection = page.selection.clone();
            if part.measurement.table(ids::section::DISASSEMBLY).is_none() {
                // What is asked of one chip is not asked of those beside it.
                selection.annotate.clear();
            }
            measurement(&part.measurement, &selection, page.options, out)?;
        }
        Ok(())
    }
}
