//! Balances: what became of everything taken, each on one line that adds up.

use std::io::{self, Write};

use strobe_model::measurement::{Balance, Content, Loss, Measurement, Profile, Unit};

use super::{Page, View};
use crate::Options;
use crate::number::grouped;
use crate::paint::Paint;
use crate::text::layout::{heading, item};

/// Units of what can be idle.
const OF_TIME: [Unit; 5] =
    [Unit::CYCLES, Unit::SAMPLES, Unit::NANOSECONDS, Unit::PICOSECONDS, Unit::TICKS];

/// The balances that do not stand under a profile.
pub(super) struct Balances;

impl View for Balances {
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        let shown: Vec<&Unit> = page
            .measurement
            .sections
            .iter()
            .filter(|section| page.selection.wants(page.measurement, section))
            .filter_map(|section| match &section.content {
                Content::Profile(profile) => shown(page, profile),
                _ => None,
            })
            .collect();
        let under = shown.iter().filter_map(|unit| first(page.measurement, unit));
        let under: Vec<&Balance> = under.collect();
        let is_new = |balance: &&Balance| under.iter().all(|shown| !same(shown, balance));
        let others: Vec<&Balance> = page.measurement.balances.iter().filter(is_new).collect();
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

/// The first balance of a unit, under its profile.
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
    match first(measurement, unit) {
        Some(balance) => {
            item(label, &format!("{begin}{}", text(balance)), Paint::Faint, options, out)
        }
        None => Ok(()),
    }
}

fn first<'a>(measurement: &'a Measurement, unit: &Unit) -> Option<&'a Balance> {
    measurement.balances.iter().find(|balance| balance.parts().unit == *unit)
}

/// Whether two balances have the same sums, as those of code and of threads have.
fn same(a: &Balance, b: &Balance) -> bool {
    let sums = |balance: &Balance| {
        let parts = balance.parts();
        (parts.unit.clone(), parts.taken, parts.idle, parts.lost.clone())
    };
    sums(a) == sums(b)
}

/// `23,734 cycles taken = 23,734 attributed + 0 idle + 0 lost`.
pub(crate) fn text(balance: &Balance) -> String {
    let parts = balance.parts();
    let attributed_as = match parts.attributed_as.as_str() {
        "" => "attributed",
        word => word,
    };
    let mut sum = vec![format!("{} {attributed_as}", grouped(parts.attributed))];
    sum.extend(parts.unattributed.iter().map(|(why, n)| format!("{} {why}", grouped(*n))));
    // Bytes, blocks and events are never idle.
    if parts.idle > 0 || OF_TIME.contains(&parts.unit) {
        sum.push(format!("{} idle", grouped(parts.idle)));
    }
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
    let what: &str = if parts.what.is_empty() { &parts.unit.0 } else { parts.what.as_str() };
    let what = if parts.taken == 1 { what.strip_suffix('s').unwrap_or(what) } else { what };
    // With more lost there was more of it.
    let more = if matches!(parts.lost, Loss::AtLeast(_)) { "at least " } else { "" };
    format!("{more}{} {what} {taken_as} = {}{unknown}", grouped(parts.taken), sum.join(" + "))
}

#[cfg(test)]
mod tests {
    use strobe_model::measurement::Parts;

    use super::*;

    #[test]
    fn one_is_singular_and_blocks_are_never_idle() {
        let shown = |what: &str, unit: Unit, taken: u64| {
            let parts = Parts {
                what: what.to_owned(),
                unit,
                taken_as: String::new(),
                taken,
                attributed: taken,
                attributed_as: "freed".to_owned(),
                unattributed: Vec::new(),
                idle: 0,
                lost: Loss::Known(0),
            };
            text(&Balance::new(parts).unwrap())
        };
        let one = shown("heap blocks", Unit::COUNT, 1);
        assert_eq!(one, "1 heap block taken = 1 freed + 0 lost");
        let many = shown("", Unit::CYCLES, 1_000);
        assert_eq!(many, "1,000 cycles taken = 1,000 freed + 0 idle + 0 lost");
    }
}
