//! Makes the record of a finished run.

use strobe_model::{
    AddressShare, Balance, Cause, CauseCycles, ClockSpan, Coverage, EndReason, ExceptionStatistics,
    Fault, Instrument, ModelledCause, Moment, Parts, Place, Record, SCHEMA, Series, Share, Sizes,
    Subject, Totals, TreeNode, Trust, UnmodelledRegister, Warning, Window,
};
use strobe_sim::avr;
use strobe_sim::board::Board;
use strobe_sim::bus::{Bus, Unclocked};
use strobe_sim::cortexm::FaultReport;
use strobe_sim::device::Size;
use strobe_sim::machine::Report;
use strobe_sim::observe::calls::{Node, NodeKind};
use strobe_sim::observe::counts::{self, AddressCount};
use strobe_sim::pace::Drift;
use strobe_symbols::Firmware;

use super::Error;
use super::drive::Run;
use super::models::Further;
use super::scheduling;
use super::settings::Settings;
use crate::names::{Names, outermost};

pub(super) fn make(
    firmware: &Firmware,
    board: &Board,
    settings: &Settings,
    mut run: Run,
    end_reason: EndReason,
) -> Result<Record, Error> {
    let (end, pc) = (run.now(), run.machine.pc());
    let (watch, clocks) = run.machine.observer_and_clocks();
    watch.1.0.finish(end, pc, clocks);
    let mut counts = run.machine.observer_mut().0.finish();
    let further = Further::of(run.cycles.likely, run.drift, &counts);
    further.apply(&mut counts);
    let mut names = Names::new(firmware);
    names.add_samples(&counts);
    let shares = run.machine.observer().0.apart();
    names.profile.shares = shares.map(|s| share(&counts, s, further)).collect();
    names.profile.shares.sort_by_key(|share| share.who);
    let mut by_cause = CauseCycles::ZERO;
    counts.iter().for_each(|(_, c)| by_cause += c.cycles);
    let unnamed: u64 = names
        .profile
        .addresses
        .iter()
        .filter(|s| s.function.is_none())
        .map(|s| s.cycles.busy())
        .sum();
    let balance = Balance::new(Parts {
        taken: run.cycles.likely,
        attributed: by_cause.busy() - unnamed,
        unattributed: if unnamed > 0 {
            vec![("no symbol".to_owned(), unnamed)]
        } else {
            Vec::new()
        },
        idle: by_cause[Cause::Asleep],
        lost: 0,
    })?;
    let calls = &run.machine.observer().1.0;
    names.profile.tree_cut = calls.cut;
    let starts: Vec<u32> = outermost(firmware).map(|f| f.start).collect();
    let exceptions = exceptions(&run, &mut names, &starts);
    let scheduling = scheduling::make(firmware, &run, &exceptions)?;
    let labels: Vec<&str> = scheduling.threads.iter().map(|t| t.name.as_str()).collect();
    names.profile.tree = tree(run.machine.bus(), calls.nodes(), &mut names, &starts, &labels);
    let seen = super::calls::seen(&run, &mut names, &starts, &labels);
    let mut warnings = super::overflow::warnings(firmware, calls, &names, &labels);
    warnings.extend(self::warnings(firmware, board, &run, &names));
    let waits = super::waiting::find(&names, run.machine.bus(), &run.idle);
    let moment = |cycle| moment(run.machine.bus(), cycle);
    let begin = run.begin.unwrap_or_default();
    Ok(Record {
        schema: SCHEMA,
        subject: subject(firmware, board, run.machine.bus()),
        instrument: Instrument {
            kind: "simulated board".to_owned(),
            tool: format!("strobe {}", env!("CARGO_PKG_VERSION")),
            settings: settings.describe(),
        },
        window: Window {
            begin: moment(begin.cycle),
            end: moment(run.end.cycle),
            entries: run.entries,
            nanoseconds: run.nanoseconds,
            end_reason,
        },
        totals: Totals { cycles: run.cycles, instructions: run.instructions, by_cause },
        balance,
        trust: trust(&run, board, &by_cause, further),
        coverage: Coverage {
            run_cycles: end.cycle,
            seen_cycles: run.cycles.likely,
            lost_cycles: Some(0),
            overhead_cycles: 0,
        },
        exceptions,
        scheduling: Some(scheduling),
        series: series(&run),
        unmodelled: unmodelled(run.machine.bus(), &names),
        warnings,
        fault: run.fault.as_ref().map(|(report, lockup)| fault(&run, report, *lockup, &names)),
        profile: names.profile,
        unreached: run.unreached(settings),
        calls: seen,
        waits,
        windows: settings.to.is_some().then(|| run.windows.clone()),
        traced: None,
    })
}

