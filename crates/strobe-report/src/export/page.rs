//! A measurement as one HTML page without scripts, which needs nothing else: question and verdicts
//! first, then what was claimed, curves, distributions and values over time as pictures, tables,
//! and how it was measured. Its parts follow, each with all that a page of its own would have.
//!
//! Like every format it knows sections and no instruments.

mod findings;
mod functions;
mod style;
mod table;

use std::fmt::Write as _;
use strobe_model::measurement::ids;

use strobe_model::measurement::{
    Content, DEEPEST_PART, Measurement, NamedPart, Profile, Section, Text,
};

use super::flame::{FlameGraph, escaped};
use super::{About, Choice, Export, ExportError, InputKind, Output, charts};
use crate::view::{balance, header};

/// The format.
pub(super) struct Page;

impl Export for Page {
    fn about(&self) -> About {
        About {
            name: "page",
            aliases: &["html"],
            extension: Some("html"),
            takes: InputKind::Anything,
            help: "findings, figures and tables, with pictures, as one HTML page without \
                   scripts; profiles by function (csv has their call chains)",
        }
    }

    fn write(
        &self,
        measurement: &Measurement,
        choice: &Choice,
        out: &mut dyn Output,
    ) -> Result<(), ExportError> {
        choice.check(measurement)?;
        let mut page = Writer::default();
        let title = header::title(&measurement.subject);
        page.tagged("h1", &title);
        page.whole(measurement, choice, "", 0);
        out.file("")?.write_all(page.finish(&title).as_bytes())?;
        Ok(())
    }
}

/// What comes first on the page, in this order; other sections follow as they are.
const FIRST: [&str; 3] = [ids::section::VERDICTS, ids::section::CLAIMS, ids::section::EXACT];

#[derive(Default)]
struct Writer {
    text: String,
}

impl Writer {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn tagged(&mut self, tag: &str, text: &str) {
        let text = escaped(text);
        let _ = writeln!(self.text, "<{tag}>{text}</{tag}>");
    }

    /// All but the name of a measurement that lies in so many others, by way of the parts `path`.
    fn whole(&mut self, measurement: &Measurement, choice: &Choice, path: &str, depth: usize) {
        let question = measurement.subject.facts.iter().find(|fact| fact.name == "question");
        if let Some(question) = question.and_then(|fact| fact.text.as_ref()) {
            let question = escaped(question);
            let _ = writeln!(self.text, "<p class=\"question\">{question}</p>");
        }
        findings::write(&measurement.findings, &mut self.text);
        self.figures(measurement);
        self.sections(measurement, choice, depth);
        self.measured_by(measurement);
        if depth < DEEPEST_PART {
            measurement.parts.iter().for_each(|part| self.part(part, path, depth + 1));
        } else if !measurement.parts.is_empty() {
            self.tagged("p", "parts that are nested deeper are left out");
        }
    }

    /// A part, called as options call it: `a/ping` is part `ping` of part `a`.
    fn part(&mut self, part: &NamedPart, path: &str, depth: usize) {
        let path =
            if path.is_empty() { part.name.clone() } else { format!("{path}/{}", part.name) };
        let (rank, name) = (rank(depth), escaped(&path));
        let _ =
            writeln!(self.text, "<section class=\"part\"><h{rank} class=\"name\">{name}</h{rank}>");
        self.tagged("p", &header::title(&part.measurement.subject));
        self.whole(&part.measurement, &Choice::default(), &path, depth);
        self.push("</section>");
    }

    /// The headline figures with what was seen and lost, and the balances.
    fn figures(&mut self, measurement: &Measurement) {
        described(&header::figures(measurement), &mut self.text);
        for balance in &measurement.balances {
            let text = escaped(&balance::text(balance));
            let _ = writeln!(self.text, "<p class=\"balance\">{text}</p>");
        }
    }

    fn sections(&mut self, measurement: &Measurement, choice: &Choice, depth: usize) {
        let place = |s: &&Section| FIRST.iter().position(|id| *id == s.id).unwrap_or(FIRST.len());
        let mut sections: Vec<&Section> = choice.sections(measurement).collect();
        sections.sort_by_key(place);
        for section in sections {
            self.section(section, measurement, depth);
        }
    }

    fn section(&mut self, section: &Section, measurement: &Measurement, depth: usize) {
        let id = escaped(&section.id);
        let _ = writeln!(self.text, "<section data-id=\"{id}\">");
        self.tagged(&format!("h{}", rank(depth + 1)), &section.title);
        match &section.content {
            Content::Table(table) => {
                self.pictures(section);
                table::write(table, &mut self.text);
            }
            Content::Distributions(all) => {
                self.pictures(section);
                self.push("<details><summary>figures</summary>");
                table::spreads(all, &mut self.text);
                self.push("</details>");
            }
            Content::Timeline(_) => self.pictures(section),
            Content::Text(text) => self.lines(text),
            Content::Profile(profile) => self.profile(profile, section, measurement),
        }
        section.notes.iter().for_each(|note| self.tagged("p", note));
        self.push("</section>");
    }

    fn pictures(&mut self, section: &Section) {
        if let Some(picture) = charts::inline(section) {
            let _ = writeln!(self.text, "<div class=\"wide\">{picture}</div>");
        }
    }

    /// Text, as pictures of a terminal are, unfolds: the page has better ones.
    fn lines(&mut self, text: &Text) {
        self.push("<details><summary>as text</summary><pre>");
        for line in &text.lines {
            let line = escaped(line);
            self.push(&line);
        }
        self.push("</pre></details>");
    }

    /// A flame graph, as a picture whose style is its own.
    fn profile(&mut self, profile: &Profile, section: &Section, measurement: &Measurement) {
        let choice = Choice { section: Some(section.id.clone()), ..Choice::default() };
        let mut picture: Vec<u8> = Vec::new();
        if FlameGraph.write(measurement, &choice, &mut picture).is_ok() {
            let _ = writeln!(
                self.text,
                "<div class=\"wide\"><img alt=\"flame graph\" src=\"data:image/svg+xml,{}\"></div>",
                style::in_address(&picture)
            );
        }
        functions::write(profile, &mut self.text);
    }

    fn measured_by(&mut self, measurement: &Measurement) {
        self.push("<details><summary>how it was measured</summary>");
        let mut lines = header::about(measurement);
        lines.retain(|(name, _)| name != "question");
        described(&lines, &mut self.text);
        self.push("</details>");
    }

    fn finish(self, title: &str) -> String {
        let title = escaped(title);
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
             <style>{}{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
            style::PAGE,
            charts::STYLE,
            self.text
        )
    }
}

/// The rank of a heading that lies in so many others; HTML has six.
fn rank(depth: usize) -> usize {
    (depth + 1).min(6)
}

/// Names with what each stands for.
fn described(lines: &[(String, String)], out: &mut String) {
    if lines.is_empty() {
        return;
    }
    out.push_str("<dl>\n");
    for (name, text) in lines {
        let (name, text) = (escaped(name), escaped(text));
        let _ = writeln!(out, "<dt>{name}</dt>\n<dd>{text}</dd>");
    }
    out.push_str("</dl>\n");
}

#[cfg(test)]
mod tests;
