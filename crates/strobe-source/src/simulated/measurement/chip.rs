//! What cycles of a core whose timing is inferred may be on a chip.

use crate::cycles::report::RunCycles;
use crate::simulated::run_record::{RunRecord, Until};
use strobe_devices::board::Board;
use strobe_model::Bounds;
use strobe_model::measurement::{CORE_TIMING, Fact, Number, Quantity, Trust, Unit};
use strobe_sim::cortexm::Residual;
use strobe_sim::cortexm::timing::CoreKind;

use super::{Model, is_to_a_time};

/// What published figures are off, for this core on this board.
fn residual(core: &str, board: &str) -> Option<Residual> {
    let residual = CoreKind::named(core)?.residual()?;
    Some(if Board::is_bare(board) { residual.envelope() } else { residual })
}

/// The band of every cycle that the core works, as all reports have it: a hundred cycles of the
/// model on a chip. Nothing of a core that follows its manual.
pub fn core_timing(core: &str, board: &str) -> Option<Fact> {
    let Residual { less, more, .. } = residual(core, board)?;
    let percent = |mille: u32| Number::from(f64::from(mille) / 10.0);
    let (low, high) = (percent(1000 - less.min(1000)), percent(1000 + more));
    let trust = Trust::Modelled { low, high, why: on_chips(core, board) };
    let figure = Quantity::new(Some(100u64.into()), Unit::PERCENT, trust).ok()?;
    Some(Fact { text: Some(OF_EACH.to_owned()), ..Fact::figure(CORE_TIMING, figure) })
}

const OF_EACH: &str = "cycles of work on a chip, of those here";

/// The cycles of a run with what the timing model of the core may be off, where there is such a
/// model. With modelled waits in it the band of one run is not the whole uncertainty: that of the
/// three runs together is.
pub(super) fn cycles(record: &RunRecord, model: &Model) -> Option<Quantity> {
    let (core, board) = (record.subject.core(), record.subject.board());
    let residual = residual(core, board)?;
    if model.waits {
        return unbounded(record.totals.cycles, on_chips(core, board));
    }
    let all = Bounds::exact(record.totals.cycles);
    let band = if is_to_a_time(record) {
        residual.in_a_time(all, &spans(record))
    } else {
        residual.around(all, work(record))
    };
    Some(Quantity::modelled(band, Unit::CYCLES, on_chips(core, board)))
}

/// Cycles whose bounds one run does not know.
fn unbounded(cycles: u64, why: Option<String>) -> Option<Quantity> {
    let value = Number::from(cycles);
    let trust = Trust::Modelled { low: value, high: value, why };
    Quantity::new(Some(value), Unit::CYCLES, trust).ok()
}

/// The cycles of a function in a run with the same; where it waits for something is not known of
/// it.
pub fn of_run(core: &str, board: &str, run: &RunCycles, busy: Bounds) -> Option<Quantity> {
    let band = residual(core, board)?.around(busy, busy);
    if run.is_unbounded {
        return unbounded(busy.likely, on_chips(core, board)).filter(|_| run.count > 0);
    }
    (run.count > 0).then(|| Quantity::modelled(band, Unit::CYCLES, on_chips(core, board)))
}

/// Cycles that are the core's own: not asleep, and in no loop that something outside ends.
fn work(record: &RunRecord) -> Bounds {
    let busy = Bounds::exact(record.busy().0);
    let waits = record.waits.iter().filter(|wait| wait.until == Until::Outside);
    let waits = waits.fold(Bounds::default(), |sum, wait| sum + wait.cycles);
    Bounds {
        low: busy.low.saturating_sub(waits.high),
        likely: busy.likely.saturating_sub(waits.likely),
        high: busy.high.saturating_sub(waits.low),
    }
}

/// How many cycles the run had at each clock.
fn spans(record: &RunRecord) -> Vec<(u64, u32)> {
    let clock = &record.subject.clock;
    let ends = clock.iter().skip(1).map(|next| next.cycle).chain([record.run_cycles]);
    let length = |(span, end): (&strobe_model::measurement::ClockSpan, u64)| {
        (end.saturating_sub(span.cycle), span.hz)
    };
    clock.iter().zip(ends).map(length).collect()
}

/// The same band in a sentence, for tables whose cycles are the model's.
pub fn of_rows(core: &str, board: &str) -> Option<String> {
    let Residual { less, more, .. } = residual(core, board)?;
    let percent = |mille: u32| format!("{}.{} %", mille / 10, mille % 10);
    Some(format!(
        "cycles are the model's; what the core works may take {} less to {} more on a chip",
        percent(less),
        percent(more)
    ))
}

/// How well the timing of a core is known, where it is inferred.
pub fn on_chips(core: &str, board: &str) -> Option<String> {
    let Residual { figures, median, less, more, more_with_waits } =
        CoreKind::named(core)?.residual()?;
    let percent = |mille: u32| format!("{}.{} %", mille / 10, mille % 10);
    let mut text = format!(
        "The timing of the {core} is inferred: {figures} published figures of real parts without \
         wait states are up to {} less or {} more than the model's, half of them within {}; a \
         function's cycles may be as far off",
        percent(less),
        percent(more),
        percent(median)
    );
    if Board::is_bare(board) {
        text += &format!(
            ". Where RAM makes the core wait, as SRAM2 of STM32F2 and F4 does, they are up to {} \
             more than those of this bare core",
            percent(more_with_waits)
        );
    }
    Some(text)
}