pub(super) fn moment(bus: &Bus, cycle: u64) -> Moment {
    Moment { cycle, nanoseconds: bus.clocks.nanoseconds_at(cycle) }
}

/// A thread's or handler's part of all counts, which are in address order.
fn share(all: &[(u32, AddressCount)], share: counts::Share, further: Further) -> Share {
    let mut by_cause = CauseCycles::ZERO;
    let mut addresses = Vec::with_capacity(share.counts.len());
    for (address, part) in share.counts {
        by_cause += part.cycles;
        if let Ok(sample) = all.binary_search_by_key(&address, |(address, _)| *address) {
            let AddressCount { count, idle, jumped, cycles, .. } = part;
            let slack = (part.slack_low, part.slack_high);
            let bounds = further.bounds(cycles.total(), slack);
            let sample = sample as u32;
            addresses.push(AddressShare { sample, count, idle, jumped, cycles, bounds });
        }
    }
    let modelled = |(cause, slack): (Cause, (i64, i64))| {
        let bounds = further.bounds(by_cause[cause], slack);
        (!bounds.is_exact()).then_some((cause, bounds))
    };
    let modelled = Cause::ALL.into_iter().zip(share.slack).filter_map(modelled).collect();
    Share { who: scheduling::who(share.who), addresses, modelled }
}

fn subject(firmware: &Firmware, board: &Board, bus: &Bus) -> Subject {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let spans = bus.clocks.history().iter();
    let mut sizes = Sizes::default();
    for segment in firmware.segments() {
        sizes.flash += segment.data().len() as u64;
        let in_ram = bus.ram.contains(segment.run_address);
        sizes.ram += if in_ram { u64::from(segment.memory_size) } else { 0 };
    }
    Subject {
        file: String::new(),
        sha256: hex(&firmware.sha256()),
        build_id: firmware.build_id().map(hex),
        compilers: firmware.producers().to_vec(),
        detail: firmware.detail_note(),
        board: board.name().to_owned(),
        core: board.core_name().to_owned(),
        clock: spans.map(|c| ClockSpan { cycle: c.cycle, hz: c.hz }).collect(),
        sizes,
    }
}

