//! Balances: what became of everything taken, each on one line that adds up.

use std::io::{self, Write};

use strobe_model::measurement::{Balance, Content, Loss, Measurement, Profile, Unit};

use super::{Page, View};
use crate::Options;
use crate::number::grouped;
use crate::paint::Paint;
use crate::text::layout::{heading, item};

/// The balances that do not stand under a profile.
pub(super) struct Balances;

impl View for Balances {
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        let shown: Vec<&Unit> = page
            .measurement
            .sections
            .iter()
            .filter(|section| page.selection.wants(section))
            .filter_map(|section| match &section.content {
                Content::Profile(profile) => shown(page, profile),
                _ => None,
            })
            .collect();
        let others = page.measurement.balances.iter();
        let others: Vec<&Balance> =
            others.filter(|balance| !shown.contains(&&balance.parts().unit)).collect();
        if others.is_empty() || page.selection.sections.is_some() {
            return Ok(());
        }
        heading("balance", page.options, out)?;
        others
            .iter()
            .try_for_each(|balance| item("", &text(balance), Paint::Plain, page.options, out))
    }
}

/// The unit of the balance that stands under a profile.
fn shown<'a>(page: &Page, profile: &'a Profile) -> Option<&'a Unit> {
    Some(&page.selection.measure_of(profile)?.unit)
}

/// The balances of a unit, under its profile.
pub(super) fn under(
    measurement: &Measurement,
    unit: &Unit,
    modelled: bool,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let label = if modelled { "balance of the likely figures: " } else { "balance: " };
    // Behind a long label there is no room for the text.
    let (label, begin) = if options.style.width < 80 { ("", label) } else { (label, "") };
    let all = measurement.balances.iter().filter(|balance| balance.parts().unit == *unit);
    all.into_iter().try_for_each(|balance| {
        item(label, &format!("{begin}{}", text(balance)), Paint::Faint, options, out)
    })
}

/// `23,734 cycles taken = 23,734 attributed + 0 idle + 0 lost`.
fn text(balance: &Balance) -> String {
    let parts = balance.parts();
    let mut sum = vec![format!("{} attributed", grouped(parts.attributed))];
    sum.extend(parts.unattributed.iter().map(|(why, n)| format!("{} {why}", grouped(*n))));
    sum.push(format!("{} idle", grouped(parts.idle)));
    let unknown = match &parts.lost {
        Loss::Known(n) => {
            sum.push(format!("{} lost", grouped(*n)));
            String::new()
        }
        Loss::AtLeast(n) => {
            sum.push(format!("at least {} lost", grouped(*n)));
            String::new()
        }
        Loss::Unknown(why) => format!("; how much was lost is unknown: {why}"),
    };
    let taken_as = if parts.taken_as.is_empty() { "taken" } else { &parts.taken_as };
    let what = if parts.what.is_empty() { &parts.unit.0 } else { parts.what.as_str() };
    format!("{} {what} {taken_as} = {}{unknown}", grouped(parts.taken), sum.join(" + "))
}
