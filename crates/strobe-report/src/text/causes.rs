//! Causes of cycles: the table, the letters that stand for them in a profile, and what they mean.

use std::io::{self, Write};

use strobe_model::{Bounds, Cause, CauseCycles, Record, Trust};

use super::layout::{heading, item};
use crate::figure::{Marks, spread};
use crate::number::share;
use crate::paint::Paint;
use crate::table::Table;
use crate::{Options, number};

/// Letters in a row's strip; each stands for a tenth of its cycles.
pub(super) const STRIP: usize = 10;

/// Characters in the bar of the table of causes.
const BAR: u64 = 25;

/// The letter of a cause.
pub(super) fn letter(cause: Cause) -> char {
    match cause {
        Cause::Execute => 'E',
        Cause::Refill => 'R',
        Cause::LoadStore => 'L',
        Cause::FetchWait => 'F',
        Cause::DataWait => 'D',
        Cause::Contention => 'C',
        Cause::ExceptionEntry => '>',
        Cause::ExceptionExit => '<',
        Cause::Asleep => 'z',
    }
}

/// What a newcomer should know about a cause, and what to do about it.
///
/// What helps differs between cores; `core` is its name as its maker writes it.
fn meaning(cause: Cause, core: &str) -> &'static str {
    let is_avr = core.starts_with("AVR");
    match cause {
        Cause::LoadStore if is_avr => {
            "the second cycle of an access to the data space, and the bytes of a return address. Keep values in \
             registers, inline small functions."
        }
        Cause::DataWait if is_avr => "the core stands still while the EEPROM is read or written.",
        Cause::ExceptionEntry if is_avr => {
            "the core pushes the program counter and goes to the vector. Fewer interrupts: longer timer periods, \
             polling where a byte takes little longer than a handler."
        }
        Cause::Asleep if is_avr => {
            "nothing to do: the core sleeps (SLEEP) or spins in an empty loop that only an interrupt can leave. \
             This is the room that is left."
        }
        Cause::Execute => {
            "the instruction itself. Fewer instructions: a better algorithm, a higher optimisation level."
        }
        Cause::Refill => {
            "after a taken branch, call or return the core fetches from the new place before it goes on. \
             Unroll short loops, inline small functions, let the common path fall through."
        }
        Cause::LoadStore => {
            "the data phase of memory accesses. Keep values in registers, move several words with one \
             instruction (ldm, stm)."
        }
        Cause::FetchWait => {
            "the core waits for an instruction from flash. Run hot code from RAM, align the targets of hot \
             branches to words, or choose a clock that needs fewer wait states."
        }
        Cause::DataWait => {
            "a load or store waits for its memory, such as a constant in flash or a register behind a slow \
             bridge. Copy hot tables to RAM."
        }
        Cause::Contention => {
            "another bus master (DMA) used the same memory at the same time. Spread buffers over memories, \
             or let DMA run when the core sleeps."
        }
        Cause::ExceptionEntry => {
            "the core saves registers and fetches the handler's address. Fewer interrupts: DMA, FIFOs, \
             longer timer periods."
        }
        Cause::ExceptionExit => "the core restores registers on the way out of a handler.",
        Cause::Asleep => {
            "nothing to do: the core sleeps (WFI, WFE) or spins in an empty loop that only an interrupt \
             can leave. This is the room that is left."
        }
    }
}

/// Ten letters in proportion to the causes of these cycles, idle ones left out: `EEEEERRLLF`.
pub(super) fn strip(cycles: &CauseCycles) -> String {
    let total = u128::from(cycles.busy());
    if total == 0 {
        return String::new();
    }
    // Each cause gets its whole tenths, then the largest remainders share what is left.
    let busy = cycles.iter().filter(|(cause, _)| *cause != Cause::Asleep);
    let scaled = busy.map(|(cause, n)| (cause, u128::from(n) * STRIP as u128));
    let mut parts: Vec<(Cause, u128, u128)> =
        scaled.map(|(cause, n)| (cause, n / total, n % total)).collect();
    let given: u128 = parts.iter().map(|(_, whole, _)| whole).sum();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(parts[i].2), i));
    for &i in order.iter().take(STRIP.saturating_sub(given as usize)) {
        parts[i].1 += 1;
    }
    let letters = parts.iter().map(|&(cause, n, _)| letter(cause).to_string().repeat(n as usize));
    letters.collect()
}