/// Which causes were modelled, and why.
fn trust(run: &Run, board: &Board, by_cause: &CauseCycles, further: Further) -> Trust {
    let counts = &run.machine.observer().0;
    let v7m = board.arm_core().is_some_and(|core| core.timing.kind.architecture().v7m);
    let why = |cause: Cause| match cause {
        Cause::FetchWait | Cause::DataWait => {
            let bus = run.machine.bus();
            let (wait_states, prefetch) = bus.flash_state;
            if bus.runs_code_in_ram() && wait_states == 0 && v7m {
                return "code in RAM is fetched over the system bus, where data is in its way"
                    .to_owned();
            }
            if let Some(entry) = board.accelerator().filter(|_| wait_states > 0) {
                return entry.why.clone();
            }
            board.flash_timing_with(wait_states, prefetch, bus.flash_caches).map_or_else(
                || {
                    "accesses through the peripheral bridge wait; no manual states how long"
                        .to_owned()
                },
                |entry| entry.why.clone(),
            )
        }
        Cause::Contention => "which bus master wins each slot is not documented".to_owned(),
        Cause::ExceptionEntry if v7m => {
            "no manual gives a figure for a late arrival or for vectors that lie beside the stack"
                .to_owned()
        }
        Cause::ExceptionExit if v7m => {
            "Arm's figures for leaving a handler differ by what they count".to_owned()
        }
        Cause::Execute | Cause::Refill | Cause::LoadStore if v7m => {
            "how neighbouring instructions overlap is only partly documented; these bounds leave \
             out how far the model is off for that (docs/accuracy.md)"
                .to_owned()
        }
        Cause::ExceptionEntry => "the manual gives no figure for tail-chaining".to_owned(),
        Cause::ExceptionExit => "the manual gives no figure for leaving a handler".to_owned(),
        Cause::Asleep => {
            "the core sleeps until something with a time of its own wakes it: what it \
                          took before is not exact, and the rest is what it sleeps"
                .to_owned()
        }
        _ => "modelled".to_owned(),
    };
    let waits = board.accelerator().is_some() && run.machine.bus().flash_state.0 > 0;
    let causes: Vec<ModelledCause> = Cause::ALL
        .into_iter()
        .filter_map(|cause| {
            let likely = by_cause[cause];
            let cycles = further.bounds(likely, counts.slack(cause));
            // Even where everything was in the cache, that is the model's word.
            let overlaps = matches!(cause, Cause::Execute | Cause::Refill | Cause::LoadStore);
            let modelled = cause == Cause::FetchWait && waits || v7m && overlaps && likely > 0;
            (!cycles.is_exact() || modelled).then(|| ModelledCause {
                cause,
                cycles,
                why: why(cause),
            })
        })
        .collect();
    if causes.is_empty() { Trust::Exact } else { Trust::Modelled { causes } }
}

fn tree(
    bus: &Bus,
    nodes: &[Node],
    names: &mut Names,
    starts: &[u32],
    threads: &[&str],
) -> Vec<TreeNode> {
    let mut place = |kind| match kind {
        NodeKind::Thread(n) => {
            Place::Thread(threads.get(n as usize).copied().unwrap_or_default().to_owned())
        }
        NodeKind::Exception(n) => Place::Exception(exception_label(bus, n)),
        NodeKind::Function(f) => match starts.get(f as usize).and_then(|&a| names.function_at(a)) {
            Some(function) => Place::Function(function),
            None => Place::Unknown,
        },
        NodeKind::Unknown => Place::Unknown,
    };
    nodes
        .iter()
        .map(|node| TreeNode {
            place: place(node.kind),
            parent: node.parent,
            calls: node.calls,
            self_cycles: node.cycles,
            self_idle: Some(node.asleep),
            self_instructions: node.instructions,
        })
        .collect()
}

pub(super) fn exception_label(bus: &Bus, number: u16) -> String {
    let irq = number.checked_sub(16);
    let vector = irq.and_then(|irq| bus.irq_name(irq)).map(str::to_owned);
    let name = vector.unwrap_or_else(|| strobe_model::exception_name(number));
    match irq.and_then(|irq| bus.irq_owners(irq)) {
        Some(owners) => format!("{name} ({owners})"),
        None => name,
    }
}

/// The exception that a name means: `SysTick`, `IRQ16`, or its device, `TIM3`, as far as that is
/// only one.
pub(super) fn exception_named(bus: &Bus, name: &str) -> Option<u16> {
    let is = |number: &u16| {
        let label = exception_label(bus, *number);
        let mut words = label.split([' ', '(', ')', '/']).filter(|word| !word.is_empty());
        label.eq_ignore_ascii_case(name) || words.any(|word| word.eq_ignore_ascii_case(name))
    };
    let mut found = (2..512).filter(is);
    found.next().filter(|_| found.next().is_none())
}

