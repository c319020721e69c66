//! How wide each column is, and which columns there is room for.

use super::{Column, Line, MATTERS, MIN_WRAP, Table};

/// The least that a name can do with.
const LEAST_NAME: usize = 16;

/// What is left to a name before columns go that matter.
const SHORT_NAME: usize = 20;

/// The least that other words can do with.
const LEAST_WORDS: usize = 12;

/// Words that are longer go beneath their row where there is no room for all columns.
const LONG_WORDS: usize = 20;

impl Table {
    /// Whether a column with something in it is shown at that width.
    pub(crate) fn shows(&self, column: usize, width: usize) -> bool {
        let widths = self.widths(width);
        if !self.narrows || self.used(&widths) <= width {
            return widths.get(column).is_some_and(|w| *w > 0);
        }
        let figures = self.figures(width);
        let is_shown = |widths: Vec<usize>| widths.get(column).is_some_and(|w| *w > 0);
        self.long_words().get(column) == Some(&true) || figures.is_none_or(is_shown)
    }

    /// Of each column, whether its words are too long for a column where there is little room.
    pub(super) fn long_words(&self) -> Vec<bool> {
        let widths = self.contents();
        let is_long = |(column, width): (&Column, usize)| !column.right && width > LONG_WORDS;
        self.columns.iter().zip(widths).map(is_long).collect()
    }

    /// Whether all columns are shown in full at that width.
    pub(crate) fn has_room(&self, width: usize) -> bool {
        let mut all = self.widths(usize::MAX / 2);
        if let Some(last) = all.last_mut().filter(|_| self.wraps) {
            *last = (*last).min(MIN_WRAP);
        }
        self.used(&all) <= width
    }

    /// Characters of a line, without blanks at its end.
    pub(super) fn used(&self, widths: &[usize]) -> usize {
        let shown: Vec<&usize> = widths.iter().filter(|w| **w > 0).collect();
        self.indent + shown.iter().map(|w| **w + 2).sum::<usize>().saturating_sub(2)
    }

    /// The width of what is in each column; 0 for empty ones.
    fn contents(&self) -> Vec<usize> {
        let mut widths = vec![0; self.columns.len()];
        for line in &self.lines {
            if let Line::Cells(cells, _) = line {
                for (width, cell) in widths.iter_mut().zip(cells) {
                    *width = (*width).max(cell.text.chars().count());
                }
            }
        }
        widths
    }

    /// The width of each column where long words go beneath their row; 0 for those, and for columns
    /// that are left out. Nothing if figures and short words alone are too wide.
    pub(super) fn figures(&self, width: usize) -> Option<Vec<usize>> {
        let mut widths = self.contents();
        for (width, column) in widths.iter_mut().zip(&self.columns).filter(|(w, _)| **w > 0) {
            *width = (*width).max(column.head.chars().count());
        }
        for (width, _) in widths.iter_mut().zip(self.long_words()).filter(|(_, is_long)| *is_long) {
            *width = 0;
        }
        while self.used(&widths) > width {
            let shown = (0..widths.len()).filter(|i| widths[*i] > 0);
            let optional = shown.filter_map(|i| Some((self.columns[i].optional?, i)));
            let (_, drop) = optional.min()?;
            self.leave_out(drop, &mut widths);
        }
        Some(widths).filter(|widths| widths.iter().filter(|w| **w > 0).count() > 2)
    }

    fn leave_out(&self, column: usize, widths: &mut [usize]) {
        let pair = self.columns[column].pair;
        let goes = |at: usize| at == column || pair.is_some() && self.columns[at].pair == pair;
        (0..widths.len()).filter(|at| goes(*at)).for_each(|at| widths[at] = 0);
    }

    /// The width of each column; 0 for those left out.
    pub(super) fn widths(&self, width: usize) -> Vec<usize> {
        let mut widths = self.contents();
        let Some(last) = widths.len().checked_sub(1) else { return widths };
        for (width, column) in widths.iter_mut().zip(&self.columns).filter(|(w, _)| **w > 0) {
            *width = (*width).max(column.head.chars().count());
        }
        let longest = widths[last];
        let wanted = longest.min(self.room);
        let used = |widths: &[usize]| {
            let shown = widths[..last].iter().filter(|w| **w > 0);
            self.indent + shown.map(|w| w + 2).sum::<usize>()
        };
        while used(&widths) + wanted > width {
            let tight = used(&widths) + longest.min(SHORT_NAME) > width;
            let shown = (0..last).filter(|i| widths[*i] > 0);
            let optional = shown.filter_map(|i| Some((self.columns[i].optional?, i)));
            let Some((_, drop)) = optional.filter(|(worth, _)| tight || *worth < MATTERS).min()
            else {
                break;
            };
            self.leave_out(drop, &mut widths);
        }
        while self.narrows && used(&widths) + wanted.min(LEAST_NAME) > width {
            let words = (0..last).filter(|i| !self.columns[*i].right && widths[*i] > LEAST_WORDS);
            let Some(widest) = words.max_by_key(|i| widths[*i]) else { break };
            widths[widest] -= 1;
        }
        let room = width.saturating_sub(used(&widths)).max(wanted.min(LEAST_NAME));
        widths[last] = widths[last].min(room);
        widths
    }
}
