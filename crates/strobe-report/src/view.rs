//! A measurement as text: what every part of one looks like, whatever instrument it comes from.
//!
//! Each part is a [`View`] in a file of its own. None knows an instrument; they know units, trust
//! and the kinds of sections.

mod annotate;
pub(crate) mod balance;
pub(crate) mod causes;
mod closing;
mod distributions;
pub(crate) mod figure;
pub(crate) mod findings;
pub(crate) mod header;
mod histogram;
mod parts;
pub(crate) mod profile;
pub(crate) mod settings;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod timeline;
mod tree;
mod treemap;
mod verdict;

use std::io::{self, Write};
use strobe_model::measurement::ids;

use strobe_analyse::attribution::By;
use strobe_model::measurement::{Column, Content, Measurement, Profile, Section};

use crate::Options;

pub use tree::Tree;

/// What a text report of a measurement shows. What explains (meanings, advice, reasons) is left out
/// by [`Options::quiet`].
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// What rows of profiles stand for.
    pub by: By,
    /// The measure to show of profiles that have it; the first one otherwise.
    pub measure: Option<String>,
    /// Rows of profiles and spans of time lines; 0 for all.
    pub top: usize,
    /// The call tree, if wanted.
    pub tree: Option<Tree>,
    /// The call tree as areas.
    pub treemap: bool,
    /// Profiles also by instruction, where the measurement has its own disassembly.
    pub instructions: bool,
    /// Functions to show instruction by instruction, from the measurement's own disassembly.
    pub annotate: Vec<String>,
    /// Histograms of distributions.
    pub histograms: bool,
    /// Sections to show, by id; all but [`Selection::without`] if not given.
    pub sections: Option<Vec<String>>,
    /// Sections to leave out unless they are asked for.
    pub without: Vec<String>,
    /// Parts of the measurement, each as a report of its own.
    pub parts: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Selection {
            by: By::Function,
            measure: None,
            top: 20,
            tree: None,
            treemap: false,
            instructions: false,
            annotate: Vec::new(),
            histograms: false,
            sections: None,
            without: LEFT_OUT.map(str::to_owned).into(),
            parts: true,
        }
    }
}

/// Sections that are shown only when they are asked for: what other views are made of, and text for
/// programs.
const LEFT_OUT: [&str; 6] = {
    use ids::section::*;
    [SYMBOLS, DISASSEMBLY, SOURCE, WORDS, SETTINGS, CLAIMS]
};

/// Sections about single threads and handlers: shown where rows are labels, unless asked for.
const PER_THREAD_SECTIONS: [&str; 5] = {
    use ids::section::*;
    [LATENCIES, DURATIONS, WAKE_UPS, WAKE_UP_TIMES, WORST_CASES]
};

/// Whose the cycles were is no question where there is one thread.
fn is_alone(section: &Section) -> bool {
    let Content::Table(table) = &section.content else { return false };
    let threads =
        |column: &Column| column.cells.iter().filter(|kind| kind.text() == Some("thread")).count();
    section.id == ids::section::THREADS
        && table.column(ids::column::KIND).is_some_and(|kinds| threads(kinds) < 2)
}

impl Selection {
    fn wants(&self, measurement: &Measurement, section: &Section) -> bool {
        // In a comparison nothing stands in for what single threads and handlers did.
        let is_compared = measurement.subject.kind == "comparison";
        match &self.sections {
            Some(wanted) => wanted.contains(&section.id),
            None => {
                let by_label = matches!(self.by, By::Label(_));
                !self.without.contains(&section.id)
                    && (by_label
                        || is_compared
                        || !PER_THREAD_SECTIONS.contains(&section.id.as_str())
                            && !is_alone(section))
            }
        }
    }

    /// The measure to show of a profile.
    fn measure_of<'a>(
        &self,
        profile: &'a Profile,
    ) -> Option<&'a strobe_model::measurement::Measure> {
        let asked = self.measure.as_deref().and_then(|id| profile.measure(id));
        asked.or_else(|| profile.measures.first())
    }
}

/// What every view needs to know besides its own figures.
#[derive(Clone, Copy)]
struct Page<'a> {
    measurement: &'a Measurement,
    selection: &'a Selection,
    options: &'a Options,
}

/// A part of the report.
trait View {
    /// Writes it, beginning with an empty line unless it is the first; nothing where there is
    /// nothing to show.
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()>;
}

/// A whole report: what was measured, the sums, findings, every section, its parts, and how far to
/// trust the figures.
///
/// # Errors
/// Those of `out`.
pub fn measurement(
    measurement: &Measurement,
    selection: &Selection,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let page = Page { measurement, selection, options };
    views(&page).iter().try_for_each(|view| view.write(&page, out))
}

/// The views of a measurement in their order. Findings come before the first profile, where they
/// can change how it is read; faults, which are long, come behind everything else.
fn views<'a>(page: &Page<'a>) -> Vec<Box<dyn View + 'a>> {
    let is_profile = |section: &&Section| matches!(section.content, Content::Profile(_));
    let wanted = page.measurement.sections.iter();
    let wanted = wanted.filter(|s| page.selection.wants(page.measurement, s));
    let mut wanted: Vec<&'a Section> = wanted.collect();
    if wanted.iter().any(is_profile) {
        wanted.retain(|section| section.id != ids::section::CAUSES);
    }
    let first = wanted.iter().position(is_profile).unwrap_or(wanted.len());
    let mut views: Vec<Box<dyn View + 'a>> = vec![Box::new(header::Header)];
    for section in wanted.iter().filter(|s| is_profile(s)) {
        views.extend(causes(section));
    }
    let (before, behind) = wanted.split_at(first);
    // Where the profile is first, tables and distributions, which are short, precede it.
    let (early, late): (Vec<&Section>, Vec<&Section>) = behind.iter().partition(|section| {
        first == 0 && matches!(section.content, Content::Table(_) | Content::Distributions(_))
    });
    views.extend(before.iter().chain(&early).map(|section| content(section)));
    views.push(Box::new(findings::Findings));
    views.extend(late.into_iter().map(content));
    if page.selection.histograms {
        views.extend(wanted.iter().filter_map(histogram));
    }
    views.push(Box::new(annotate::Annotated));
    views.push(Box::new(balance::Balances));
    views.push(Box::new(findings::Faults));
    if page.selection.parts {
        views.push(Box::new(parts::Parts));
    }
    views.push(Box::new(closing::Closing));
    views
}

fn causes<'a>(section: &&'a Section) -> Option<Box<dyn View + 'a>> {
    match &section.content {
        Content::Profile(profile) => Some(Box::new(causes::Causes { profile })),
        _ => None,
    }
}

fn histogram<'a>(section: &&'a Section) -> Option<Box<dyn View + 'a>> {
    match &section.content {
        Content::Distributions(all) => Some(Box::new(histogram::Histograms { all })),
        _ => None,
    }
}

fn content<'a>(section: &'a Section) -> Box<dyn View + 'a> {
    match &section.content {
        Content::Profile(profile) => Box::new(profile::Flat { section, profile }),
        Content::Distributions(all) => Box::new(distributions::Spreads { section, all }),
        Content::Timeline(timeline) => Box::new(timeline::Line { section, timeline }),
        Content::Table(table)
            if section.id == ids::section::VERDICT && verdict::is_verdict(table) =>
        {
            Box::new(verdict::Verdict { table })
        }
        Content::Table(table) => Box::new(table::Rows { section, table }),
        Content::Text(text) => Box::new(text::Lines { section, text }),
    }
}