fn exceptions(run: &Run, names: &mut Names, starts: &[u32]) -> Vec<ExceptionStatistics> {
    let (bus, calls) = (run.machine.bus(), &run.machine.observer().1.0);
    let nodes = calls.nodes();
    // An AVR's vectors are jumps to the handlers.
    let is_avr = names.firmware().machine() == strobe_symbols::Machine::Avr;
    let mut out = Vec::new();
    for h in calls.schedule.handlers() {
        let number = h.exception;
        let root = nodes.iter().position(|n| n.kind == NodeKind::Exception(number));
        let handler = nodes.iter().find_map(|n| match n.kind {
            NodeKind::Function(f) if n.parent.map(|p| p as usize) == root => {
                starts.get(f as usize).filter(|&&start| !(is_avr && start == 0))
            }
            _ => None,
        });
        let handler = handler.and_then(|&a| names.function_at(a));
        let extreme = |time| scheduling::extreme(names.firmware(), bus, time);
        let latency = &h.latency;
        out.push(ExceptionStatistics {
            number,
            name: exception_label(bus, number),
            handler: handler.map(|f| names.profile.function_name(Some(f))),
            count: latency.spread.count(),
            tail_chained: h.tail_chained,
            cycles: h.cycles,
            latency_min: latency.spread.min().unwrap_or(0),
            latency_sum: latency.spread.sum(),
            latency_max: latency.max.map_or(0, |max| max.cycles),
            latency_max_at: moment(bus, latency.max.map_or(0, |max| max.at)),
            latency_worst: latency.max.map(extreme),
            idle: h.asleep,
            lost: Some(run.machine.lost_requests(number)),
            longest_run: h.durations.max.map(extreme),
            latencies: latency.spread.clone(),
            durations: h.durations.spread.clone(),
        });
    }
    out.retain(|e| e.count > 0 || e.cycles > 0);
    out.sort_by_key(|e| e.number);
    out
}

/// Pulse widths of marked pins and times between arrivals at marked symbols.
fn series(run: &Run) -> Vec<Series> {
    let mut out = Vec::new();
    let log = &run.machine.observer().1.1;
    for (name, pin) in &run.pins {
        let edges: Vec<_> = log.edges().iter().filter(|e| e.pin == *pin).collect();
        for (level, label) in [(true, "high"), (false, "low")] {
            let pulses = edges.windows(2).filter(|w| w[0].level == level);
            let points = pulses.map(|w| (stamp(w[0]), stamp(w[1]))).collect();
            out.extend(intervals(format!("{name} {label}"), points, log.dropped));
        }
        // From rise to rise, with the fall in between.
        let rises = edges.windows(3).filter(|w| w[0].level && !w[1].level && w[2].level);
        let cycles: Vec<_> = rises.map(|w| [stamp(w[0]), stamp(w[1]), stamp(w[2])]).collect();
        let points = cycles.iter().map(|[rise, _, next]| (*rise, *next)).collect();
        out.extend(intervals(format!("{name} period"), points, log.dropped));
        out.extend(duty(format!("{name} duty"), &cycles, log.dropped));
    }
    for arrivals in &run.arrivals {
        let points = arrivals.at.windows(2).map(|w| (w[0], w[1])).collect();
        let dropped = arrivals.count - arrivals.at.len() as u64;
        out.extend(intervals(format!("{} to {}", arrivals.name, arrivals.name), points, dropped));
    }
    out
}

type Stamp = (u64, Drift);

fn stamp(edge: &strobe_sim::signal::PinEdge) -> Stamp {
    (edge.cycle, edge.drift)
}

fn intervals(name: String, points: Vec<(Stamp, Stamp)>, dropped: u64) -> Option<Series> {
    if points.is_empty() {
        return None;
    }
    let width = |(a, b): &(Stamp, Stamp)| b.0 - a.0;
    let bounds = |(a, b): &(Stamp, Stamp)| {
        let bounds = Drift::between(a.1, b.1, b.0 - a.0);
        (bounds.low, bounds.high)
    };
    let exact = points.iter().all(|p| bounds(p) == (width(p), width(p)));
    Some(Series {
        name,
        unit: "cycles".to_owned(),
        values: points.iter().map(width).collect(),
        bounds: if exact { Vec::new() } else { points.iter().map(bounds).collect() },
        count: points.len() as u64 + dropped,
        since_cycle: points.first().map_or(0, |p| p.0.0),
    })
}

