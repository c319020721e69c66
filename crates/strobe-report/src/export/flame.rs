//! A flame graph as a picture: one SVG without scripts, which any browser and most viewers show.
//!
//! Callers are above what they call. A frame is as wide as its part of the whole; whatever it is
//! called is shortened to its width, and stands in full with its figures in the tooltip.

use std::fmt::Write as _;

use strobe_model::measurement::{Kind, Measurement};

use self::tree::{Node, Tree};
use super::chains::{Chains, Name};
use super::{About, Choice, Export, ExportError, InputKind, Output};
use crate::number::{grouped, share};
use crate::visible::is_obeyed;

mod reasons;
mod tree;

/// The format.
pub(super) struct FlameGraph;

/// Everything is in pixels of a picture this wide.
const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
const ROW: f64 = 19.0;
/// Above the first row: the title and a line on the figures.
const TOP: f64 = 56.0;
/// Below the last one.
const BOTTOM: f64 = 26.0;
/// Of a character; names are in a font whose characters are all as wide, and this is what the
/// widest of the usual ones has.
const CHARACTER: f64 = 7.3;
/// Frames narrower than that are not drawn.
const NARROWEST: f64 = 0.25;
/// Rows that are drawn.
const DEEPEST: usize = 250;

impl Export for FlameGraph {
    fn about(&self) -> About {
        About {
            name: "flamegraph",
            aliases: &["svg"],
            extension: Some("svg"),
            takes: InputKind::Profile,
            help: "a flame graph as an SVG picture, with figures in its tooltips",
        }
    }

    fn write(
        &self,
        measurement: &Measurement,
        choice: &Choice,
        out: &mut dyn Output,
    ) -> Result<(), ExportError> {
        let chains = Chains::new(super::profile(measurement, choice, self.about())?, choice)?;
        chains.without_negative(&[0], self.about().name)?;
        let tree = Tree::new(&chains);
        let mut drawing = Drawing::new(&chains, &tree);
        drawing.frames();
        out.file("")?.write_all(drawing.finish(measurement).as_bytes())?;
        Ok(())
    }
}

/// The picture as far as it is drawn.
struct Drawing<'a> {
    chains: &'a Chains<'a>,
    tree: &'a Tree,
    text: String,
    rows: usize,
    /// Frames that are not drawn because they are too narrow, and those that are too deep.
    narrow: u64,
    deep: u64,
}

impl<'a> Drawing<'a> {
    fn new(chains: &'a Chains<'a>, tree: &'a Tree) -> Self {
        Drawing { chains, tree, text: String::new(), rows: 0, narrow: 0, deep: 0 }
    }

    /// All frames, from the root on.
    fn frames(&mut self) {
        let scale = (WIDTH - 2.0 * MARGIN) / (self.tree.total().max(1) as f64);
        let mut left = vec![(0, 0, MARGIN)];
        while let Some((node, depth, x)) = left.pop() {
            let width = self.tree.node(node).value as f64 * scale;
            if width < NARROWEST {
                self.narrow += self.tree.size(node);
                continue;
            } else if depth >= DEEPEST {
                self.deep += self.tree.size(node);
                continue;
            }
            self.rows = self.rows.max(depth + 1);
            self.frame(self.tree.node(node), depth, x, width);
            let mut x = x;
            for child in self.tree.children(node) {
                left.push((child, depth + 1, x));
                x += self.tree.node(child).value as f64 * scale;
            }
        }
    }

    fn frame(&mut self, node: &Node, depth: usize, x: f64, width: f64) {
        let y = TOP + depth as f64 * ROW;
        let name = node.name.map_or("all".into(), |name| self.chains.name(name));
        let title = escaped(&format!("{name}\n{}", self.figure(node)));
        let fill = colour(node.name, &name);
        let _ = write!(
            self.text,
            "<g><title>{title}</title><rect x=\"{x:.2}\" y=\"{y:.0}\" width=\"{:.2}\" \
             height=\"{:.0}\" rx=\"2\" fill=\"{fill}\"/>",
            (width - 0.5).max(NARROWEST),
            ROW - 1.0
        );
        let room = ((width - 8.0) / CHARACTER).max(0.0) as usize;
        if let Some(label) = shortened(&name, room) {
            let (x, y) = (x + 4.0, y + 13.0);
            let _ = write!(self.text, "<text x=\"{x:.2}\" y=\"{y:.0}\">{}</text>", escaped(&label));
        }
        self.text.push_str("</g>\n");
    }

