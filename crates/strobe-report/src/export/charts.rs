//! Charts as one SVG without scripts: curves with their intervals, distributions side by side,
//! values in the order in which they came, and over time.
//!
//! What is drawn follows from what a section is: a table whose first column grows and whose figures
//! have intervals is a curve, distributions of one kind share an axis, as do counters of one name.

use std::collections::HashMap;

use strobe_model::measurement::{Content, Measurement, Section, Unit};

use self::curve::Curve;
use self::drawing::Drawing;
use super::{About, Choice, Export, ExportError, InputKind, Output};

mod axis;
mod curve;
mod drawing;
mod spread;
mod time;

pub(super) use drawing::STYLE;

/// The format.
pub(super) struct Charts;

impl Export for Charts {
    fn about(&self) -> About {
        About {
            name: "charts",
            aliases: &["picture"],
            extension: Some("svg"),
            takes: InputKind::Figures,
            help: "curves with intervals, distributions and values over time, as an SVG picture",
        }
    }

    fn write(
        &self,
        measurement: &Measurement,
        choice: &Choice,
        out: &mut dyn Output,
    ) -> Result<(), ExportError> {
        choice.check(measurement)?;
        let mut drawing = Drawing::from(44.0);
        choice.sections(measurement).for_each(|section| drawing.section(section));
        if drawing.charts == 0 {
            return Err(ExportError::nothing_to_take(self.about(), measurement, choice));
        }
        out.file("")?.write_all(drawing.finish(&measurement.subject.name).as_bytes())?;
        Ok(())
    }
}

/// What shares an axis: things of one unit whose names begin with the same word. Each with what is
/// left of its name, as `nginx` of `wall nginx`; one alone keeps all of its name.
struct Group<'a, T> {
    name: &'a str,
    own: Vec<(&'a str, T)>,
}

/// Groups in the order in which they begin.
fn grouped<'a, T>(
    all: impl Iterator<Item = T>,
    named: impl Fn(&T) -> (&'a str, &'a Unit),
) -> Vec<Group<'a, T>> {
    let (mut groups, mut index) = (Vec::<Group<'a, T>>::new(), HashMap::new());
    for one in all {
        let (name, unit) = named(&one);
        let (kind, own) = name.split_once(' ').unwrap_or((name, ""));
        let at = *index.entry((kind, unit)).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.own.push((own, one)),
            None => groups.push(Group { name: kind, own: vec![(own, one)] }),
        }
    }
    for group in &mut groups {
        if let [(own, one)] = &mut group.own[..] {
            group.name = named(one).0;
            *own = "";
        }
    }
    groups
}

/// Whether a section can be drawn.
pub(super) fn draws(content: &Content) -> bool {
    match content {
        Content::Distributions(all) => all.distributions.iter().any(|d| d.spread.count() > 0),
        Content::Table(table) => Curve::of(table).is_some(),
        Content::Timeline(line) => time::draws(line),
        _ => false,
    }
}

/// A section's charts as a part of a page that has [`STYLE`]; `None` for what cannot be drawn.
pub(super) fn inline(section: &Section) -> Option<String> {
    let mut drawing = Drawing::from(0.0);
    drawing.section(section);
    (drawing.charts > 0).then(|| drawing.inline())
}

#[cfg(test)]
mod tests;
