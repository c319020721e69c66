//! Why a budget is not held, and which figure is missing.

use strobe_analyse::budget::{ContentKind, Missing, NameKind, Openness, Reason};
use strobe_model::measurement::ids;

/// Why a budget is not held.
#[must_use]
pub fn text(reason: &Reason) -> String {
    match reason {
        Reason::Unmeasured(text) | Reason::UnknownFigure(text) => text.clone(),
        Reason::Missing(figure) => missing(figure),
        Reason::NoClock { unit, limit } => {
            format!("the figure is in {unit} and the core clock is not known: `{limit}`")
        }
        Reason::OtherUnit { unit, limit } => {
            format!("the figure is in {unit}, which `{limit}` is not")
        }
        Reason::MixedUnits(limit) => format!("`{limit}` is not in the unit of the other limit"),
        Reason::NothingStored(limit) => format!(
            "`{limit}` is relative and nothing is stored to compare with; strobe check --accept \
             stores it, --against REV builds it"
        ),
        Reason::OtherBaselineUnit { stored, unit } => {
            format!("the baseline is in {stored}, the figure in {unit}")
        }
        Reason::Unconvertible => "the baseline cannot be converted".to_owned(),
        Reason::Undecided(openness) => undecided(*openness).to_owned(),
    }
}

fn undecided(openness: Openness) -> &'static str {
    match openness {
        Openness::Samples => "the interval reaches over the limit; more samples would settle it",
        Openness::LowerBound => "only a lower bound is known",
        Openness::UpperBound => "only an upper bound is known",
        Openness::Resolution => "the resolution of the measurement reaches over the limit",
        Openness::Bounds => {
            "its bounds reach over the limit; raise the limit or set judge = \"likely\""
        }
    }
}

/// A figure that is not there.
#[must_use]
pub fn missing(figure: &Missing) -> String {
    match figure {
        Missing::Name { kind, name, nearest, all } => unknown_name(kind, name, nearest, all),
        Missing::Content { section, wanted: ContentKind::Table } => {
            format!("section `{section}` is no table")
        }
        Missing::Content { section, wanted: ContentKind::Distributions } => {
            format!("section `{section}` has no distributions")
        }
        Missing::Content { section, wanted: ContentKind::Profile } => {
            format!("section `{section}` is no profile")
        }
        Missing::Ambiguous { section, name, rows } => {
            let text = format!("several rows of {section} end with `{name}`");
            with_nearest(text, rows)
        }
        Missing::NoProfile => "the measurement has no profile of functions".to_owned(),
        Missing::NoMeasure => "the profile counts nothing".to_owned(),
    }
}

fn unknown_name(kind: &NameKind, name: &str, nearest: &[String], all: &[String]) -> String {
    if let Some(why) = absent(name).filter(|_| *kind == NameKind::Section) {
        return format!("{why} (no section `{name}`)");
    }
    let kind = match kind {
        NameKind::Total => "total".to_owned(),
        NameKind::Section => "section".to_owned(),
        NameKind::Statistic => "figure of a distribution".to_owned(),
        NameKind::Column(section) => format!("column of {section}"),
        NameKind::Row(section) => format!("row of {section}"),
        NameKind::Measure(section) => format!("measure of {section}"),
        NameKind::Symbol => "symbol".to_owned(),
        NameKind::Function => "function that ran".to_owned(),
    };
    let mut text = format!("no {kind} `{name}` in the measurement");
    if !all.is_empty() {
        text.push_str(&format!("; there is {}", all.join(", ")));
    }
    with_nearest(text, nearest)
}

fn with_nearest(text: String, nearest: &[String]) -> String {
    if nearest.is_empty() { text } else { format!("{text}; nearest: {}", nearest.join(", ")) }
}

/// What it means that a measurement lacks a section.
fn absent(id: &str) -> Option<&'static str> {
    Some(match id {
        ids::section::WINDOWS => {
            "no window was measured: nothing went from its beginning to its end"
        }
        ids::section::KIT_DURATIONS => {
            "no region of the kit was reported; they are in recordings, which `of` names"
        }
        ids::section::PINS => "no pulse of a pin was measured",
        ids::section::LATENCIES | ids::section::INTERRUPTS => "no interrupt was taken",
        ids::section::REGIONS | ids::section::ARCHIVES => {
            "memories and archives are known from the linker's map alone: `size = [\"--map\", \
             FILE]`"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_that_is_missing_is_explained() {
        let section = |name: &str| Missing::Name {
            kind: NameKind::Section,
            name: name.to_owned(),
            nearest: vec!["threads".to_owned()],
            all: Vec::new(),
        };
        let text = missing(&section("windows"));
        assert!(text.starts_with("no window was measured"), "{text}");
        let text = missing(&section("thread"));
        assert_eq!(text, "no section `thread` in the measurement; nearest: threads");
    }

    #[test]
    fn a_missing_row_names_the_known_ones() {
        let files = ["/w/drv/uart.c", "main.c"].map(str::to_owned);
        let row = Missing::Name {
            kind: NameKind::Row("files".to_owned()),
            name: "zzz".to_owned(),
            nearest: Vec::new(),
            all: files.to_vec(),
        };
        let text = missing(&row);
        assert!(text.contains("no row of files `zzz`"), "{text}");
        assert!(text.ends_with("; there is /w/drv/uart.c, main.c"), "{text}");
    }
}