/// The high part of each period, in millionths.
fn duty(name: String, cycles: &[[Stamp; 3]], dropped: u64) -> Option<Series> {
    let parts = |[rise, fall, next]: &[Stamp; 3]| {
        let between = |a: Stamp, b: Stamp| Drift::between(a.1, b.1, b.0 - a.0);
        (between(*rise, *fall), between(*fall, *next))
    };
    let ppm = |high: u64, low: u64| {
        let all = (u128::from(high) + u128::from(low)).max(1);
        // A part of a whole is no more than a million.
        (u128::from(high) * 1_000_000 / all) as u64
    };
    let each = cycles.iter().map(parts);
    let values: Vec<u64> = each.clone().map(|(h, l)| ppm(h.likely, l.likely)).collect();
    let bounds: Vec<_> = each.map(|(h, l)| (ppm(h.low, l.high), ppm(h.high, l.low))).collect();
    let exact = values.iter().zip(&bounds).all(|(value, b)| *b == (*value, *value));
    (!values.is_empty()).then(|| Series {
        name,
        unit: "millionths".to_owned(),
        count: values.len() as u64 + dropped,
        values,
        bounds: if exact { Vec::new() } else { bounds },
        since_cycle: cycles.first().map_or(0, |[rise, ..]| rise.0),
    })
}