/// Cycles by cause with shares and bounds; they add up to the total beneath.
pub(super) fn table(record: &Record, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let by_cause = &record.totals.by_cause;
    let total = by_cause.total();
    if total == 0 {
        return Ok(());
    }
    heading("cycles by cause", options, out)?;
    let marks = Marks::of(&record.trust);
    let mut table =
        Table::new().number("cycles").number("share").number("bounds").text("").text("").text("");
    // How long the core sleeps depends on how long everything else took.
    let mark = |cause, bounds| match cause {
        Cause::Asleep => marks.general,
        _ => marks.bounded(bounds),
    };
    for (cause, cycles) in by_cause.iter().filter(|(_, n)| *n > 0) {
        let bounds = bounds_of(record, cause, cycles);
        let paint = if cause == Cause::Asleep { Paint::Idle } else { Paint::Plain };
        table.painted(
            vec![
                mark(cause, bounds).figure(cycles).into(),
                share(cycles, total).into(),
                spread(bounds).into(),
                letter(cause).to_string().into(),
                cause.name().into(),
                bar(cycles, total).into(),
            ],
            paint,
        );
    }
    table.rule();
    let all = record.totals.cycles;
    let whole = all.likely == total;
    let figure = if whole { marks.figure(all) } else { marks.general.figure(total) };
    let all = if whole { all } else { Bounds::exact(total) };
    let cells = vec![
        figure.into(),
        share(total, total).into(),
        spread(all).into(),
        "".into(),
        "all cycles".into(),
        "".into(),
    ];
    table.painted(cells, Paint::Strong);
    table.write(options.style, out)
}

/// The bounds that the model gives for a cause.
pub(super) fn bounds_of(record: &Record, cause: Cause, cycles: u64) -> Bounds {
    let Trust::Modelled { causes } = &record.trust else { return Bounds::exact(cycles) };
    let modelled = causes.iter().find(|m| m.cause == cause && m.cycles.likely == cycles);
    modelled.map_or(Bounds::exact(cycles), |m| m.cycles)
}

fn bar(part: u64, whole: u64) -> String {
    let length = u128::from(part) * u128::from(BAR) / u128::from(whole.max(1));
    "#".repeat((length as usize).max(usize::from(part > 0)).min(BAR as usize))
}

/// One paragraph per cause that appears.
pub(super) fn legend(
    by_cause: &CauseCycles,
    core: &str,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let present: Vec<Cause> =
        by_cause.iter().filter(|(_, n)| *n > 0).map(|(cause, _)| cause).collect();
    if present.is_empty() {
        return Ok(());
    }
    heading("what the causes mean", options, out)?;
    let width = present.iter().map(|c| c.name().len()).max().unwrap_or(0);
    for cause in present {
        let mark = format!("{}  {:width$}  ", letter(cause), cause.name());
        item(&mark, meaning(cause, core), Paint::Plain, options, out)?;
    }
    Ok(())
}

/// `1,234 execute + 456 pipeline refill`: non-zero causes with their counts.
pub(super) fn listed(cycles: &CauseCycles) -> String {
    let parts = cycles.iter().filter(|(_, n)| *n > 0);
    let parts: Vec<String> =
        parts.map(|(cause, n)| format!("{} {}", number::grouped(n), cause.name())).collect();
    parts.join(" + ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cycles(values: [u64; 9]) -> CauseCycles {
        let mut cycles = CauseCycles::ZERO;
        Cause::ALL.into_iter().zip(values).for_each(|(cause, n)| cycles[cause] = n);
        cycles
    }

    #[test]
    fn a_strip_is_in_proportion() {
        assert_eq!(strip(&cycles([5, 2, 2, 1, 0, 0, 0, 0, 90])), "EEEEERRLLF");
        assert_eq!(strip(&cycles([0, 0, 0, 0, 0, 0, 0, 0, 90])), "");
    }

    proptest! {
        #[test]
        fn a_strip_is_always_ten_letters(values: [u32; 9]) {
            let cycles = cycles(values.map(u64::from));
            prop_assume!(cycles.busy() > 0);
            prop_assert_eq!(strip(&cycles).len(), STRIP);
        }
    }
}
