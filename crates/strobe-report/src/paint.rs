//! Colours by meaning. Without colours nothing is written but the text itself.

use anstyle::{AnsiColor, Style as Ansi};

use crate::Style;

/// What a piece of text means, as far as a colour can show it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Paint {
    #[default]
    Plain,
    /// Titles and totals.
    Strong,
    /// What may be skipped when reading.
    Faint,
    /// The biggest figures.
    Hot,
    /// Time asleep.
    Idle,
    /// What needs attention.
    Warn,
    /// What went wrong.
    Bad,
    /// Of several that belong apart, one.
    Group(u8),
}

/// The colours of groups, in turn.
const GROUPS: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Green,
    AnsiColor::Yellow,
    AnsiColor::Magenta,
    AnsiColor::Blue,
    AnsiColor::Red,
];

impl Paint {
    /// The paint of the group with a number.
    pub(crate) fn of_group(number: usize) -> Self {
        Paint::Group((number % GROUPS.len()) as u8)
    }

    fn ansi(self) -> Ansi {
        let colour = |c: AnsiColor| Ansi::new().fg_color(Some(c.into()));
        match self {
            Paint::Plain => Ansi::new(),
            Paint::Strong => Ansi::new().bold(),
            Paint::Faint => Ansi::new().dimmed(),
            Paint::Hot => colour(AnsiColor::Red).bold(),
            Paint::Idle => colour(AnsiColor::Blue),
            Paint::Warn => colour(AnsiColor::Yellow),
            Paint::Bad => colour(AnsiColor::Red).bold(),
            Paint::Group(number) => colour(GROUPS[usize::from(number) % GROUPS.len()]),
        }
    }

    /// Every escape sequence that painted text may have.
    pub(crate) fn codes() -> Vec<String> {
        let meanings =
            [Paint::Strong, Paint::Faint, Paint::Hot, Paint::Idle, Paint::Warn, Paint::Bad];
        let paints = meanings.into_iter().chain((0..GROUPS.len()).map(Paint::of_group));
        let both = |paint: Paint| [format!("{}", paint.ansi()), format!("{:#}", paint.ansi())];
        let mut codes: Vec<String> = paints.flat_map(both).collect();
        codes.sort();
        codes.dedup();
        // The longest that fits is the one that was written.
        codes.sort_by_key(|code| std::cmp::Reverse(code.len()));
        codes
    }

    /// The text, painted if the style asks for it.
    pub(crate) fn on(self, text: &str, style: Style) -> String {
        if !style.colour || self == Paint::Plain || text.is_empty() {
            return text.to_owned();
        }
        let ansi = self.ansi();
        format!("{ansi}{text}{ansi:#}")
    }
}
