//! A plan as a measurement: what is needed, what there is, what fits, and the registers.

use crate::plan::report::{PlanReport, Verdict};
use strobe_decode::trace_settings::{
    Encoding, GlobalTimestamps, TraceSettings, Watch, WatchAccess, WatchWhat,
};
use strobe_model::Bounds;
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Address, Cell, Column, Content, Ended, Fact, Finding, Instrument, Measurement, Quantity,
    Settings, Severity, Subject, Table, Text, Unit, Window,
};

use crate::measuring::{count, instrument, notes};

const WHY: &str = "how packets fall together decides how long they are";

/// Bytes in a second.
fn byte_rate() -> Unit {
    Unit::other("bytes/s")
}

/// Packets in a second.
fn packet_rate() -> Unit {
    Unit::other("packets/s")
}

fn baud() -> Unit {
    Unit::other("baud")
}

fn modelled(bounds: Bounds, unit: Unit) -> Quantity {
    Quantity::modelled(bounds, unit, Some(WHY.to_owned()))
}

/// What a set-up brings through its pin.
pub fn measurement(plan: &PlanReport) -> Measurement {
    let subject = Subject {
        kind: "plan".to_owned(),
        name: plan.target.clone(),
        facts: line(plan),
        ..Subject::default()
    };
    let instrument = Instrument { settings: settings(&plan.settings), ..instrument("trace plan") };
    let window = Window::untimed("a plan is about any second", Ended::default());
    let mut measurement = Measurement::new(subject, instrument, window);
    totals(&mut measurement, plan);
    verdict(&mut measurement, plan);
    measurement.push("required", "bytes per second", Content::Table(budget(plan)));
    if !plan.proposals.is_empty() {
        let table = Content::Table(proposals(plan));
        measurement.push("proposals", "nearest plans that fit", table);
    }
    let title = "registers: writes in this order";
    measurement.push(ids::section::REGISTERS, title, Content::Table(registers(plan)));
    measurement.push(
        ids::section::FIELDS,
        "fields of these registers",
        Content::Table(fields(plan)),
    );
    // Whole, for whoever reads the plan again.
    let text = serde_json::to_string(&plan.settings).unwrap_or_default();
    let settings = Content::Text(Text { lines: vec![text], skipped_bytes: 0 });
    measurement.push(SETTINGS, "settings of the trace hardware", settings);
    notes(&mut measurement, Severity::Note, "plan", &plan.notes);
    measurement
}

/// The section with the settings as JSON.
const SETTINGS: &str = "settings";

/// Error in the settings of a plan.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The measurement is not a plan.
    #[error("it has no settings of trace hardware")]
    Missing,
    /// The settings are invalid.
    #[error(transparent)]
    Invalid(#[from] serde_json::Error),
}

/// The settings of a plan, from its measurement.
///
/// # Errors
/// If it is the measurement of something else, or its settings contradict themselves.
pub fn settings_of(plan: &Measurement) -> Result<TraceSettings, SettingsError> {
    let section = plan.section(SETTINGS).filter(|_| plan.subject.kind == "plan");
    match section.map(|section| &section.content) {
        Some(Content::Text(text)) => Ok(serde_json::from_str(&text.lines.concat())?),
        _ => Err(SettingsError::Missing),
    }
}

/// How near the divider comes to the bit rate.
fn line(plan: &PlanReport) -> Vec<Fact> {
    let millionths = || Unit::other("millionths");
    let (settings, line) = (&plan.settings, &plan.line);
    vec![
        Fact::figure("core clock", Quantity::exact(settings.core_hz.get(), Unit::HERTZ)),
        Fact::figure("trace clock", Quantity::exact(settings.line.trace_hz(), Unit::HERTZ)),
        Fact::figure("bit rate asked for", Quantity::exact(settings.line.baud(), baud())),
        Fact::figure("divider", Quantity::exact(line.divider, Unit::COUNT)),
        Fact::figure("bit rate", Quantity::exact(line.actual_baud, baud())),
        Fact::figure("bit rate off by", Quantity::exact(line.error_ppm, millionths())),
        Fact::figure(
            "last bit of a byte off by, of a bit",
            Quantity::exact(line.last_bit_off_ppm, millionths()),
        ),
    ]
}

