//! Changes beside those of functions, for the verdict.

use strobe_model::measurement::Unit;

/// One change of a figure that is not a function's.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A cell of a table differs most.
    Cell {
        /// The section that the table is.
        section: String,
        /// The column's title.
        column: String,
        /// The row's name.
        row: String,
        /// The figure of each side.
        sides: [f64; 2],
    },
    /// The largest values of distributions differ most.
    Longest {
        /// The section that they are in.
        section: String,
        /// Those that differ, the greatest difference first.
        of: Vec<Longest>,
    },
    /// A function's share differs most, beyond chance.
    Share {
        /// That function.
        function: String,
        /// Its share of each side, in percent.
        percent: [f64; 2],
        /// What each side counts.
        units: [Unit; 2],
    },
    /// No function's share differs beyond chance.
    NoShare,
    /// A figure of memory differs.
    Memory {
        /// Its title.
        title: String,
        /// The figure of each side.
        sides: [f64; 2],
        /// Its unit.
        unit: Unit,
    },
}

/// The largest value of a distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct Longest {
    /// The distribution's name.
    pub name: String,
    /// The largest value of each side.
    pub sides: [f64; 2],
    /// Its unit.
    pub unit: Unit,
}
