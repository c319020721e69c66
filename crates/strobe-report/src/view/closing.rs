//! The end of a report: why some figures are modelled and how sure sampled ones are, and what the
//! causes mean.

use std::collections::HashSet;
use std::io::{self, Write};

use strobe_analyse::attribution::{Amount, By, total};
use strobe_model::Bounds;
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    CORE_TIMING, Cell, Content, Kind, Loss, Measure, Measurement, Profile, Quantity, Section,
    Table, Trust,
};

use super::causes::{legend, present, stated};
use super::figure::with_unit;
use super::{Page, View};
use crate::number::grouped;
use crate::paint::Paint;
use crate::text::layout::{heading, item};

/// The last lines.
pub(super) struct Closing;

impl View for Closing {
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        let sections =
            page.measurement.sections.iter().filter(|s| page.selection.wants(page.measurement, s));
        let sections: Vec<&Section> = sections.collect();
        modelled(page, &reasons(page, &sections), out)?;
        sampled(page, &sections, out)?;
        if page.options.quiet {
            return Ok(());
        }
        for section in sections {
            let Content::Profile(profile) = &section.content else { continue };
            let Some(measure) = page.selection.measure_of(profile) else { continue };
            if let Some(total) = total(profile, &measure.id, &By::Function) {
                legend(profile, measure, &total, page.options, out)?;
            }
        }
        Ok(())
    }
}

/// Why figures are modelled, each reason with those of which the bounds are worth a line.
#[derive(Default)]
struct Reasons(Vec<(String, Vec<String>)>);

impl Reasons {
    fn add(&mut self, why: &str, figure: Option<String>) {
        let at = self.0.iter().position(|(known, _)| known == why).unwrap_or_else(|| {
            self.0.push((why.to_owned(), Vec::new()));
            self.0.len() - 1
        });
        self.0[at].1.extend(figure);
    }

    /// Whether a reason is nothing but several of the others, each behind a semicolon.
    fn covers(&self, why: &str) -> bool {
        let mut rest = why.to_owned();
        for (known, _) in self.0.iter().filter(|(known, _)| known != why) {
            rest = rest.replace(known.as_str(), "");
        }
        rest.chars().all(|c| c == ';' || c == ' ')
    }
}

fn reasons(page: &Page, sections: &[&Section]) -> Reasons {
    let mut reasons = Reasons::default();
    for section in sections {
        match &section.content {
            Content::Profile(profile) => of_profile(page, profile, &mut reasons),
            Content::Table(table) => of_table(table, &mut reasons),
            Content::Distributions(all) => {
                let whys = all.distributions.iter().filter_map(|d| d.why.as_deref());
                whys.for_each(|why| reasons.add(why, None));
            }
            Content::Timeline(_) | Content::Text(_) => {}
        }
    }
    let totals = page.measurement.totals.iter().map(|total| (&total.title, &total.quantity));
    let facts = page.measurement.subject.facts.iter();
    let facts = facts.filter_map(|fact| Some((&fact.name, fact.figure.as_ref()?)));
    for (title, quantity) in totals.chain(facts) {
        if let Trust::Modelled { why: Some(why), .. } = quantity.trust() {
            let is_new = reasons.0.iter().all(|(known, _)| known != why);
            let figure = is_new.then(|| format!("{title}: {}", with_unit(quantity)));
            reasons.add(why, figure);
        }
    }
    reasons
}

/// The parts of the measure that are modelled; the whole where no part is.
fn of_profile(page: &Page, profile: &Profile, reasons: &mut Reasons) {
    let Some(measure) = page.selection.measure_of(profile) else { return };
    let Some(total) = total(profile, &measure.id, &By::Function) else { return };
    let parts = present(profile, measure, &total).into_iter();
    let parts = parts.map(|(measure, _, amount)| (measure, amount));
    let mut any = false;
    for (cause, amount) in parts {
        any |= add(cause, stated(page, cause, amount), reasons);
    }
    if !any && !total.all.is_exact() {
        add(measure, total.all, reasons);
    }
}

fn add(measure: &Measure, amount: Amount, reasons: &mut Reasons) -> bool {
    let Kind::Modelled { why } = &measure.kind else { return false };
    let count = |n: i64| u64::try_from(n).unwrap_or(0);
    let Amount { low, value, high } = amount.ordered();
    let bounds = Bounds { low: count(low), likely: count(value), high: count(high) };
    let quantity = Quantity::modelled(bounds, measure.unit.clone(), None);
    let unit = measure.unit.0.as_ref();
    let figure = super::figure::sentence(&quantity);
    let silent = super::figure::unit_name(&measure.unit).is_none() || measure.title == unit;
    let unit = if silent { String::new() } else { format!(" {unit}") };
    let sign = if amount.is_exact() { "~" } else { "" };
    reasons.add(why, Some(format!("{}: {sign}{figure}{unit}", measure.title)));
    true
}

