//! A measurement as one HTML page without scripts, which needs nothing else: question and verdicts
//! first, then what was claimed, curves, distributions and values over time as pictures, tables,
//! and how it was measured.
//!
//! Like every format it knows sections and no instruments.

mod style;
mod table;

use std::fmt::Write as _;

use strobe_model::measurement::{Content, Finding, Measurement, Profile, Section, Severity, Text};

use super::flame::{FlameGraph, escaped};
use super::{About, Choice, Export, ExportError, Output, Takes, charts};
use crate::view::findings::times;
use crate::view::{balance, header};

/// The format.
pub(super) struct Page;

impl Export for Page {
    fn about(&self) -> About {
        About {
            name: "page",
            aliases: &["html"],
            extension: Some("html"),
            takes: Takes::Anything,
            help: "everything that it holds, with pictures, as one HTML page without scripts",
        }
    }

    fn write(
        &self,
        measurement: &Measurement,
        choice: &Choice,
        out: &mut dyn Output,
    ) -> Result<(), ExportError> {
        if let Some(id) = choice.section.as_deref().filter(|id| measurement.section(id).is_none()) {
            return Err(ExportError::no_section(id, measurement));
        }
        let mut page = Writer::default();
        page.whole(measurement, choice);
        out.file("")?.write_all(page.finish(&measurement.subject.name).as_bytes())?;
        Ok(())
    }
}

/// What comes first on the page, in this order; other sections follow as they are.
const FIRST: [&str; 3] = ["verdicts", "claims", "exact"];

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

    fn whole(&mut self, measurement: &Measurement, choice: &Choice) {
        self.tagged("h1", &measurement.subject.name);
        let question = measurement.subject.facts.iter().find(|fact| fact.name == "question");
        if let Some(question) = question.and_then(|fact| fact.text.as_ref()) {
            let question = escaped(question);
            let _ = writeln!(self.text, "<p class=\"question\">{question}</p>");
        }
        self.findings(&measurement.findings);
        self.figures(measurement);
        self.sections(measurement, choice);
        for part in &measurement.parts {
            let name = escaped(&part.name);
            let _ = writeln!(self.text, "<section class=\"part\"><h2>{name}</h2>");
            self.figures(&part.measurement);
            self.sections(&part.measurement, &Choice::default());
            self.push("</section>");
        }
        self.measured_by(measurement);
    }

    fn findings(&mut self, findings: &[Finding]) {
        if findings.is_empty() {
            return;
        }
        self.push("<ul class=\"findings\">");
        for finding in findings {
            let kind = match finding.severity {
                Severity::Fault => "fault",
                Severity::Warning => "warning",
                _ => "note",
            };
            let times = times(finding);
            let text = escaped(&finding.text);
            let _ = writeln!(self.text, "<li class=\"{kind}\">{text}{times}</li>");
        }
        self.push("</ul>");
    }

    /// The headline figures with what was seen and lost, and the balances.
    fn figures(&mut self, measurement: &Measurement) {
        self.described(header::figures(measurement));
        for balance in &measurement.balances {
            let text = escaped(&balance::text(balance));
            let _ = writeln!(self.text, "<p class=\"balance\">{text}</p>");
        }
    }

    fn described(&mut self, lines: Vec<(String, String)>) {
        if lines.is_empty() {
            return;
        }
        self.push("<dl>");
        for (name, text) in lines {
            self.tagged("dt", &name);
            self.tagged("dd", &text);
        }
        self.push("</dl>");
    }

    fn sections(&mut self, measurement: &Measurement, choice: &Choice) {
        let wanted = |s: &&Section| choice.section.as_deref().is_none_or(|wanted| wanted == s.id);
        let place = |s: &&Section| FIRST.iter().position(|id| *id == s.id).unwrap_or(FIRST.len());
        let mut sections: Vec<&Section> = measurement.sections.iter().filter(wanted).collect();
        sections.sort_by_key(place);
        sections.into_iter().for_each(|section| self.section(section, measurement));
    }

    fn section(&mut self, section: &Section, measurement: &Measurement) {
        let id = escaped(&section.id);
        let _ = writeln!(self.text, "<section data-id=\"{id}\">");
        self.tagged("h3", &section.title);
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
            self.push(&picture);
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
                "<img alt=\"flame graph\" src=\"data:image/svg+xml,{}\">",
                style::in_address(&picture)
            );
        }
        table::functions(profile, &mut self.text);
    }

    fn measured_by(&mut self, measurement: &Measurement) {
        self.push("<details><summary>how it was measured</summary>");
        let mut lines = header::about(measurement);
        lines.retain(|(name, _)| name != "question");
        self.described(lines);
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

#[cfg(test)]
mod tests;