    /// What a frame has, with all that it calls and by itself.
    fn figure(&self, node: &Node) -> String {
        let total = self.tree.total();
        let unit = &self.chains.measures[0].unit;
        let part = |value: i128| format!("{} {unit} ({})", count(value), percent(value, total));
        match node.own {
            _ if matches!(node.name, None | Some(Name::Label(_))) => part(node.value),
            own if own == node.value => part(node.value),
            0 => format!("{} with calls", part(node.value)),
            own => format!("{} with calls, {} by itself", part(node.value), part(own)),
        }
    }

    fn finish(self, measurement: &Measurement) -> String {
        let measure = self.chains.measures[0];
        let room = ((WIDTH - 2.0 * MARGIN) / 8.8) as usize;
        let title = format!("{}: {} by call chain", measurement.subject.name, measure.title);
        let title = shortened(&title, room).unwrap_or_default();
        let room = ((WIDTH - 2.0 * MARGIN) / CHARACTER) as usize;
        let figure = format!("{} {}", count(self.tree.total()), measure.unit);
        let line = match &measure.kind {
            Kind::Exact => figure,
            Kind::Modelled { why } => {
                reasons::line(&figure, &reasons::of(self.chains.profile, measure, why), room)
            }
            Kind::Sampled { .. } => format!("{figure}, sampled"),
            Kind::AtLeast => format!("{figure}, at least"),
        };
        let line = shortened(&line, room);
        let height = TOP + self.rows.max(1) as f64 * ROW + BOTTOM;
        let mut left_out = Vec::new();
        if self.narrow > 0 {
            left_out.push(format!("{} too narrow", grouped(self.narrow)));
        }
        if self.deep > 0 {
            left_out.push(format!("{} deeper than {DEEPEST} calls", grouped(self.deep)));
        }
        let note = if left_out.is_empty() {
            String::new()
        } else {
            format!("frames not drawn: {}", left_out.join(", "))
        };
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {WIDTH:.0} {height:.0}\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text class=\"title\" x=\"{MARGIN:.0}\" y=\"24\">{title}</text>\n\
             <text class=\"note\" x=\"{MARGIN:.0}\" y=\"44\">{}</text>\n\
             {}<text class=\"note\" x=\"{MARGIN:.0}\" y=\"{:.0}\">{note}</text>\n</svg>\n",
            escaped(&line.unwrap_or_default()),
            self.text,
            height - 9.0,
            title = escaped(&title),
        )
    }
}

const STYLE: &str = "text{font:12px 'DejaVu Sans Mono',Menlo,Consolas,'Liberation \
                     Mono',monospace;fill:#111;white-space:pre}\
.title{font-size:14px;font-weight:bold}.note{fill:#555}g:hover rect{stroke:#111}";

fn count(value: i128) -> String {
    grouped(u64::try_from(value).unwrap_or(u64::MAX))
}

fn percent(part: i128, whole: i128) -> String {
    let narrow = |value| u64::try_from(value).unwrap_or(u64::MAX);
    share(narrow(part), narrow(whole))
}

/// Functions have warm colours by their names, so that one looks the same in two pictures; what is
/// no code is grey or blue.
fn colour(kind: Option<Name>, name: &str) -> String {
    match kind {
        None => "#d9d9de".to_owned(),
        Some(Name::Label(_)) => "#b7c9e2".to_owned(),
        Some(Name::Idle(_)) => "#e6e9ed".to_owned(),
        Some(Name::NoSymbol | Name::NoFunction) => "#cfc8c0".to_owned(),
        Some(Name::Function(_)) => {
            // FNV-1a.
            let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
                (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
            });
            let (hue, light) = (8 + hash % 46, 66 + (hash >> 8) % 10);
            format!("hsl({hue},88%,{light}%)")
        }
    }
}

/// A text in so many columns, shortened in its middle; none where there is too little room to be of
/// use.
fn shortened(text: &str, room: usize) -> Option<String> {
    let text: Vec<char> = text.chars().map(|c| if is_obeyed(c) { ' ' } else { c }).collect();
    // From Hangul on, most characters are as wide as two others.
    let columns = |c: &char| if u32::from(*c) < 0x1100 { 1 } else { 2 };
    if text.iter().map(columns).sum::<usize>() <= room {
        return Some(text.into_iter().collect());
    } else if room < 5 {
        return None;
    }
    let fits = |c: &&char, left: &mut usize| {
        *left = left.checked_sub(columns(c))?;
        Some(**c)
    };
    let mut left = room / 2;
    let head: String = text.iter().map_while(|c| fits(&c, &mut left)).collect();
    let mut left = room - 1 - room / 2;
    let tail: Vec<char> = text.iter().rev().map_while(|c| fits(&c, &mut left)).collect();
    Some(head + "…" + &String::from_iter(tail.into_iter().rev()))
}

/// A text as XML, without characters that it cannot have.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push('\n'),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if is_obeyed(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