fn of_table(table: &Table, reasons: &mut Reasons) {
    let cells = table.columns.iter().flat_map(|column| &column.cells);
    for cell in cells.chain(table.footer.iter().flatten()) {
        if let Cell::Figure { trust: Trust::Modelled { why: Some(why), .. }, .. } = cell {
            reasons.add(why, None);
        }
    }
}

fn modelled(page: &Page, reasons: &Reasons, out: &mut dyn Write) -> io::Result<()> {
    if reasons.0.is_empty() {
        return Ok(());
    }
    let options = page.options;
    let unbounded = reasons.0.iter().flat_map(|(_, figures)| figures);
    let rests_on_model = unbounded.into_iter().any(|figure| !figure.contains('('));
    let is_timed = page.measurement.subject.facts.iter().any(|fact| fact.name == CORE_TIMING);
    let others = match (rests_on_model, is_timed) {
        (true, _) => "what is listed without rests on the model alone",
        (false, true) => "cycles of all others are as sure as the core's timing",
        (false, false) => "all others are exact",
    };
    let findings = &page.measurement.findings;
    let is_unbounded = findings.iter().any(|finding| finding.code == ids::finding::NO_BOUNDS);
    let text = if is_unbounded {
        "modelled figures: those marked ~ are likely ones, without bounds".to_owned()
    } else {
        format!("modelled figures: those marked ~ are likely ones and have bounds; {others}")
    };
    heading(&text, options, out)?;
    for (why, figures) in
        reasons.0.iter().filter(|(why, figures)| !figures.is_empty() || !reasons.covers(why))
    {
        for figure in figures {
            item("~ ", figure, Paint::Plain, options, out)?;
        }
        if !options.quiet {
            let mark = if figures.is_empty() { "~ " } else { "    " };
            item(mark, why, Paint::Plain, options, out)?;
        }
    }
    Ok(())
}

/// How figures from samples are to be read.
fn sampled(page: &Page, sections: &[&Section], out: &mut dyn Write) -> io::Result<()> {
    let profiles = sections.iter().filter_map(|section| match &section.content {
        Content::Profile(profile) => page.selection.measure_of(profile),
        _ => None,
    });
    let mut periods: HashSet<String> = HashSet::new();
    let mut is_sampled = false;
    for measure in profiles {
        let Kind::Sampled { period, period_unit } = &measure.kind else { continue };
        is_sampled = true;
        let unit = period_unit.as_ref().map_or("", |unit| unit.0.as_ref());
        periods.extend(period.map(|n| format!(" One sample in {} {unit}.", grouped(n))));
    }
    if !is_sampled || page.options.quiet {
        return Ok(());
    }
    let notes = sections.iter().flat_map(|section| &section.notes);
    let is_said = notes.into_iter().any(|note| note.contains("Wilson"));
    let lost_some = lost_some(page.measurement);
    if is_said && !lost_some {
        return Ok(());
    }
    heading("how far to trust the shares", page.options, out)?;
    let mut periods: Vec<String> = periods.into_iter().collect();
    periods.sort_unstable();
    let text = format!(
        "Intervals are Wilson's, 95 %: of samples taken independently, about one share in twenty \
         lies outside. Code that runs in step with the sampling period can be off by more.{}",
        periods.concat()
    );
    if !is_said {
        item("", &text, Paint::Plain, page.options, out)?;
    }
    if lost_some {
        let text = "Samples were lost, and not at random: a full FIFO takes the next packet as \
                    soon as there is room, at fixed distances. No interval covers that; use a \
                    plan that the link can carry (strobe plan).";
        item("! ", text, Paint::Warn, page.options, out)?;
    }
    Ok(())
}

fn lost_some(measurement: &Measurement) -> bool {
    let lost = |loss: &Loss| loss.known() > 0;
    let quantity = measurement.coverage.lost.as_ref().and_then(Quantity::value);
    measurement.balances.iter().any(|balance| lost(&balance.parts().lost))
        || quantity.is_some_and(|lost| lost.as_f64() > 0.0)
}