fn totals(measurement: &mut Measurement, plan: &PlanReport) {
    let required = modelled(plan.required, byte_rate());
    measurement.push_total("required", "required", required);
    let available = Quantity::exact(plan.available, byte_rate());
    measurement.push_total("available", "available", available);
    let loss = modelled(plan.loss_ppm, Unit::other("millionths"));
    measurement.push_total("loss", "lost of all packets", loss);
    let Some(samples) = &plan.samples else { return };
    let period = Quantity::exact(samples.period_cycles, Unit::CYCLES);
    measurement.push_total("sample-period", "cycles between samples", period);
    if let Some(asked) = samples.asked_cycles {
        let asked = Quantity::exact(asked, Unit::CYCLES);
        measurement.push_total("sample-period-asked", "cycles asked for", asked);
    }
    let taken = Quantity::exact(samples.taken_per_second, Unit::HERTZ);
    measurement.push_total("samples-taken", "samples each second", taken);
    let received = modelled(samples.received_per_second, Unit::HERTZ);
    measurement.push_total("samples-received", "of which come through", received);
}

/// Whether it fits; the shares are in the totals.
fn verdict(measurement: &mut Measurement, plan: &PlanReport) {
    let percent = |ppm: u64| format!("{:.1} %", ppm as f64 / 1e4);
    let (code, text) = match plan.verdict {
        Verdict::Fits => {
            let text = "fits: only bursts that fill the FIFO can lose anything".to_owned();
            measurement.findings.push(Finding::new(Severity::Note, "fits", text));
            return;
        }
        Verdict::Tight => {
            let most = percent(plan.loss_ppm.high);
            ("tight", format!("tight: by the upper bounds up to {most} of all packets are lost"))
        }
        Verdict::Loses => {
            let Bounds { low, likely, high } = plan.loss_ppm;
            let [low, likely, high] = [low, likely, high].map(percent);
            (
                "loses",
                format!("loses about {likely} of all packets ({low} to {high}), all the time"),
            )
        }
    };
    let advice = plan.proposals.first().map(|proposal| proposal.change.clone());
    let finding = Finding::new(Severity::Warning, code, text);
    measurement.findings.push(Finding { advice, ..finding });
}

fn budget(plan: &PlanReport) -> Table {
    let mut table = Table::new(vec![
        Column::text("part", "part"),
        Column::figure("packets", "packets", packet_rate()).worth(0),
        Column::figure(ids::column::BYTES, "bytes", byte_rate()),
        Column::text("how", "how"),
    ]);
    for part in &plan.parts {
        table.row([
            part.name.as_str().into(),
            modelled(part.packets, packet_rate()).into(),
            modelled(part.bytes, byte_rate()).into(),
            part.how.as_str().into(),
        ]);
    }
    let required = modelled(plan.required, byte_rate()).into();
    let packets = plan.parts.iter().fold(Bounds::default(), |sum, part| sum + part.packets);
    let packets = modelled(packets, packet_rate()).into();
    table.footer.push(vec!["required".into(), packets, required, Cell::Empty]);
    let (available, how) = (plan.available.into(), "ten bits for a byte".into());
    table.footer.push(vec!["available".into(), Cell::Empty, available, how]);
    table
}

fn proposals(plan: &PlanReport) -> Table {
    let mut table = Table::new(vec![
        Column::text("change", "change"),
        Column::figure("required", "needs", byte_rate()),
        Column::figure("available", "of", byte_rate()),
        Column::figure("bit-rate", "bit rate", baud()).worth(0),
        Column::figure("sample-period", "sample period", Unit::CYCLES).worth(0),
    ]);
    for proposal in &plan.proposals {
        let settings = &proposal.settings;
        table.row([
            proposal.change.as_str().into(),
            modelled(proposal.required, byte_rate()).into(),
            proposal.available.into(),
            settings.line.baud().into(),
            settings.sampling.map(|sampling| sampling.period_cycles()).into(),
        ]);
    }
    table
}