fn unmodelled(bus: &Bus, names: &Names) -> Vec<UnmodelledRegister> {
    let one = |(address, touched): (u32, strobe_sim::unmodelled::Touched)| {
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

fn warnings(firmware: &Firmware, board: &Board, run: &Run, names: &Names) -> Vec<Warning> {
    let bus = run.machine.bus();
    let mut out: Vec<Warning> = run.start.warning(board).into_iter().collect();
    out.extend(run.shifting.as_ref().map(super::drive::Shifting::note));
    let misfit = super::fit::complaint(firmware, board, bus);
    out.extend(misfit.map(|text| Warning::new("board-misfit", text)));
    out.extend(super::lost::warnings(run, names));
    out.extend(super::advice::warnings(firmware, board, bus, run.machine.cycles(), names));
    let unclocked = |u: Unclocked| {
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
        Warning::new("unclocked-device", text).times(u.accesses)
    };
    out.extend(bus.unclocked().map(unclocked));
    let coded = bus.warnings.coded();
    out.extend(coded.map(|(code, text, count)| Warning::new(code, text).times(count)));
    for (address, touched) in bus.unmodelled.touched().filter(|(_, t)| t.refused > 0) {
        let name = bus.register_at(address).unwrap_or("a register");
        let from = names.describe(touched.first_pc).swap_remove(0);
        let text = format!(
            "{name} at {address:#010x} is read-only: writing it has no effect (first accessed from \
             {from})"
        );
        out.push(Warning::new("read-only-register", text).times(touched.refused));
    }
    out.extend(run.scripts.iter().filter_map(|script| script.left(&run.machine)));
    if bus.unmodelled.overflow() > 0 {
        let text = "further unmodelled registers were accessed than are listed";
        out.push(Warning::new("unlisted-registers", text).times(bus.unmodelled.overflow()));
    }
    let faults = run.machine.handled_faults().iter();
    out.extend(faults.map(|f| handled(&f.report, f.count, names)));
    let symbols =
        firmware.warnings().iter().map(|w| Warning::new("debug-information", w.to_string()));
    out.extend(symbols);
    out
}

/// Faults that the firmware has handlers for, which ran.
fn handled(report: &FaultReport, count: u64, names: &Names) -> Warning {
    let place = names.describe(report.pc).swap_remove(0);
    let text = format!(
        "{}, which the firmware's {} handler was started for (at {place})",
        text(report, names),
        strobe_model::exception_name(report.exception)
    );
    Warning::new("handled-fault", text).times(count)
}

/// What happened, with the instruction behind it where that is not the one it was noticed at.
fn text(report: &FaultReport, names: &Names) -> String {
    let mut text = report.text();
    if let strobe_sim::cortexm::Fault::LostStore { pc, .. } = report.fault {
        text += &format!("; the store is that of {}", names.describe(pc).swap_remove(0));
    }
    text
}

fn fault(run: &Run, report: &Report, lockup: bool, names: &Names) -> Fault {
    match report {
        Report::Arm(report) => arm_fault(run, report, lockup, names),
        Report::Avr(report) => avr_fault(run, report, names),
    }
}

fn hex(value: u32) -> String {
    format!("{value:#010x}")
}

fn arm_fault(run: &Run, report: &FaultReport, lockup: bool, names: &Names) -> Fault {
    let register = |(i, value): (usize, &u32)| {
        let name = match i {
            13 => "SP".to_owned(),
            14 => "LR".to_owned(),
            15 => "PC".to_owned(),
            i => format!("R{i}"),
        };
        (name, hex(*value))
    };
    let mut registers: Vec<_> = report.registers.iter().enumerate().map(register).collect();
    let more = [("xPSR", report.xpsr), ("MSP", report.msp), ("PSP", report.psp)];
    registers.extend(more.map(|(name, value)| (name.to_owned(), hex(value))));
    let words = ["R0", "R1", "R2", "R3", "R12", "LR", "return address", "xPSR"];
    let frame = report.frame.map_or_else(Vec::new, |at| {
        let word = |i: u32| run.machine.bus().peek(at + 4 * i, Size::Word).unwrap_or(0);
        (0..).zip(words).map(|(i, name)| (name.to_owned(), hex(word(i)))).collect()
    });
    let words = report.status.map_or_else(Vec::new, |status| status.words());
    let status = words
        .into_iter()
        .map(|(name, value, words)| (name.to_owned(), format!("{} {words}", hex(value))));
    Fault {
        kind: if lockup { "lockup" } else { "HardFault" }.to_owned(),
        text: text(report, names),
        pc: hex(report.pc),
        status: status.collect(),
        at: moment(run.machine.bus(), report.cycle),
        registers,
        frame,
        backtrace: backtrace(run, report.pc, !lockup, names),
    }
}

fn avr_fault(run: &Run, report: &avr::FaultReport, names: &Names) -> Fault {
    let byte = |value: u8| format!("{value:#04x}");
    let register = |(n, value): (usize, &u8)| (format!("R{n}"), byte(*value));
    let mut registers: Vec<_> = report.registers.iter().enumerate().map(register).collect();
    registers.push(("SREG".to_owned(), byte(report.sreg)));
    registers.push(("SP".to_owned(), format!("{:#06x}", report.sp)));
    registers.push(("PC".to_owned(), hex(report.pc)));
    Fault {
        kind: "invalid opcode".to_owned(),
        text: report.text(),
        pc: hex(report.pc),
        status: Vec::new(),
        at: moment(run.machine.bus(), report.cycle),
        registers,
        frame: Vec::new(),
        backtrace: backtrace(run, report.pc, false, names),
    }
}

/// Who called whom, from the instruction at `pc` on; with `interrupted`, as of the code that the
/// running handler interrupted.
fn backtrace(run: &Run, pc: u32, interrupted: bool, names: &Names) -> Vec<String> {
    let mut backtrace = names.describe(pc);
    let mut interrupted_pc = false;
    for step in run.machine.observer().1.0.backtrace(interrupted) {
        match step {
            None => {
                backtrace.push("(interrupted)".to_owned());
                interrupted_pc = true;
            }
            // A return address points behind its call, an interrupted program counter at itself.
            Some(at) => {
                let look_up =
                    if std::mem::take(&mut interrupted_pc) { at } else { at.wrapping_sub(2) };
                backtrace.extend(names.describe(look_up));
            }
        }
    }
    backtrace
}
