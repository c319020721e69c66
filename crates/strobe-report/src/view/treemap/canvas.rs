//! The letters of a map: lines that join where they meet, and titles on them.

use std::io::{self, Write};

use super::layout::Area;
use crate::Style;
use crate::paint::Paint;
use crate::words::{clean, shortened};

const UP: u8 = 1;
const DOWN: u8 = 2;
const LEFT: u8 = 4;
const RIGHT: u8 = 8;
/// The horizontal line is the double one of a group's title.
const DOUBLE: u8 = 16;

/// A letter: the lines that meet in it, or what is written over them.
#[derive(Clone, Copy, Default)]
struct Cell {
    lines: u8,
    letter: Option<char>,
    /// Which paint, by the number of its root.
    colour: Option<usize>,
}

/// A drawing, one column and one line larger than the area that it shows: for the last lines.
pub(super) struct Canvas {
    columns: usize,
    cells: Vec<Cell>,
}

impl Canvas {
    pub(super) fn new(width: usize, height: usize) -> Self {
        let columns = width + 1;
        Canvas { columns, cells: vec![Cell::default(); columns * (height + 1)] }
    }

    /// A box with a name on its line, and the figure below it or beside it.
    pub(super) fn leaf(&mut self, area: Area, name: &str, figure: &str, colour: usize) {
        self.frame(area, 0);
        let room = area.width.saturating_sub(2);
        let secondary_measures = format!("{name}  {figure}");
        if area.height >= 2 && figure.chars().count() <= room {
            self.title(area, name, colour);
            self.letters(area.x + 1, area.y + 1, &shortened(figure, room), None);
        } else if clean(&secondary_measures).chars().count() <= room {
            self.title(area, &secondary_measures, colour);
        } else {
            self.title(area, name, colour);
        }
    }

    /// A box with others in it, whose title has a line of its own.
    pub(super) fn group(&mut self, area: Area, name: &str, figure: &str, colour: usize) {
        self.frame(area, DOUBLE);
        let room = area.width.saturating_sub(2);
        let both = format!("{name}  {figure}");
        let fits = clean(&both).chars().count() <= room;
        self.title(area, if fits { &both } else { name }, colour);
    }

    fn frame(&mut self, area: Area, top: u8) {
        let (right, bottom) = (area.x + area.width, area.y + area.height);
        for x in area.x..=right {
            let mut lines = if x > area.x { LEFT } else { 0 };
            lines |= if x < right { RIGHT } else { 0 };
            self.add(x, area.y, lines | top);
            self.add(x, bottom, lines);
        }
        for y in area.y..=bottom {
            let mut lines = if y > area.y { UP } else { 0 };
            lines |= if y < bottom { DOWN } else { 0 };
            self.add(area.x, y, lines);
            self.add(right, y, lines);
        }
    }

    fn add(&mut self, x: usize, y: usize, lines: u8) {
        if let Some(cell) = self.cells.get_mut(y * self.columns + x) {
            cell.lines |= lines;
        }
    }

    /// On the line at the top, behind the corner.
    fn title(&mut self, area: Area, text: &str, colour: usize) {
        let room = area.width.saturating_sub(2);
        if room > 0 {
            self.letters(area.x + 1, area.y, &shortened(&clean(text), room), Some(colour));
        }
    }

    fn letters(&mut self, x: usize, y: usize, text: &str, colour: Option<usize>) {
        for (i, letter) in text.chars().enumerate() {
            if let Some(cell) = self.cells.get_mut(y * self.columns + x + i) {
                *cell = Cell { letter: Some(letter), colour, ..*cell };
            }
        }
    }

    /// Writes all lines, each without blanks at its end.
    pub(super) fn write(&self, style: Style, out: &mut dyn Write) -> io::Result<()> {
        for row in self.cells.chunks(self.columns) {
            let mut line = String::new();
            // Letters of one colour are painted together.
            let key = |cell: &Cell| (cell.letter.is_some(), cell.colour);
            for run in row.chunk_by(|a, b| key(a) == key(b)) {
                let text: String = run.iter().map(|cell| cell.letter()).collect();
                let paint = match (run[0].letter, run[0].colour) {
                    (Some(_), Some(colour)) => Paint::of_group(colour),
                    (Some(_), None) => Paint::Plain,
                    (None, _) => Paint::Faint,
                };
                line.push_str(&if text.trim().is_empty() { text } else { paint.on(&text, style) });
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

impl Cell {
    fn letter(self) -> char {
        self.letter.unwrap_or_else(|| line(self.lines))
    }
}

/// The letter for lines that meet.
fn line(lines: u8) -> char {
    const UP_DOWN: u8 = UP | DOWN;
    const ACROSS: u8 = LEFT | RIGHT;
    let is_double = lines & DOUBLE != 0 && lines & ACROSS != 0;
    let [single, double] = match (lines & UP_DOWN, lines & ACROSS) {
        (0, 0) => [' ', ' '],
        (_, 0) => ['│', '│'],
        (0, _) => ['─', '═'],
        (DOWN, RIGHT) => ['┌', '╒'],
        (DOWN, LEFT) => ['┐', '╕'],
        (DOWN, _) => ['┬', '╤'],
        (UP, RIGHT) => ['└', '╘'],
        (UP, LEFT) => ['┘', '╛'],
        (UP, _) => ['┴', '╧'],
        (_, RIGHT) => ['├', '╞'],
        (_, LEFT) => ['┤', '╡'],
        (_, _) => ['┼', '╪'],
    };
    if is_double { double } else { single }
}