/// A register's bits, which hexadecimal digits show best.
fn bits(value: u32) -> Cell {
    Address(value.into()).into()
}

fn registers(plan: &PlanReport) -> Table {
    let mut table = Table::new(vec![
        count("write", "write"),
        Column::text("register", "register"),
        Column::address(ids::column::ADDRESS, "address"),
        Column::address("value", "value"),
        Column::address("mask", "bits written"),
        Column::address("check", "bits read back"),
        Column::text("others", ""),
    ]);
    for (n, write) in (1u64..).zip(&plan.registers) {
        table.row([
            n.into(),
            write.register.as_str().into(),
            bits(write.address),
            bits(write.value),
            bits(write.mask),
            bits(write.check),
            write.keeps_others().then_some("the others are kept").into(),
        ]);
    }
    table
}

fn fields(plan: &PlanReport) -> Table {
    let mut table = Table::new(vec![
        count("write", "write"),
        Column::text("register", "register"),
        Column::text("field", "field"),
        Column::text("bits", "bits"),
        Column::address("value", "value"),
        Column::text("meaning", "meaning"),
    ]);
    for (n, write) in (1u64..).zip(&plan.registers) {
        for field in &write.fields {
            let (high, low) = field.bits;
            let place = if high == low { format!("[{low}]") } else { format!("[{high}:{low}]") };
            table.row([
                n.into(),
                write.register.as_str().into(),
                field.field.as_str().into(),
                place.into(),
                bits(field.value),
                field.meaning.as_str().into(),
            ]);
        }
    }
    table
}

/// Everything that is set, by name.
fn settings(settings: &TraceSettings) -> Settings {
    let mut all = Settings::new();
    let mut set = |name: &str, value: String| all.insert(name.to_owned(), value);
    set("core clock (Hz)", settings.core_hz.to_string());
    set("trace clock (Hz)", settings.line.trace_hz().to_string());
    set("bit rate (baud)", settings.line.baud().to_string());
    let encoding = match settings.line.encoding() {
        Encoding::Nrz => "NRZ",
        Encoding::Manchester => "Manchester",
    };
    set("encoding", encoding.to_owned());
    set("formatter", on(settings.formatter));
    set("exceptions", on(settings.exceptions));
    set("trace bus id", settings.bus_id.value().to_string());
    set("stimulus ports", format!("{:#010x}", settings.ports));
    if let Some(sampling) = settings.sampling {
        set("sample period (cycles)", sampling.period_cycles().to_string());
    }
    if let Some(prescaler) = settings.local_timestamps {
        set("local timestamps, prescaler", prescaler.value().to_string());
    }
    if let Some(global) = settings.global_timestamps {
        let text = match global {
            GlobalTimestamps::Every128Cycles => "every 128 cycles",
            GlobalTimestamps::Every8192Cycles => "every 8192 cycles",
            GlobalTimestamps::EveryPacket => "every packet",
        };
        set("global timestamps", text.to_owned());
    }
    if let Some(sync) = settings.sync {
        set("synchronisation (cycles)", sync.value().to_string());
    }
    let counters = settings.counters;
    let counters = [
        ("cpi", counters.cpi),
        ("exc", counters.exc),
        ("sleep", counters.sleep),
        ("lsu", counters.lsu),
        ("fold", counters.fold),
    ];
    let counters: Vec<&str> =
        counters.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    if !counters.is_empty() {
        set("event counters", counters.join(", "));
    }
    for watch in settings.watches.iter() {
        set(&format!("watch {}", watch.comparator()), watched(watch));
    }
    all
}

fn on(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

fn watched(watch: &Watch) -> String {
    let what = match watch.what() {
        WatchWhat::Value => "value",
        WatchWhat::Pc => "pc",
        WatchWhat::PcAndValue => "pc+value",
        WatchWhat::AddressAndValue => "address+value",
    };
    let access = match watch.access() {
        WatchAccess::Read => "r",
        WatchAccess::Write => "w",
        WatchAccess::ReadWrite => "rw",
    };
    let (name, address, bytes) = (watch.name(), watch.address(), watch.bytes());
    format!("{name} at {address:#010x}, {bytes} bytes: {what} of {access}")
}
