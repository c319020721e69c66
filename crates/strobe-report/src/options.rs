//! What the caller decides about the look of a report.

/// How text reports look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Colours and width.
    pub style: Style,
    /// Leaves out what explains: the legend of causes and the reasons behind modelled figures. The
    /// figures and their marks stay.
    pub quiet: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { style: Style { colour: false, width: 100 }, quiet: false }
    }
}

/// Colours and width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to write ANSI escape sequences.
    pub colour: bool,
    /// Columns to fill; long names are shortened to fit, figures never.
    pub width: usize,
}
