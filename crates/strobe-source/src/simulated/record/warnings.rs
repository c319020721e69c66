//! What the user of a run is warned of, and which registers nobody has modelled.

use crate::simulated::run_record::UnmodelledRegister;
use strobe_devices::board::Board;
use strobe_model::measurement::Finding;
use strobe_sim::bus::{Bus, Unclocked};
use strobe_sim::cortexm::FaultReport;
use strobe_sim::unmodelled::Touched;
use strobe_symbols::Firmware;

use super::fault;
use crate::names::Names;
use crate::simulated::drive::{self, Run};
use crate::simulated::{advice, fit, lost, overflow};

/// The registers that were accessed and that nobody has modelled.
pub(super) fn unmodelled(bus: &Bus, names: &Names) -> Vec<UnmodelledRegister> {
    let one = |(address, touched): (u32, Touched)| {
        let device = bus.device_at(address).map(str::to_owned);
        UnmodelledRegister {
            address: format!("{address:#010x}"),
            known_device: device.is_some(),
            peripheral: device,
            register: bus.register_at(address).map(str::to_owned),
            reads: touched.reads,
            writes: touched.writes,
            first_from: names.describe(touched.first_pc).swap_remove(0),
        }
    };
    bus.unmodelled.touched().map(one).collect()
}

/// All that a run warns of.
pub(super) fn all(
    firmware: &Firmware,
    board: &Board,
    run: &Run,
    names: &Names,
    threads: &[&str],
) -> Vec<Finding> {
    let bus = run.machine.bus();
    let calls = &run.machine.observer().1.0;
    let mut out = overflow::warnings(firmware, calls, names, threads);
    out.extend(run.start.warning(board, bus));
    out.extend(run.shifting.as_ref().map(drive::Shifting::note));
    let misfit = fit::complaint(firmware, board, bus);
    out.extend(misfit.map(|text| Finding::warning("board-misfit", text)));
    out.extend(lost::warnings(run, names));
    out.extend(advice::warnings(firmware, board, bus, run.machine.cycles(), names));
    out.extend(bus.unclocked().map(|access| unclocked(&access, bus, names)));
    let coded = bus.warnings.coded();
    out.extend(coded.map(|(code, text, count)| Finding::warning(code, text).times(count)));
    let refused = bus.unmodelled.touched().filter(|(_, touched)| touched.refused > 0);
    out.extend(refused.map(|(address, touched)| read_only(address, &touched, bus, names)));
    out.extend(run.scripts.iter().filter_map(|script| script.left(&run.machine)));
    if bus.unmodelled.overflow() > 0 {
        let text = "further unmodelled registers were accessed than are listed";
        out.push(Finding::warning("unlisted-registers", text).times(bus.unmodelled.overflow()));
    }
    let faults = run.machine.handled_faults().iter();
    out.extend(faults.map(|f| handled(&f.report, f.count, names)));
    let symbols =
        firmware.warnings().iter().map(|w| Finding::warning("debug-information", w.to_string()));
    out.extend(symbols);
    out
}

/// A device was accessed whose clock was off.
fn unclocked(u: &Unclocked, bus: &Bus, names: &Names) -> Finding {
    let enable = if u.enable.is_empty() { "its clock enable bit" } else { u.enable };
    let fate = if bus.answers_unclocked() {
        "it answers all the same, the chip would not"
    } else {
        "it reads as zero and ignores writes, as on the chip"
    };
    let text = format!(
        "{} was accessed while its clock was off: {fate}; set {enable} first (first access \
         from {})",
        u.device,
        names.describe(u.first_pc).swap_remove(0)
    );
    Finding::warning("unclocked-device", text).times(u.accesses)
}

/// A register was written that can only be read.
fn read_only(address: u32, touched: &Touched, bus: &Bus, names: &Names) -> Finding {
    let name = bus.register_at(address).unwrap_or("a register");
    let from = names.describe(touched.first_pc).swap_remove(0);
    let text = format!(
        "{name} at {address:#010x} is read-only: writing it has no effect (first accessed from \
         {from})"
    );
    Finding::warning("read-only-register", text).times(touched.refused)
}

/// Faults that the firmware has handlers for, which ran.
fn handled(report: &FaultReport, count: u64, names: &Names) -> Finding {
    let place = names.describe(report.pc).swap_remove(0);
    let text = format!(
        "{}, which the firmware's {} handler was started for (at {place})",
        fault::text(report, names),
        crate::exception::exception_name(report.exception)
    );
    Finding::warning("handled-fault", text).times(count)
}
