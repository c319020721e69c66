//! Why a function differs, in a line.

use strobe_analyse::compare::{Cause, FetchUnit, Rate};
use strobe_model::number::signed;

use super::state::{named, other_version};
use super::words::real;

/// The causes of a function's difference; nothing where none is known.
pub(super) fn text(causes: &[Cause]) -> String {
    causes.iter().filter_map(cause).collect::<Vec<_>>().join("; ")
}

/// One cause; nothing where its figures are the same as far as they are shown.
fn cause(cause: &Cause) -> Option<String> {
    Some(match cause {
        Cause::Calls { calls: [a, b] } => {
            let word = if b > a { "more" } else { "fewer" };
            format!("{word} calls, {} -> {}", signed(*a), signed(*b))
        }
        Cause::Instructions(rate) => changed(rate, "instructions", "fewer")?,
        Cause::Part { title, rate } => changed(rate, title, "less")?,
        Cause::Inlined { names, now: true } => format!("now has {} inlined", named(names)),
        Cause::Inlined { names, now: false } => format!("no longer has {} inlined", named(names)),
        Cause::SoftFloat { names, now, others } => soft_float(&named(names), *now, *others),
        Cause::OtherVersion(version) => other_version(version),
        Cause::Place { addresses, unit, size } => place(*addresses, *unit, *size),
    })
}

/// A figure of each side, where the two differ as far as they are shown.
fn changed(rate: &Rate, title: &str, fewer: &str) -> Option<String> {
    let [a, b] = rate.sides;
    let [from, to] = rate.sides.map(real);
    let word = if b > a { "more" } else { fewer };
    let per = if rate.per_call { " per call" } else { "" };
    (from != to).then(|| format!("{word} {title}{per}, {from} -> {to}"))
}

fn soft_float(names: &str, now: bool, others: bool) -> String {
    match (now, others) {
        (true, true) => format!("now calls {names} as well"),
        (true, false) => format!("now calls {names}: soft-float came in"),
        (false, true) => format!("no longer calls {names}"),
        (false, false) => format!("no longer calls {names}: soft-float is gone"),
    }
}

/// The same instructions at another place.
fn place([from, to]: [u64; 2], unit: FetchUnit, size: u64) -> String {
    let within = match unit {
        FetchUnit::FlashLine => "lines of the flash",
        FetchUnit::Word => "words that jumps fetch",
    };
    format!(
        "the same instructions lie otherwise in the {within}: 0x{from:08x} -> 0x{to:08x} (byte {} \
         -> {} of {size})",
        from % size,
        to % size
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_float_that_one_side_calls_is_named() {
        let text = |now, others| {
            let names = vec!["__aeabi_fmul".to_owned()];
            text(&[Cause::SoftFloat { names, now, others }])
        };
        assert_eq!(text(true, false), "now calls __aeabi_fmul: soft-float came in");
        assert_eq!(text(false, false), "no longer calls __aeabi_fmul: soft-float is gone");
        assert_eq!(text(true, true), "now calls __aeabi_fmul as well");
        assert_eq!(text(false, true), "no longer calls __aeabi_fmul");
    }

    #[test]
    fn figures_that_look_alike_are_not_named() {
        let rate = Rate { sides: [1.001, 1.002], per_call: true };
        assert_eq!(text(&[Cause::Instructions(rate)]), "");
    }
}
