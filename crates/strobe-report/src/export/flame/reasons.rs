//! Why figures are modelled, in a line under a picture's title: whole reasons, as many as there is
//! room for, since a part of one reads as something else.

use strobe_model::measurement::{Kind, Measure, Profile};

use crate::number::grouped;
use crate::words::begun;

/// The reasons for a measure that is modelled for `why`: those of its parts, each once, where the
/// whole has them from its parts.
pub(super) fn of<'a>(profile: &'a Profile, measure: &'a Measure, why: &'a str) -> Vec<&'a str> {
    let mut reasons: Vec<&str> = Vec::new();
    for (part, _) in profile.parts(&measure.id) {
        match &part.kind {
            Kind::Modelled { why } if !reasons.contains(&why.as_str()) => reasons.push(why),
            _ => {}
        }
    }
    let rest = reasons.iter().fold(why.to_owned(), |rest, reason| rest.replacen(reason, "", 1));
    let is_sum = rest.chars().all(|c| c == ';' || c == ' ');
    if reasons.is_empty() || !is_sum { vec![why] } else { reasons }
}

/// `950 cycles, modelled: one reason; another; and 2 more reasons`.
pub(super) fn line(figure: &str, reasons: &[&str], room: usize) -> String {
    let fits = |kept: &[&str]| with(figure, kept, reasons.len()).chars().count() <= room;
    if fits(reasons) {
        return with(figure, reasons, reasons.len());
    }
    let mut kept: Vec<&str> = Vec::new();
    for reason in reasons {
        kept.push(reason);
        if !fits(&kept) {
            kept.pop();
        }
    }
    match (kept.is_empty(), reasons) {
        (true, [reason]) => begun(&format!("{figure}, modelled: {reason}"), room),
        (true, _) => format!("{figure}, modelled for {} reasons", grouped(reasons.len() as u64)),
        (false, _) => with(figure, &kept, reasons.len()),
    }
}

fn with(figure: &str, kept: &[&str], all: usize) -> String {
    let more = match all.saturating_sub(kept.len()) {
        0 => String::new(),
        1 => "; and one more reason".to_owned(),
        n => format!("; and {} more reasons", grouped(n as u64)),
    };
    format!("{figure}, modelled: {}{more}", kept.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REASONS: [&str; 3] =
        ["one word per two cycles; a taken branch reads anew", "no manual has it", "leaving"];

    #[test]
    fn reasons_are_whole() {
        let line = |room: usize| line("950 cycles", &REASONS, room);
        let all = "950 cycles, modelled: one word per two cycles; a taken branch reads anew; no \
                   manual has it; leaving";
        assert_eq!(line(all.len()), all);
        let first = "950 cycles, modelled: one word per two cycles; a taken branch reads anew";
        assert_eq!(line(all.len() - 1), format!("{first}; and 2 more reasons"));
        let short = "950 cycles, modelled: no manual has it; leaving; and one more reason";
        assert_eq!(line(short.len()), short);
        let one = "950 cycles, modelled: leaving; and 2 more reasons";
        assert_eq!(line(one.len()), one);
        assert_eq!(line(one.len() - 1), "950 cycles, modelled for 3 reasons");
    }

    #[test]
    fn a_reason_alone_is_cut_at_its_end() {
        let line = line("950 cycles", &REASONS[..1], 40);
        assert_eq!(line, "950 cycles, modelled: one word per tw...");
    }
}
